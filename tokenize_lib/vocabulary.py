"""A trained BPE vocabulary, and the tables that it is written to."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from schemas.columns import conform
from schemas.merges import MERGES
from schemas.vocab import VOCAB
from tokenize_lib.training_options import TrainOptions


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Tokens by id, and the merges that make them. Ids: special tokens, the start alphabet, merges in their order.

    Attributes:
        options: What it was trained with, or what a file tells of that.
        tokens: The bytes of each token; for the characters alphabet the UTF-8 of its string, marks included.
        alphabet_size: Tokens that are start symbols; they follow the special tokens.
        left_ids: int32 array, for each merge the left token of its pair.
        right_ids: int32 array, the right token.
        pair_counts: int64 array, how often the pair stood in the corpus when it was merged; None when read from a
            file that does not hold it.
        replaced: int64 array, in how many places it was merged; None as `pair_counts`.
    """

    options: TrainOptions
    tokens: list[bytes]
    alphabet_size: int
    left_ids: pa.Int32Array
    right_ids: pa.Int32Array
    pair_counts: pa.Int64Array | None = None
    replaced: pa.Int64Array | None = None

    @classmethod
    def of_merges(  # noqa: PLR0913, PLR0917 - the columns of a table
        cls,
        options: TrainOptions,
        alphabet: Sequence[bytes],
        left_ids: pa.Int32Array,
        right_ids: pa.Int32Array,
        pair_counts: pa.Int64Array | None = None,
        replaced: pa.Int64Array | None = None,
    ) -> "Vocabulary":
        """The vocabulary of a start alphabet (in the order of ids) and of merges (in the order made)."""
        tokens = [*(token.encode() for token in options.special_tokens), *alphabet]
        prefix = (options.continuing_prefix or "").encode()
        for left, right in zip(left_ids.to_numpy().tolist(), right_ids.to_numpy().tolist(), strict=True):
            tokens.append(tokens[left] + tokens[right].removeprefix(prefix))
        return cls(options, tokens, len(alphabet), left_ids, right_ids, pair_counts, replaced)

    @property
    def special_size(self) -> int:
        """How many special tokens there are; also the id of the first start symbol."""
        return len(self.options.special_tokens)

    @property
    def first_merge_id(self) -> int:
        """Id of the token that the first merge makes."""
        return self.special_size + self.alphabet_size

    @property
    def alphabet(self) -> list[bytes]:
        """The start symbols, in the order of their ids."""
        return self.tokens[self.special_size : self.first_merge_id]

    def merges_table(self) -> pa.Table:
        """``merges.parquet``, a row a merge, as ``schemas.merges`` has it.

        Raises:
            ValueError: The vocabulary was read from a file that has no pair counts.
        """
        if self.pair_counts is None or self.replaced is None:
            raise ValueError("this vocabulary has no pair counts: it was read from a file that does not hold them")
        merges = len(self.left_ids)
        token_bytes = pa.array(self.tokens, pa.binary())
        columns: list[pa.Array[Any]] = [
            _range(0, merges),
            self.left_ids,
            self.right_ids,
            _range(self.first_merge_id, len(self.tokens)),
            token_bytes.take(self.left_ids),
            token_bytes.take(self.right_ids),
            token_bytes.slice(self.first_merge_id),
            self.pair_counts,
            self.replaced,
        ]
        return conform(pa.Table.from_arrays(columns, names=MERGES.names), MERGES)

    def vocab_table(self) -> pa.Table:
        """``vocab.parquet``, a row a token, as ``schemas.vocab`` has it."""
        merges = len(self.left_ids)
        kinds = {"special": self.special_size, "alphabet": self.alphabet_size, "merge": merges}
        columns: list[pa.Array[Any]] = [
            _range(0, len(self.tokens)),
            pa.array(self.tokens, pa.binary()),
            pa.array([_text_or_none(token) for token in self.tokens], pa.string()),
            pa.concat_arrays([pa.repeat(kind, count) for kind, count in kinds.items()]),
            pa.concat_arrays([pa.nulls(self.first_merge_id, pa.int32()), _range(0, merges)]),
        ]
        return conform(pa.Table.from_arrays(columns, names=VOCAB.names), VOCAB)


def _range(start: int, end: int) -> pa.Int32Array:
    return pa.array(np.arange(start, end, dtype=np.int32), pa.int32())


def _text_or_none(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
