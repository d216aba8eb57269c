"""Numbers for the groups of a stream of rows, in the order in which they come."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenize_lib.request_tokens import Counts

Group = tuple[str | None, ...]


class GroupIds:
    """Gives each distinct combination of values a number. Without columns all rows are one group, number 0.

    Args:
        columns: How many values make a group.
    """

    def __init__(self, columns: int) -> None:
        self._numbers: dict[Group, int] = {} if columns else {(): 0}

    @property
    def count(self) -> int:
        """How many groups there are so far."""
        return len(self._numbers)

    def of(self, columns: "Sequence[pa.Array[Any]]", rows: int) -> Counts:
        """Give the group of each row, int64.

        Args:
            columns: Arrays of strings of `rows` values; a null is a value of its own.
            rows: How many rows there are.
        """
        if not columns:
            return np.zeros(rows, dtype=np.int64)
        codes, found = _codes(columns[0])
        groups: list[Group] = [(value,) for value in found]
        for column in columns[1:]:
            more, values = _codes(column)
            # Made dense again after each column, so that products of many cardinalities never outgrow 64 bits.
            pairs, codes = np.unique(codes * max(len(values), 1) + more, return_inverse=True)
            groups = [(*groups[pair // len(values)], values[pair % len(values)]) for pair in pairs.tolist()]
        numbers = [self._numbers.setdefault(group, len(self._numbers)) for group in groups]
        return np.array(numbers, dtype=np.int64)[codes]

    def sorted(self) -> Iterator[tuple[int, Group]]:
        """Give numbers and values of all groups by their values, null first."""
        for group in sorted(self._numbers, key=lambda values: [(value is not None, value or "") for value in values]):
            yield self._numbers[group], group


def _codes(column: "pa.Array[Any]") -> tuple[Counts, list[Any]]:
    values = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    encoded: Any = pc.dictionary_encode(values, null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()
