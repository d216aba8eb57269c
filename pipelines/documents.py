"""Reading the corpus: splits become Arrow batches of documents, on every worker.

Every record that is read is counted exactly once in a `Tally`: kept, empty or bad.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, cast

import apache_beam as beam
import pyarrow as pa

from pipelines import progress
from pipelines.dealing import Deal, DealtFile
from pipelines.document_batches import BadRecords, DocumentBatch, SplitBad, ipc_bytes
from pipelines.formats.blocks import Block
from pipelines.formats.parquet import read_rows
from pipelines.formats.streams import decompressed, open_file
from pipelines.formats.text import count_newlines, read_line_records
from pipelines.formats.whole_files import read_file_documents
from pipelines.inputs import InputFile, ReadOptions, Split
from tokenize_lib.chat import ChatReader
from tokenize_lib.errors import InputError, NoDocumentError

__all__ = ["BadRecords", "DocumentBatch", "ReadDocuments", "Tally", "read_splits", "total_tally"]

BLOCK_BYTES = 2 << 20  # buffers of this size are used again; larger ones are mapped anew, which costs more than reading
_LOOKED_AT_BYTES = 64 << 10
_COUNTED_BYTES = 16 << 30  # further into a file, finding an error's row number would take minutes: it is left out


@dataclass(frozen=True)
class Tally:
    """What a split held. kept + empty + bad is the number of records; rows also counts blank lines of JSONL.

    mended and not_nfc are numbers of documents, as `pipelines.formats.blocks.Marks` means them.
    """

    source: int
    start: int
    rows: int = 0
    kept: int = 0
    empty: int = 0
    bad: int = 0
    text_bytes: int = 0
    mended: int = 0
    not_nfc: int = 0

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.kept + self.empty + self.bad

    def figures(self) -> dict[str, int]:
        """Give what ``run.json`` says of the records."""
        return {
            "read": self.records,
            "kept": self.kept,
            "empty": self.empty,
            "bad": self.bad,
            "mended": self.mended,
            "not_nfc": self.not_nfc,
        }

    def plus(self, block: Block) -> "Tally":
        """Give the tally with a further block counted."""
        documents = block.documents.num_rows
        return Tally(
            self.source,
            self.start,
            self.rows + block.rows,
            self.kept + documents - block.marks.empty,
            self.empty + block.marks.empty,
            self.bad + block.bad.num_rows,
            self.text_bytes + cast("pa.LargeBinaryArray", block.documents.column(1)).total_values_length,
            self.mended + block.marks.mended,
            self.not_nfc + block.marks.not_nfc,
        )


class Advance(Protocol):
    """Told of each block: bytes of stored files read for it, and the records in it."""

    def __call__(self, *, bytes: int, documents: int) -> None: ...  # noqa: A002


def read_splits(
    splits: Sequence[Split],
    options: ReadOptions,
    *,
    block_bytes: int = BLOCK_BYTES,
    advance: Advance | None = None,
    chats: ChatReader | None = None,
) -> Iterator[DocumentBatch | BadRecords | Tally]:
    """Read splits one after another: batches of their documents and bad records as they come, and a tally after each.

    Where each file is one document, one tally stands for all the files. Raises InputError, naming the file, if one
    cannot be read to its end, and at the first bad record, if options say ``fail``. With `chats` each line is one.
    """
    if options.document == "file":
        files = [split.file for split in splits]
        blocks = read_file_documents(files, options, block_bytes)
        yield from _sort_out(blocks, Tally(files[0].ordinal, 0), options, advance)
        return
    for split in splits:
        blocks = ((split.file, block) for block in _blocks(split, options, block_bytes, chats))
        yield from _sort_out(blocks, Tally(split.file.ordinal, split.start), options, advance)


def _blocks(split: Split, options: ReadOptions, block_bytes: int, chats: ChatReader | None) -> Iterator[Block]:
    if split.file.format == "parquet":
        yield from read_rows(split, options, block_bytes)
    else:
        with open_file(split.file) as stream:
            yield from read_line_records(split, stream, options, block_bytes, chats)


def _sort_out(
    blocks: Iterable[tuple[InputFile, Block]], tally: Tally, options: ReadOptions, advance: Advance | None
) -> Iterator[DocumentBatch | BadRecords | Tally]:
    for file, block in blocks:
        documents, bad = block.documents, block.bad
        if bad.num_rows and options.on_bad_record == "fail":
            raise InputError(_describe(file, tally.start, bad.slice(0, 1).to_pylist()[0], options))
        tally = tally.plus(block)
        if advance is not None:
            advance(bytes=block.consumed, documents=documents.num_rows + bad.num_rows)
        if documents.num_rows:
            yield DocumentBatch(file.ordinal, documents, block.chats)
        if bad.num_rows:
            yield BadRecords(file.ordinal, tally.start, bad)
    yield tally


def _describe(file: InputFile, split_start: int, bad: dict[str, int | str], options: ReadOptions) -> str:
    """Say where a bad record stands, what it is, and what to do."""
    position, row = int(bad["position"]), int(bad["row"])
    if file.format == "parquet":
        where = f"row {position + 1}"
    elif split_start == 0:
        where = f"row {row + 1} (at byte {position})"
    elif position <= _COUNTED_BYTES:
        with open_file(file) as stream:
            where = f"row {count_newlines(stream, position, BLOCK_BYTES) + 1} (at byte {position})"
    else:
        where = f"the record at byte {position}"
    advice = "--on-bad-record skip sets such records aside"
    if bad["reason"] == f'no field "{options.text_field}"':
        advice += ", --text-field names another field"
        if file.format == "jsonl" and b'"messages"' in _record_start(file, position):
            advice += ", --format chat counts chats"
    if file.format == "jsonl" and (whole := _whole_json(file)) is not None:
        advice = f"the file looks like {whole}: write each record on a line of its own"
    return f"{file.path}: {where}: {bad['reason']}; {advice}"


def _whole_json(file: InputFile) -> str | None:
    """Say what JSON a file looks like that is one value, not one a line."""
    start = _record_start(file, 0).removeprefix(b"\xef\xbb\xbf").strip()
    if start.startswith(b"["):
        return "one JSON array"
    return "JSON objects over several lines each" if start == b"{" else None


def _record_start(file: InputFile, position: int) -> bytes:
    """Give a record's first bytes; none far into a compressed file, which must be read up to there."""
    with open_file(file) as stream:
        if file.compression == "none":
            stream.seek(position)
            return stream.read(_LOOKED_AT_BYTES).partition(b"\n")[0]
        read = b""
        for chunk in decompressed(file, stream, BLOCK_BYTES):
            read += chunk.data
            if len(read) >= _LOOKED_AT_BYTES:
                break
        return read[position:].partition(b"\n")[0]


