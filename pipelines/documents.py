"""Reading the corpus: splits become Arrow batches of documents, on every worker.

Every record that is read is counted exactly once in a `Tally`: kept, empty or bad.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, cast

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from pipelines import progress
from pipelines.document_batches import BadRecords, DocumentBatch, ipc_bytes
from pipelines.formats.blocks import Block
from pipelines.formats.parquet import read_rows
from pipelines.formats.streams import open_file
from pipelines.formats.text import count_newlines, read_file_document, read_line_records
from pipelines.inputs import InputPlan, ReadOptions, Split
from tokenize_lib.errors import InputError

__all__ = ["BadRecords", "DocumentBatch", "ReadDocuments", "Tally", "read_split", "total_tally"]

BLOCK_BYTES = 8 << 20
_COUNTED_BYTES = 16 << 30  # further into a file, finding an error's row number would take minutes: it is left out


@dataclass(frozen=True)
class Tally:
    """What a split held. kept + empty + bad is the number of records; rows also counts blank lines of JSONL."""

    source: int
    start: int
    rows: int = 0
    kept: int = 0
    empty: int = 0
    bad: int = 0
    text_bytes: int = 0

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.kept + self.empty + self.bad

    def plus(self, block: Block) -> "Tally":
        """Give the tally with a further block counted."""
        texts = cast("pa.LargeBinaryArray", block.documents.column(1))
        lengths = pc.binary_length(texts)
        empty = int(pc.sum(pc.equal(lengths, pa.scalar(0, pa.int64())).cast(pa.int64())).as_py() or 0)
        return replace(
            self,
            rows=self.rows + block.rows,
            kept=self.kept + len(texts) - empty,
            empty=self.empty + empty,
            bad=self.bad + block.bad.num_rows,
            text_bytes=self.text_bytes + (pc.sum(lengths).as_py() or 0),
        )


class Advance(Protocol):
    """Told of each block: bytes of stored files read for it, and the records in it."""

    def __call__(self, *, bytes: int, documents: int) -> None: ...  # noqa: A002


def read_split(
    split: Split, options: ReadOptions, *, block_bytes: int = BLOCK_BYTES, advance: Advance | None = None
) -> Iterator[DocumentBatch | BadRecords | Tally]:
    """Read a split: batches of its documents and bad records as they come, then its tally.

    Raises InputError, naming the file, if it cannot be read to its end, and at the first bad record, if options say
    ``fail``.
    """
    source = split.file.ordinal
    tally = Tally(source, split.start)
    with closing(_blocks(split, options, block_bytes)) as blocks:
        for block in blocks:
            if block.bad.num_rows and options.on_bad_record == "fail":
                raise InputError(_describe(split, block.bad.slice(0, 1).to_pylist()[0], options, block_bytes))
            tally = tally.plus(block)
            if advance is not None:
                advance(bytes=block.consumed, documents=block.documents.num_rows + block.bad.num_rows)
            if block.documents.num_rows:
                yield DocumentBatch(source, block.documents)
            if block.bad.num_rows:
                yield BadRecords(source, split.start, block.bad)
    yield tally


def _blocks(split: Split, options: ReadOptions, block_bytes: int) -> Generator[Block]:
    if split.file.format == "parquet":
        yield from read_rows(split, options, block_bytes)
        return
    read = read_file_document if options.document == "file" else read_line_records
    with open_file(split.file) as stream:
        yield from read(split, stream, options, block_bytes)


def _describe(split: Split, bad: dict[str, int | str], options: ReadOptions, block_bytes: int) -> str:
    """Say where a bad record stands, what it is, and what to do."""
    position, row = int(bad["position"]), int(bad["row"])
    if split.file.format == "parquet":
        where = f"row {position + 1}"
    elif split.start == 0:
        where = f"row {row + 1} (at byte {position})"
    elif position <= _COUNTED_BYTES:
        with open_file(split.file) as stream:
            where = f"row {count_newlines(stream, position, block_bytes) + 1} (at byte {position})"
    else:
        where = f"the record at byte {position}"
    advice = "--on-bad-record skip sets such records aside"
    if bad["reason"] == f'no field "{options.text_field}"':
        advice += ", --text-field names another field"
    return f"{split.file.path}: {where}: {bad['reason']}; {advice}"


# Spelled out, so that Beam knows the type, and with it the coder, of each output.
_TallyOutput: TypeAlias = beam.pvalue.TaggedOutput[Literal["tallies"], Tally]
_BadOutput: TypeAlias = beam.pvalue.TaggedOutput[Literal["bad"], tuple[tuple[int, int], bytes]]


class _ReadSplits(beam.DoFn):  # type: ignore[misc]
    def __init__(self, options: ReadOptions, step: str, block_bytes: int) -> None:
        self._options, self._step, self._block_bytes = options, step, block_bytes

    def process(self, splits: tuple[Split, ...]) -> Iterator[DocumentBatch | _TallyOutput | _BadOutput]:
        advance = partial(progress.advance, self._step)
        for split in splits:
            for item in read_split(split, self._options, block_bytes=self._block_bytes, advance=advance):
                if isinstance(item, Tally):
                    yield beam.pvalue.TaggedOutput("tallies", item)
                elif isinstance(item, BadRecords):
                    yield beam.pvalue.TaggedOutput("bad", ((item.source, item.start), ipc_bytes(item.records)))
                else:
                    yield item


class ReadDocuments(beam.PTransform):  # type: ignore[misc]
    """Reads a plan's splits: outputs ``documents``, ``tallies`` and ``bad``.

    documents: `DocumentBatch`; let a step of the same stage consume them, so that they are not sent.
    tallies: a `Tally` a split. bad: ((file ordinal, start of the split), `BadRecords.records` as an IPC stream), which
        `pipelines.bad_records` makes a table of.
    step: the name under which progress is told, in bytes of stored files (in all: `InputPlan.bytes`) and documents.
    """

    def __init__(
        self, plan: InputPlan, options: ReadOptions, *, step: str = "read", block_bytes: int = BLOCK_BYTES
    ) -> None:
        super().__init__()
        self._plan, self._read = plan, _ReadSplits(options, step, block_bytes)

    def expand(self, begin: beam.pvalue.PBegin) -> Any:
        """Deal the splits out, and read them."""
        return (
            begin
            | "Plan splits" >> beam.Create(list(self._plan.groups()), reshuffle=False)
            | "Deal splits to workers" >> beam.Reshuffle()
            | "Read documents" >> beam.ParDo(self._read).with_outputs("tallies", "bad", main="documents")
        )


def total_tally(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up. Raises InputError if there is no document in them at all."""
    names = ("rows", "kept", "empty", "bad", "text_bytes")
    sums = dict.fromkeys(names, 0)
    for tally in tallies:
        for name in names:
            sums[name] += getattr(tally, name)
    total = Tally(0, 0, **sums)
    if total.kept + total.empty == 0:
        also = f": all {total.bad} records are bad" if total.bad else ": the input has no record"
        raise InputError(f"no document{also}; check --format and --text-field, or give other files")
    return total
