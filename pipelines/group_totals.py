"""Sums and distributions by group, exact, in memory that does not grow with groups: sorted tables that merge.

A row is (key, count), under the names that the merging kernel knows. A key is the group, then a figure, then a value;
as bytes they sort by group, figure and value. For a sum (`Figure`) the value is 0 and the count is the sum. For a
tokenizer the value is a number of tokens and the count says how many documents have that many.
"""

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.partial_tables import PartialTable, write_partial_tables
from pipelines.run_files import RunFiles
from tokenize_lib import _native

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

_WAITING_SHARE = 8  # summing takes some times as much as what is summed
_MOST_CODE = 1 << 62
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
    """Adds documents up, and writes sorted tables whenever what it holds has outgrown its share.

    Documents wait as they are, so that keys are looked up and sorted once for many of them.
    """

    def __init__(self, files: RunFiles, most_bytes: int) -> None:
        self._files = files
        self._most_bytes = most_bytes
        self._waiting: list[_Documents] = []
        self._waiting_bytes = 0
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
        documents = _Documents(group_keys(groups) if groups else None, sizes, tokens)
        self._waiting.append(documents)
        self._waiting_bytes += documents.nbytes
        if self._waiting_bytes > self._most_bytes // _WAITING_SHARE:
            self._sum()

    def finish(self) -> list[PartialTable]:
        """Write what is left, and give all that was written: each sorted by key, without repeats."""
        if self._waiting:
            self._sum()
        if self._held:
            self._write()
        return self._written

    def _sum(self) -> None:
        documents = _joined(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        whole = pa.array([WHOLE], pa.large_binary())
        self._hold(_totals(whole, np.zeros(len(documents.sizes[0]), np.int64), documents))
        if documents.keys is not None:
            coded: Any = documents.keys.dictionary_encode()
            order = _operations.sort_indices(coded.dictionary).to_numpy()
            places = np.empty(len(order), np.int64)
            places[order] = np.arange(len(order))
            self._hold(_totals(coded.dictionary.take(pa.array(order)), places[coded.indices.to_numpy()], documents))
        if self._held_bytes > self._most_bytes // 2:
            self._merge()
            if self._held_bytes > self._most_bytes // 4:
                self._write()

    def _hold(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self._held_bytes += rows.nbytes

    def _merge(self) -> None:
        if len(self._held) > 1:
            merged, _ = _native.merge_sorted(self._held, [True] * len(self._held))
            self._held, self._held_bytes = [merged], merged.nbytes

    def _write(self) -> None:
        self._merge()
        self._written += [table for _, table in write_partial_tables(self._files, FOLDER, self._held)]
        self._held, self._held_bytes = [], 0


@dataclasses.dataclass(frozen=True)
class _Documents:
    """The key of each document's group, where there are groups; its bytes, characters and words; its tokens."""

    keys: "pa.Array[Any] | None"
    sizes: Sequence[Numbers]
    tokens: Sequence[Numbers]

    @property
    def nbytes(self) -> int:
        keys = 0 if self.keys is None else self.keys.nbytes
        return keys + sum(values.nbytes for values in (*self.sizes, *self.tokens))


def _joined(batches: Sequence[_Documents]) -> _Documents:
    keys = [batch.keys for batch in batches if batch.keys is not None]
    return _Documents(
        pa.concat_arrays(keys) if keys else None,
        [np.concatenate(values) for values in zip(*(batch.sizes for batch in batches), strict=True)],
        [np.concatenate(values) for values in zip(*(batch.tokens for batch in batches), strict=True)],
    )


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


def _totals(groups: "pa.Array[Any]", places: Numbers, documents: _Documents) -> pa.RecordBatch:
    """Give the sorted rows of documents.

    Args:
        groups: Keys of groups, sorted.
        places: Which of them each document's is; there is a document for each.
        documents: The documents.
    """
    pieces = list(_figures(len(groups), places, documents))
    members = np.concatenate([piece.groups for piece in pieces])
    # Each piece is sorted by group and value, and the pieces by figure.
    order = np.argsort(members, kind="stable")
    tails = np.empty(len(members), _TAIL)
    tails["figure"] = np.concatenate([np.full(len(piece.groups), piece.figure) for piece in pieces])[order]
    tails["value"] = np.concatenate([piece.values for piece in pieces])[order]
    ends: Any = np.arange(len(tails) + 1, dtype=np.int64) * TAIL_BYTES
    data: Any = tails.view(np.uint8)
    tail: Any = pa.Array.from_buffers(pa.large_binary(), len(tails), [None, pa.py_buffer(ends), pa.py_buffer(data)])
    heads = groups.take(pa.array(members[order]))
    keys = _operations.binary_join_element_wise(heads, tail, pa.scalar(b"", pa.large_binary()))
    counts = pa.array(np.concatenate([piece.counts for piece in pieces])[order])
    return pa.RecordBatch.from_arrays([keys, counts], schema=ROWS)


class _Piece(NamedTuple):
    """Rows of one figure."""

    groups: Numbers
    figure: int
    values: Numbers
    counts: Numbers


def _figures(groups: int, places: Numbers, documents: _Documents) -> Iterator[_Piece]:
    every, zeros = np.arange(groups), np.zeros(groups, np.int64)
    order = np.argsort(places, kind="stable") if groups > 1 else slice(None)
    firsts = np.searchsorted(places[order], every)
    ones = np.ones(len(places), np.int64)
    for figure, values in enumerate((ones, (documents.sizes[0] == 0).astype(np.int64), *documents.sizes)):
        yield _Piece(every, figure, zeros, np.add.reduceat(values[order], firsts))
    for number, values in enumerate(documents.tokens):
        # One number for group and value, while that fits; else two passes of a stable sort, which come to the same.
        most = int(values.max()) + 1
        if groups <= _MOST_CODE // most:
            distinct, counts = np.unique(places * most + values, return_counts=True)
            yield _Piece(distinct // most, Figure.TOKENIZERS + number, distinct % most, counts)
        else:
            by_both = np.lexsort((values, places))
            pairs = np.stack([places[by_both], values[by_both]])
            starts = np.flatnonzero(np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)))
            counts = np.diff(np.append(starts, len(places)))
            yield _Piece(pairs[0, starts], Figure.TOKENIZERS + number, pairs[1, starts], counts)