# Spelled out, so that Beam knows the type, and with it the coder, of each output.
_TallyOutput: TypeAlias = beam.pvalue.TaggedOutput[Literal["tallies"], tuple[Tally, ...]]
_BadOutput: TypeAlias = beam.pvalue.TaggedOutput[Literal["bad"], SplitBad]


class _ReadSplits(beam.DoFn):  # type: ignore[misc]
    def __init__(self, options: ReadOptions, step: str, block_bytes: int) -> None:
        self._options, self._step, self._block_bytes = options, step, block_bytes

    def process(self, splits: tuple[Split, ...]) -> Iterator[DocumentBatch | _TallyOutput | _BadOutput]:
        advance = partial(progress.advance, self._step)
        paths = {split.file.ordinal: split.file.path for split in splits}
        tallies: list[Tally] = []
        for item in read_splits(splits, self._options, block_bytes=self._block_bytes, advance=advance):
            if isinstance(item, Tally):
                tallies.append(item)
            elif isinstance(item, BadRecords):
                bad = SplitBad(item.source, item.start, paths[item.source], ipc_bytes(item.records))
                yield beam.pvalue.TaggedOutput("bad", bad)
            else:
                yield item
        yield beam.pvalue.TaggedOutput("tallies", tuple(tallies))


class ReadDocuments(beam.PTransform):  # type: ignore[misc]
    """Reads splits, those of a plan in its `InputPlan.groups`: outputs ``documents``, ``tallies`` and ``bad``.

    documents: `DocumentBatch`; let a step of the same stage consume them, so that they are not sent.
    tallies: a tuple a group, with a `Tally` a split. bad: `SplitBad`, which `pipelines.bad_records` makes a table of.
    step: the name under which progress is told, in bytes of stored files (in all: `InputPlan.bytes`) and documents.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Split, ...]] | DealtFile,
        options: ReadOptions,
        *,
        step: str = "read",
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__()
        self._groups, self._read = groups, _ReadSplits(options, step, block_bytes)

    def expand(self, begin: beam.pvalue.PBegin) -> Any:
        """Deal the splits out, and read them."""
        return (
            begin
            | "Deal splits to workers" >> Deal(self._groups)
            | "Read documents" >> beam.ParDo(self._read).with_outputs("tallies", "bad", main="documents")
        )


def total_tally(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up. Raises NoDocumentError if there is no document in them at all."""
    names = ("rows", "kept", "empty", "bad", "text_bytes", "mended", "not_nfc")
    sums = dict.fromkeys(names, 0)
    for tally in tallies:
        for name in names:
            sums[name] += getattr(tally, name)
    total = Tally(0, 0, **sums)
    if total.kept + total.empty == 0:
        also = f": all {total.bad} records are bad" if total.bad else ": the input has no record"
        raise NoDocumentError(f"no document{also}; check --format and --text-field, or give other files")
    return total
