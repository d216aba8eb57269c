"""``tokenizer.tiktoken``: a token a line, its bytes in base64, a space, its id.

The ids are those of ``vocab.parquet`` and ``tokenizer.json``: with special tokens they do not begin at 0. Special
tokens are not in the file. ``tiktoken.Encoding(**encoding_arguments(name, vocabulary))`` is the encoding; by hand it is
made from ``tiktoken.load.load_tiktoken_bpe`` (the ranks) and ``pattern``.

tiktoken joins the two neighbours whose joined bytes have the lowest id. That a trained vocabulary makes each token
through one pair only (docs/threshold-rounds.md, "One derivation") is why this encodes as replaying the merges does.

Source: https://github.com/openai/tiktoken/blob/main/tiktoken/load.py
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pyarrow as pa

from tokenize_lib.errors import InputError
from tokenize_lib.pretokenizers import PRETOKENIZERS, REGEX_PREFIX
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
from tokenize_lib.vocabulary import Vocabulary

_MOST_IDS = 2**24


def obstacle(options: TrainOptions) -> str | None:
    """Why tiktoken cannot encode as the training did, as a sentence; None if it can."""
    if options.alphabet != "bytes":
        return "tiktoken knows no alphabet but bytes"
    if options.pretokenize.normalize != "none" or options.pretokenize.lowercase:
        return "tiktoken does not normalize text"
    if pattern(options.pretokenize.pretokenizer) is None:
        return f"tiktoken cannot cut text as --pretokenizer {options.pretokenize.pretokenizer} does"
    return None


def pattern(pretokenizer: str) -> str | None:
    """Tiktoken's ``pat_str`` for a pretokenizer; None when no regular expression cuts as it does."""
    if pretokenizer.startswith(REGEX_PREFIX):
        given = pretokenizer.removeprefix(REGEX_PREFIX)
        # tiktoken drops what the pattern does not match; in training that is a pretoken of its own.
        return rf"(?:{given})|(?:(?!{given})[\s\S])+"
    rule = PRETOKENIZERS.get(pretokenizer)
    return rule.pattern if rule else None


def render(vocabulary: Vocabulary) -> bytes:
    """The content of the file.

    Raises:
        ValueError: There is an ``obstacle``.
    """
    problem = obstacle(vocabulary.options)
    if problem is not None:
        raise ValueError(problem)
    return b"".join([b"%b %d\n" % (b2a_base64(token, newline=False), rank) for token, rank in _ranks(vocabulary)])


def read(content: bytes, pretokenize: PretokenizeOptions, source: str) -> Vocabulary:
    """The vocabulary of a file of ranks; ``source`` names it in errors. It has no pair counts.

    The file tells neither how text is cut nor which special tokens there are: ``pretokenize`` does.

    Raises:
        InputError: A line is not a token and a rank, ranks have gaps or do not follow the special tokens, the first 256
            tokens are not the bytes, or a token is not made of two others.
    """
    tokens = _tokens_by_rank(content, len(pretokenize.special_tokens), source)
    alphabet, merged = tokens[:256], tokens[256:]
    if sorted(alphabet) != [bytes([byte]) for byte in range(256)]:
        raise InputError(f"{source}: the first 256 tokens are not the 256 bytes")
    first = len(pretokenize.special_tokens)
    ranks = {token: rank for rank, token in enumerate(tokens, start=first)}
    pairs = [_pair_that_makes(token, ranks, source) for token in merged]
    return Vocabulary.of_merges(
        TrainOptions(vocab_size=first + len(tokens), pretokenize=pretokenize),
        alphabet,
        pa.array([left for left, _ in pairs], pa.int32()),
        pa.array([right for _, right in pairs], pa.int32()),
    )


def read_tokens(content: bytes, source: str) -> pa.LargeBinaryArray:
    """The tokens of a file of ranks in the order of their ids, ``large_binary``, null where no id is: of any file.

    Raises:
        InputError: A line is not a token and a rank, one stands there twice, or a byte is no token.
    """
    ranks: dict[int, bytes] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            token, place = a2b_base64(encoded, strict_mode=True), int(rank)
        except ValueError as error:
            raise InputError(f"{source}, line {number}: {line[:80]!r} is not a token in base64 and a rank") from error
        if place in ranks or not 0 <= place < _MOST_IDS:
            what = "stands there twice" if place in ranks else f"is not from 0 to {_MOST_IDS - 1}"
            raise InputError(f"{source}, line {number}: the rank {place} {what}")
        ranks[place] = token
    tokens = set(ranks.values())
    if len(tokens) < len(ranks):
        raise InputError(f"{source}: a token stands there twice")
    for byte in range(256):
        if bytes([byte]) not in tokens:
            raise InputError(f"{source}: the byte {byte:#04x} is no token: not every text could be encoded")
    return pa.array([ranks.get(place) for place in range(max(ranks) + 1)], pa.large_binary())


def _tokens_by_rank(content: bytes, first: int, source: str) -> list[bytes]:
    tokens: list[bytes] = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            encoded, rank = line.split()
            tokens.append(a2b_base64(encoded, strict_mode=True))
            expected = int(rank) == first + number - 1
        except ValueError as error:
            raise InputError(f"{source}, line {number}: {line[:80]!r} is not a token in base64 and a rank") from error
        if not expected:
            raise InputError(
                f"{source}, line {number}: found rank {int(rank)}, wanted {first + number - 1}: "
                f"ranks have no gaps and follow the {first} special tokens"
            )
    return tokens


def _pair_that_makes(token: bytes, ranks: Mapping[bytes, int], source: str) -> tuple[int, int]:
    """The last two tokens that are left when ``token`` is encoded with the ranks under its own."""
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 2:
        joined = [ranks.get(left + right, ranks[token]) for left, right in pairwise(parts)]
        lowest = min(joined)
        if lowest >= ranks[token]:
            break
        place = joined.index(lowest)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    if len(parts) != 2:
        raise InputError(f"{source}: the token {token!r} is not made of two tokens of lower rank")
    return ranks[parts[0]], ranks[parts[1]]


def encoding_arguments(name: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """The arguments of ``tiktoken.Encoding``; its ids are this vocabulary's.

    Raises:
        ValueError: There is an ``obstacle``.
    """
    problem = obstacle(vocabulary.options)
    if problem is not None:
        raise ValueError(problem)
    return {
        "name": name,
        "pat_str": pattern(vocabulary.options.pretokenize.pretokenizer),
        "mergeable_ranks": dict(_ranks(vocabulary)),
        "special_tokens": {token: place for place, token in enumerate(vocabulary.options.special_tokens)},
    }


def _ranks(vocabulary: Vocabulary) -> list[tuple[bytes, int]]:
    first = vocabulary.special_size
    return [(token, rank) for rank, token in enumerate(vocabulary.tokens[first:], start=first)]
