"""From the tokens of documents to the tokens of requests, and their sums by price tier.

A document is one request. All arithmetic is on int64 with its overflow checked; nothing passes through floats.
"""

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tokenize_lib.errors import InputError, OptionError

Counts: TypeAlias = npt.NDArray[np.int64]
Marks: TypeAlias = npt.NDArray[np.bool_]

SUMS = ("requests", "input", "cached", "output")
"""The last axis of `RequestSums.values`."""

_LARGEST = 2**63 - 1
_SHARE_DECIMALS = 9


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequestShape:
    """What a document becomes when it is sent.

    Attributes:
        prompt_tokens: Tokens of instructions that go with each document.
        output_tokens: Output tokens of each request.
        output_ratio: Output tokens for each token of the document, its prompt aside; rounded for each request to the
            nearest whole token, a half up.
        output_field: Column of the documents that holds each one's output tokens.
        cached_share: Share of each request's input, its prompt included, that the provider's cache holds, from 0 to 1;
            rounded down for each request, so that no saving is promised that is not there.

    Raises:
        OptionError: A value is out of range, or the output is given in two ways.
    """

    prompt_tokens: int = 0
    output_tokens: int | None = None
    output_ratio: Decimal | None = None
    output_field: str | None = None
    cached_share: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        given = [
            flag
            for flag, value in (
                ("--output-tokens", self.output_tokens),
                ("--output-ratio", self.output_ratio),
                ("--output-field", self.output_field),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} both say how long the output is: give one of them")
        for flag, tokens in (("--prompt-tokens", self.prompt_tokens), ("--output-tokens", self.output_tokens)):
            if tokens is not None and not 0 <= tokens < 2**40:
                raise OptionError(f"{flag} {tokens} is not a number of tokens from 0 on")
        _require_share("--cached-share", self.cached_share, 1)
        if self.output_ratio is not None:
            _require_share("--output-ratio", self.output_ratio, 1_000_000)

    @property
    def has_output(self) -> bool:
        """Whether any output is asked for."""
        return any(value is not None for value in (self.output_tokens, self.output_ratio, self.output_field))


@dataclasses.dataclass(frozen=True)
class RequestTokens:
    """Tokens of requests, an int64 array each, a value a request.

    Attributes:
        input: Input tokens, prompt and cached ones included.
        cached: Those of them that a cache holds.
        output: Output tokens.
    """

    input: Counts
    cached: Counts
    output: Counts


def tokens_of_requests(documents: Counts, shape: RequestShape, output_field: Counts | None = None) -> RequestTokens:
    """Make requests of documents.

    Args:
        documents: Tokens of each document, int64, 0 or more.
        shape: What a document becomes when it is sent.
        output_field: Values of `RequestShape.output_field`, int64, 0 or more.

    Raises:
        InputError: A number passes 64 bits.
    """
    if len(documents) and int(documents.max()) > _LARGEST - shape.prompt_tokens:
        raise InputError(f"a document of {int(documents.max())} tokens: with its prompt that is more than 64 bits hold")
    tokens = documents + np.int64(shape.prompt_tokens)
    if output_field is not None:
        output = output_field
    elif shape.output_ratio is not None:
        output = _share_of(documents, shape.output_ratio, half_up=True)
    else:
        output = np.full(len(documents), shape.output_tokens or 0, dtype=np.int64)
    return RequestTokens(tokens, _share_of(tokens, shape.cached_share, half_up=False), output)


class RequestSums:
    """Sums of requests by group and tier, as they stream by.

    Args:
        thresholds: Input tokens beyond which each tier but the first begins, ascending. A request belongs to the last
            tier whose threshold its input is greater than.
    """

    def __init__(self, thresholds: Sequence[int]) -> None:
        self._thresholds = np.array(thresholds, dtype=np.int64)
        self._values: Counts = np.zeros((0, len(thresholds) + 1, len(SUMS)), dtype=np.int64)
        self._groups = 0
        self._totals = [0] * len(SUMS)

    @property
    def values(self) -> Counts:
        """Sums so far: int64, groups by tiers by `SUMS`."""
        return self._values[: self._groups]

    def add(self, requests: RequestTokens, groups: Counts, group_count: int) -> None:
        """Add requests.

        Args:
            requests: Their tokens.
            groups: The group of each, from 0.
            group_count: Groups there are by now.

        Raises:
            InputError: All requests together pass 64 bits.
        """
        self._check([len(groups), *map(_exact_sum, (requests.input, requests.cached, requests.output))])
        if group_count > len(self._values):
            # Twice as much as needed, so that the copies of many groups stay few.
            grown = np.zeros((max(group_count, 2 * len(self._values)), *self._values.shape[1:]), dtype=np.int64)
            grown[: len(self._values)] = self._values
            self._values = grown
        self._groups = max(self._groups, group_count)
        tiers = np.searchsorted(self._thresholds, requests.input, side="left")
        cells = groups * (len(self._thresholds) + 1) + tiers
        flat = self._values.reshape(-1, len(SUMS))
        ones = np.ones(len(groups), dtype=np.int64)
        for place, values in enumerate((ones, requests.input, requests.cached, requests.output)):
            np.add.at(flat[:, place], cells, values)

    def _check(self, more: Sequence[int]) -> None:
        # No count is negative, so no cell can pass what all of them together do not.
        self._totals = [before + added for before, added in zip(self._totals, more, strict=True)]
        if max(self._totals) > _LARGEST:
            raise InputError(f"the dataset has {max(self._totals)} tokens, more than 64 bits hold: price it in parts")


def _share_of(tokens: Counts, share: Decimal, *, half_up: bool) -> Counts:
    """Give a share of each count in whole tokens: rounded down, or to the nearest with a half up."""
    over, under = share.as_integer_ratio()
    if over == 0 or not len(tokens):
        return np.zeros(len(tokens), dtype=np.int64)
    if half_up:
        over, under, half = 2 * over, 2 * under, under
    else:
        half = 0
    most = int(tokens.max()) * over + half
    if most <= _LARGEST:
        return (tokens * np.int64(over) + np.int64(half)) // np.int64(under)
    if most // under > _LARGEST:
        raise InputError(f"a document of {int(tokens.max())} tokens, and {share} times as many: more than 64 bits hold")
    wide: Any = tokens.astype(object)
    return np.asarray((wide * over + half) // under, dtype=np.int64)


def _exact_sum(values: Counts) -> int:
    if not len(values) or int(values.max()) * len(values) <= _LARGEST:
        return int(values.sum())
    return sum(values.tolist())


def _require_share(flag: str, share: Decimal, most: int) -> None:
    if not share.is_finite() or not 0 <= share <= most:
        raise OptionError(f"{flag} {share} is not from 0 to {most:,}")
    if -int(share.as_tuple().exponent) > _SHARE_DECIMALS:
        raise OptionError(f"{flag} {share} has more than {_SHARE_DECIMALS} decimal places")
