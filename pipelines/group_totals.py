"""Sums and distributions by group, exact, in memory that does not grow with groups: sorted tables that merge.

A row is (key, count), under the names that the merging kernel knows. A key is the group, then a figure, then a value;
as bytes they sort by group, figure and value. For a sum (`Figure`) the value is 0 and the count is the sum. For a
tokenizer the value is a number of tokens and the count says how many documents have that many.
"""

import enum
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.partial_tables import PartialTable, write_partial_tables
from pipelines.run_files import RunFiles

FOLDER = ".work/partial-totals"
_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("pretoken", pa.large_binary(), nullable=False),
    pa.field("count", pa.int64(), nullable=False),
]
ROWS = pa.schema(_FIELDS)
WHOLE = b"\x00"
"""The group of all documents; it sorts first."""
TAIL_BYTES = 10
"""Bytes of a key behind its group: the figure in 2, the value in 8, big-endian."""

Numbers: TypeAlias = npt.NDArray[np.int64]

_GROUP, _NULL, _VALUE, _END, _ZERO = b"\x01", b"\x00", b"\x01", b"\x00\x00", b"\x00\xff"
_TAIL = np.dtype([("figure", ">u2"), ("value", ">u8")])
_operations: Any = pc


class Figure(enum.IntEnum):
    """What a row is about; tokenizers come behind, in their order."""

    DOCUMENTS = 0
    EMPTY = 1
    BYTES = 2
    CHARACTERS = 3
    WORDS = 4
    TOKENIZERS = 5


