"""Merging sorted tables of workers into one stream, with a bound on what is open and held at a time."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from pipelines.partial_tables import PartialTable, read_partial_table, write_partial_run
from pipelines.run_files import RunFiles
from tokenize_lib import _native

MOST_RUNS = 64
"""Tables that are merged at a time; of each, a megabyte is held."""

_MOST_SMALL_RUNS = 512  # files open at a time, if all together are no more than that


def merge_tables(
    files: RunFiles, folder: str, tables: Sequence[PartialTable], *, threads: int = 1
) -> Iterator[pa.RecordBatch]:
    """Merge tables into one stream, sorted by key, with the counts of equal keys summed.

    Args:
        files: The run's files.
        folder: Where in them what is merged on the way is written, if the tables are too many for one pass.
        tables: Each sorted by its key, without repeats.
        threads: How many merge at a time on that way.
    """

    def merged(some: Sequence[PartialTable]) -> Iterator[pa.RecordBatch]:
        return _merge_runs([read_partial_table(files, table) for table in some])

    def written(some: Sequence[PartialTable]) -> PartialTable | None:
        return write_partial_run(files, folder, merged(some))

    while len(tables) > MOST_RUNS and not _merge_at_once(tables):
        shares = [tables[start : start + MOST_RUNS] for start in range(0, len(tables), MOST_RUNS)]
        with ThreadPoolExecutor(threads) as pool:
            tables = [table for table in pool.map(written, shares) if table is not None]
    return merged(tables)


def _merge_at_once(tables: Sequence[PartialTable]) -> bool:
    return len(tables) <= _MOST_SMALL_RUNS and sum(table.bytes for table in tables) <= MOST_RUNS << 20


def _merge_runs(runs: list[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Merge tables that are sorted by pretoken, each without repeats, summing counts; a batch of each is held."""
    heads = [_Head(run) for run in runs]
    while heads := [head for head in heads if head.fill()]:
        merged, consumed = _native.merge_sorted([head.batch for head in heads], [head.last for head in heads])
        for head, rows in zip(heads, consumed, strict=True):
            head.batch = head.batch.slice(rows)
        yield merged


class _Head:
    """The rows of a run that come next, and whether they are its last."""

    def __init__(self, run: Iterator[pa.RecordBatch]) -> None:
        self._run = run
        self._next = next(run, None)
        self.batch: Any = None

    @property
    def last(self) -> bool:
        return self._next is None

    def fill(self) -> bool:
        """Have rows, if there are any left."""
        while (self.batch is None or not self.batch.num_rows) and self._next is not None:
            self.batch, self._next = self._next, next(self._run, None)
        return self.batch is not None and self.batch.num_rows > 0
