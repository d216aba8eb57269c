"""Partial tables on their way between workers: Arrow IPC files, with only their names in the shuffle.

A partial file has a name of its own for every attempt and is named in the shuffle when it is whole, so that a worker
that is started again or dies leaves nothing that anyone reads. All of them lie under ``.work/`` and go with it.
"""

import contextlib
import dataclasses
import itertools
import math
import uuid
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from pipelines.run_files import RunFiles, open_for_reading, output_errors

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
_BATCH_BYTES = 1 << 20  # what a reader holds of each of the tables it merges


@dataclasses.dataclass(frozen=True)
class PartialTable:
    """Consecutive batches of a partial file: `first` up to but without `end`; `bytes` of the file."""

    name: str
    first: int
    end: int
    bytes: int


def write_partial_tables(
    files: RunFiles, folder: str, tables: Sequence[pa.RecordBatch]
) -> Iterator[tuple[int, PartialTable]]:
    """Write tables of one schema into a new file.

    Args:
        files: The run's files.
        folder: Where in them.
        tables: One for each partition.

    Yields:
        The number of each partition that has rows, with its part of the file, when the file is whole.
    """
    name = f"{folder}/{uuid.uuid4().hex}.arrow"
    written: list[tuple[int, PartialTable]] = []
    batches = 0
    with (
        output_errors(files.path(name), "written"),
        contextlib.closing(
            FileSystems.create(files.path(name), compression_type=CompressionTypes.UNCOMPRESSED)
        ) as file,
        pa.PythonFile(file, mode="w") as sink,
        pa.ipc.new_file(sink, tables[0].schema, options=_OPTIONS) as writer,
    ):
        for partition, table in enumerate(tables):
            if not table.num_rows:
                continue
            first, start = batches, sink.tell()
            for batch in _cut(table):
                writer.write_batch(batch)
                batches += 1
            written.append((partition, PartialTable(name, first, batches, sink.tell() - start)))
    yield from written


def write_partial_run(files: RunFiles, folder: str, batches: Iterable[pa.RecordBatch]) -> PartialTable | None:
    """Write batches as they come into a new file of one table; None if they have no row."""
    filled = (batch for batch in batches if batch.num_rows)
    if (first := next(filled, None)) is None:
        return None
    name = f"{folder}/{uuid.uuid4().hex}.arrow"
    count = 0
    with (
        output_errors(files.path(name), "written"),
        contextlib.closing(
            FileSystems.create(files.path(name), compression_type=CompressionTypes.UNCOMPRESSED)
        ) as file,
        pa.PythonFile(file, mode="w") as sink,
    ):
        with pa.ipc.new_file(sink, first.schema, options=_OPTIONS) as writer:
            for table in itertools.chain([first], filled):
                for batch in _cut(table):
                    writer.write_batch(batch)
                    count += 1
        size = sink.tell()
    return PartialTable(name, 0, count, size)


def read_partial_table(files: RunFiles, table: PartialTable) -> Iterator[pa.RecordBatch]:
    """Read the batches, holding one at a time."""
    path = files.path(table.name)
    with output_errors(path, "read"), contextlib.closing(open_for_reading(path)) as file:
        reader = pa.ipc.open_file(pa.PythonFile(file, mode="r"))
        for place in range(table.first, table.end):
            yield reader.get_batch(place)


def read_partial_tables(files: RunFiles, tables: Iterable[PartialTable]) -> Iterator[pa.RecordBatch]:
    """Read several one after the other, in the order of their names, so that a retry reads them alike."""
    for table in sorted(tables, key=lambda table: (table.name, table.first)):
        yield from read_partial_table(files, table)


def concatenated(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Give one batch with the rows of one or more."""
    [batch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


def _cut(table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    parts = max(1, math.ceil(table.nbytes / _BATCH_BYTES))
    rows = math.ceil(table.num_rows / parts)
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)