class GroupTotals:
    """Adds documents up, and writes sorted tables whenever what it holds has outgrown its share."""

    def __init__(self, files: RunFiles, most_bytes: int) -> None:
        self._files = files
        self._most_bytes = most_bytes
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._written: list[PartialTable] = []

    def add(self, groups: Sequence["pa.Array[Any]"], sizes: Sequence[Numbers], tokens: Sequence[Numbers]) -> None:
        """Add documents.

        Args:
            groups: Their group fields, strings or null; none to add to the whole alone.
            sizes: Their bytes, characters and words.
            tokens: Their tokens by each tokenizer.
        """
        if not len(sizes[0]):
            return
        self._hold(_totals(pa.array([WHOLE], pa.large_binary()), None, sizes, tokens))
        if groups:
            coded = group_keys(groups).dictionary_encode()
            self._hold(_totals(coded.dictionary, coded.indices.to_numpy().astype(np.int64), sizes, tokens))
        if self._held_bytes > self._most_bytes // 2:
            self._compact()
            if self._held_bytes > self._most_bytes // 4:
                self._write()

    def finish(self) -> list[PartialTable]:
        """Write what is left, and give all that was written: each sorted by key, without repeats."""
        if self._held:
            self._compact()
            self._write()
        return self._written

    def _hold(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self._held_bytes += rows.nbytes

    def _compact(self) -> None:
        table = pa.Table.from_batches(self._held)
        summed = table.group_by("pretoken", use_threads=False).aggregate([("count", "sum")])
        batches = summed.rename_columns(["pretoken", "count"]).combine_chunks().to_batches()
        self._held = [pa.RecordBatch.from_arrays(batch.columns, schema=ROWS) for batch in batches]
        self._held_bytes = sum(batch.nbytes for batch in self._held)

    def _write(self) -> None:
        [rows] = self._held
        ordered = rows.take(_operations.sort_indices(rows["pretoken"]))
        self._written += [table for _, table in write_partial_tables(self._files, FOLDER, [ordered])]
        self._held, self._held_bytes = [], 0


def group_keys(groups: Sequence["pa.Array[Any]"]) -> "pa.Array[Any]":
    """Give the key of each row's group, large_binary: it sorts as the fields do, null first, and can be read back."""
    columns = [_key_of_field(values) for values in groups]
    joined: pa.Array[Any] = _operations.binary_join_element_wise(
        pa.scalar(_GROUP, pa.large_binary()), *columns, pa.scalar(b"", pa.large_binary())
    )
    return joined


def _key_of_field(values: "pa.Array[Any]") -> "pa.Array[Any]":
    texts = values.cast(pa.large_binary())
    if _operations.any(_operations.match_substring(texts, "\x00")).as_py():
        texts = pa.array(
            [None if text is None else text.replace(b"\x00", _ZERO) for text in texts.to_pylist()], pa.large_binary()
        )
    begin, end, nothing = (pa.scalar(mark, pa.large_binary()) for mark in (_VALUE, _END, b""))
    keys = _operations.binary_join_element_wise(begin, texts, end, nothing)
    filled: pa.Array[Any] = keys.fill_null(pa.scalar(_NULL, pa.large_binary()))
    return filled


def fields_of_group(key: bytes, fields: int) -> list[str | None]:
    """Give the fields that `group_keys` made a key of; for `WHOLE`, all null."""
    if key == WHOLE:
        return [None] * fields
    found: list[str | None] = []
    place = len(_GROUP)
    while place < len(key):
        if key.startswith(_NULL, place):
            found.append(None)
            place += len(_NULL)
            continue
        place += len(_VALUE)
        end = key.index(b"\x00", place)
        while not key.startswith(_END, end):
            end = key.index(b"\x00", end + len(_ZERO))
        found.append(key[place:end].replace(_ZERO, b"\x00").decode())
        place = end + len(_END)
    return found


def figures_of(keys: "pa.Array[Any]") -> tuple[Numbers, Numbers]:
    """Give the figure and the value of each row's key."""
    ends: Any
    data: Any
    _, ends, data = keys.buffers()
    last = np.frombuffer(ends, np.int64)[keys.offset + 1 : keys.offset + len(keys) + 1]
    tails = np.frombuffer(data, np.uint8)[last[:, None] + np.arange(-TAIL_BYTES, 0)]
    read = np.ascontiguousarray(tails).view(_TAIL).ravel()
    return read["figure"].astype(np.int64), read["value"].astype(np.int64)


def _totals(
    groups: "pa.Array[Any]", codes: Numbers | None, sizes: Sequence[Numbers], tokens: Sequence[Numbers]
) -> pa.RecordBatch:
    """Give the rows for documents whose groups have these keys; without codes all are of the first."""
    pieces = list(_counted(len(groups), codes, sizes, tokens))
    places = np.concatenate([place for place, _, _, _ in pieces])
    tails = np.empty(len(places), _TAIL)
    tails["figure"] = np.concatenate([np.full(len(place), figure) for place, figure, _, _ in pieces])
    tails["value"] = np.concatenate([values for _, _, values, _ in pieces])
    ends: Any = np.arange(len(tails) + 1, dtype=np.int64) * TAIL_BYTES
    data: Any = tails.view(np.uint8)
    tail: Any = pa.Array.from_buffers(pa.large_binary(), len(tails), [None, pa.py_buffer(ends), pa.py_buffer(data)])
    head = groups.take(pa.array(places))
    keys = _operations.binary_join_element_wise(head, tail, pa.scalar(b"", pa.large_binary()))
    counts = pa.array(np.concatenate([counts for _, _, _, counts in pieces]))
    return pa.RecordBatch.from_arrays([keys, counts], schema=ROWS)


def _counted(
    groups: int, codes: Numbers | None, sizes: Sequence[Numbers], tokens: Sequence[Numbers]
) -> Iterator[tuple[Numbers, int, Numbers, Numbers]]:
    """Give (places in the groups, figure, values, counts)."""
    every, zeros = np.arange(groups), np.zeros(groups, np.int64)
    ones = np.ones(len(sizes[0]), np.int64)
    for figure, values in enumerate((ones, (sizes[0] == 0).astype(np.int64), *sizes)):
        if codes is None:
            sums = values.sum(keepdims=True)
        else:
            sums = zeros.copy()
            np.add.at(sums, codes, values)
        yield every, figure, zeros, sums
    for number, values in enumerate(tokens):
        span = int(values.max()) + 1
        distinct, counts = np.unique(values if codes is None else codes * span + values, return_counts=True)
        yield distinct // span, Figure.TOKENIZERS + number, distinct % span, counts.astype(np.int64)
