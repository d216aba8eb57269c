"""Counting on Beam: one pass over the corpus, each part of it to a file of ``documents/``, and totals by group.

No row crosses the shuffle: a worker reads a part, counts batch by batch, and writes the part's file as it goes. Beside
it, under ``.work/``, lie the part's totals, its bad records and, last, a note of what it came to. Where the note is,
the part is done, and a resumed run leaves it out.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby, pairwise
from typing import Any, TypeAlias, cast

import apache_beam as beam
import numpy as np
import pyarrow as pa

from pipelines import progress
from pipelines.count_options import CountOptions
from pipelines.count_parts import CountPart
from pipelines.dealing import Deal, DealtFile
from pipelines.document_batches import SplitBad, ipc_batch, ipc_bytes
from pipelines.documents import BadRecords, DocumentBatch, Tally, read_splits
from pipelines.earlier_count import EarlierReader, EarlierRows
from pipelines.formats.blocks import BAD_RECORDS
from pipelines.group_totals import GroupTotals, Numbers
from pipelines.inputs import ReadOptions, Split
from pipelines.partial_tables import PartialTable
from pipelines.paths import STORE_THREADS
from pipelines.run_files import RunFiles
from schemas.document_tokens import SOURCE
from tokenize_lib._native import text_sizes

Sources: TypeAlias = Sequence[tuple[int, int]]
"""Whose rows stand one after another: the ordinal of a file, and how many rows of it."""

COUNT_STEP = "count"
_BLOCK_BYTES = 4 << 20  # what is done once a block takes less then than reading it
_ENOUGH_ROWS = 1 << 14
_ENOUGH_BYTES = 1 << 20
_NOTES = ".work/parts"
_PLACE: "list[pa.Field[Any]]" = [pa.field("source", pa.int64()), pa.field("start", pa.int64())]
_BAD_RECORDS = pa.schema([*_PLACE, *BAD_RECORDS])


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountPlan:
    """What the pass needs to know, wherever it runs.

    Attributes:
        files: The run's files.
        options: What is counted.
        read: How.
        totals_bytes: What a worker may hold of totals before it writes them out.
        earlier: Where an earlier run has the rows of files that need not be read.
    """

    files: RunFiles
    options: CountOptions
    read: ReadOptions
    totals_bytes: int
    earlier: EarlierRows | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartNote:
    """What a finished part came to.

    Attributes:
        tallies: What its splits held.
        totals: Its tables of `pipelines.group_totals`.
        bad: Bad records in the file `bad_name`.
    """

    tallies: tuple[Tally, ...]
    totals: tuple[PartialTable, ...]
    bad: int


def note_name(part: int) -> str:
    """Give the file of a part's note."""
    return f"{_NOTES}/part-{part:05d}.json"


def _bad_name(part: int) -> str:
    return f".work/bad/part-{part:05d}.arrow"


class _CountPart(beam.DoFn):  # type: ignore[misc]
    """Counts a part, holding a block of its texts and a row group of its rows."""

    def __init__(self, plan: CountPlan) -> None:
        self._plan = plan

    def process(self, part: tuple[CountPart, EarlierRows | None]) -> Iterator[None]:
        _PartCount(self._plan, *part).run()
        yield from ()


class _PartCount:
    """One part while it is counted."""

    def __init__(self, plan: CountPlan, part: CountPart, earlier: EarlierRows | None = None) -> None:
        self._plan = plan
        self._earlier = None if earlier is None else EarlierReader(earlier)
        self._part = part
        self._paths = {split.file.ordinal: split.file.path for split in part.splits}
        self._tallies: list[Tally] = []
        self._bad: list[pa.RecordBatch] = []
        self._totals = GroupTotals(plan.files, plan.totals_bytes)
        self._schema = plan.options.documents_schema(plan.read)
        self._chats = plan.options.chat_reader(plan.read)

    def run(self) -> None:
        files = self._plan.files
        files.write_parquet(self._part.name, self._rows(), self._schema)
        bad = sum(records.num_rows for records in self._bad)
        if bad:
            table = pa.Table.from_batches(self._bad).combine_chunks()
            files.write_bytes(_bad_name(self._part.number), ipc_bytes(table.to_batches()[0]))
        note = PartNote(tallies=tuple(self._tallies), totals=tuple(self._totals.finish()), bad=bad)
        files.write_json(note_name(self._part.number), dataclasses.asdict(note))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        earlier = self._earlier
        for is_known, splits in groupby(self._part.splits, lambda split: earlier is not None and earlier.holds(split)):
            if is_known and earlier is not None:
                yield from self._known(earlier, splits)
            elif self._chats is None:
                found = ((batch.source, batch.documents) for batch in self._read(tuple(splits)))
                for sources, documents in _together(found):
                    yield self._counted(DocumentBatch(sources[0][0], documents), sources)
            else:
                yield from self._read_chats(tuple(splits))

    def _read(self, splits: tuple[Split, ...]) -> Iterator[DocumentBatch]:
        for item in read_splits(splits, self._plan.read, block_bytes=_BLOCK_BYTES, advance=_advance):
            if isinstance(item, Tally):
                self._tallies.append(item)
            elif isinstance(item, BadRecords):
                self._bad.append(_placed(item))
            else:
                yield item

    def _read_chats(self, splits: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
        figures = _Figures()
        for item in read_splits(splits, self._plan.read, advance=_advance, chats=self._chats):
            if isinstance(item, Tally):
                self._tallies.append(figures.told(item))
                figures = _Figures()
            elif isinstance(item, BadRecords):
                self._bad.append(_placed(item))
            else:
                yield figures.seeing(self._counted(item, [(item.source, item.documents.num_rows)]))

    def _known(self, earlier: EarlierReader, splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
        """Give the rows of splits that an earlier run counted."""
        fields, tokenizers = len(self._plan.read.group_by), len(self._plan.options.tokenizers)
        for sources, rows in _together(self._taken(earlier, splits)):
            columns = rows.columns
            groups, sizes, tokens = columns[2 : 2 + fields], columns[2 + fields : 5 + fields], columns[-tokenizers:]
            self._totals.add(groups, _as_numbers(sizes), _as_numbers(tokens))
            yield self._row_batch(sources, columns)

    def _taken(self, earlier: EarlierReader, splits: Iterable[Split]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for split in splits:
            figures = _Figures()
            for batch in earlier.read(split):
                rows = pa.RecordBatch.from_arrays(batch.columns[1:], names=self._schema.names[1:])
                yield split.file.ordinal, figures.seeing(rows)
            self._tallies.append(figures.told(Tally(split.file.ordinal, split.start)))

    def _counted(self, batch: DocumentBatch, sources: Sources) -> pa.RecordBatch:
        tokenizers = self._plan.options.tokenizers
        has_id = self._plan.read.id_field is not None
        ids: pa.Array[Any] = batch.fields[0] if has_id else pa.nulls(batch.documents.num_rows, pa.string())
        groups = batch.fields[1:] if has_id else batch.fields
        chat: list[pa.Array[Any]] = []
        if batch.chats is None:
            sizes = text_sizes(batch.texts).columns
            tokens: list[pa.Array[Any]] = [tokenizer.count(batch.texts) for tokenizer in tokenizers]
        else:
            chats = batch.chats
            sizes = [
                pa.array(chats.content_sizes(size)) for size in text_sizes(chats.texts.cast(pa.large_binary())).columns
            ]
            counts = [tokenizer.count(chats.texts) for tokenizer in tokenizers]
            tokens = [pa.array(chats.tokens(column, counted)) for column, counted in enumerate(counts)]
            estimated = [pa.array(chats.estimated(column)) for column in range(len(tokenizers))]
            chat = [chats.models, pa.array(chats.messages), pa.array(chats.images), *estimated]
            ids = ids if has_id else chats.custom_ids
        self._totals.add(groups, _as_numbers(sizes), _as_numbers(tokens))
        kept = [values.cast(pa.string()) for values in (ids, *groups)]
        return self._row_batch(sources, [batch.positions, *kept, *sizes, *chat, *tokens])

    def _row_batch(self, sources: Sources, columns: "Sequence[pa.Array[Any]]") -> pa.RecordBatch:
        ordinals = list(dict.fromkeys(ordinal for ordinal, _ in sources))
        places = {ordinal: place for place, ordinal in enumerate(ordinals)}
        indices = np.repeat([places[ordinal] for ordinal, _ in sources], [rows for _, rows in sources])
        paths = pa.array([self._paths[ordinal] for ordinal in ordinals])
        source = pa.DictionaryArray.from_arrays(indices.astype(np.int32), paths)
        return pa.RecordBatch.from_arrays([source.cast(SOURCE), *columns], names=self._schema.names)


def _together(batches: Iterable[tuple[int, pa.RecordBatch]]) -> Iterator[tuple[Sources, pa.RecordBatch]]:
    """Join small batches of many files, as each costs as much as some thousand rows."""
    waiting: list[tuple[int, pa.RecordBatch]] = []
    rows = size = 0
    for source, batch in batches:
        waiting.append((source, batch))
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _ENOUGH_ROWS or size >= _ENOUGH_BYTES:
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield _joined(waiting)


def _joined(batches: Sequence[tuple[int, pa.RecordBatch]]) -> tuple[Sources, pa.RecordBatch]:
    sources = [(source, batch.num_rows) for source, batch in batches]
    first = batches[0][1]
    if len(batches) == 1:
        return sources, first
    columns = [pa.concat_arrays([batch.column(place) for _, batch in batches]) for place in range(first.num_columns)]
    return sources, pa.RecordBatch.from_arrays(columns, names=first.schema.names)


class _Figures:
    """Sums over a split's rows that pass by."""

    def __init__(self) -> None:
        self.rows = self._empty = self._bytes = 0

    def seeing(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        sizes = rows["bytes"].to_numpy()
        self.rows += rows.num_rows
        self._empty += int((sizes == 0).sum())
        self._bytes += int(sizes.sum())
        return rows

    def told(self, tally: Tally) -> Tally:
        """Give a tally with these sums; of chats, the reader knows whole records alone."""
        return dataclasses.replace(tally, kept=self.rows - self._empty, empty=self._empty, text_bytes=self._bytes)


_advance = partial(progress.advance, COUNT_STEP)


def _as_numbers(columns: "Sequence[pa.Array[Any]]") -> list[Numbers]:
    return [cast("Numbers", values.to_numpy()) for values in columns]


def _placed(bad: BadRecords) -> pa.RecordBatch:
    rows = bad.records.num_rows
    places = [pa.array(np.full(rows, place, np.int64)) for place in (bad.source, bad.start)]
    return pa.RecordBatch.from_arrays([*places, *bad.records.columns], schema=_BAD_RECORDS)


def count_parts(pipeline: beam.Pipeline, plan: CountPlan, parts: Sequence[CountPart]) -> None:
    """Apply the pass over these parts to a pipeline: it leaves their files and notes."""
    largest_first = sorted(parts, key=lambda part: (-part.work, part.number))
    earlier = plan.earlier
    dealt = [(part, None if earlier is None else earlier.of(part.splits)) for part in largest_first]
    to_all = dataclasses.replace(plan, earlier=None)  # each part has what it needs of it: files may be many
    file = DealtFile.write(plan.files, "parts.jsonl", dealt, tuple[CountPart, EarlierRows | None])
    _ = pipeline | "Deal parts to workers" >> Deal(file) | "Count tokens" >> beam.ParDo(_CountPart(to_all))


def finished_parts(files: RunFiles) -> set[int]:
    """Give the parts that are done."""
    prefix, suffix = note_name(0).split("00000")
    return {int(name.removeprefix(prefix).removesuffix(suffix)) for name in files.list(_NOTES)}


def read_notes(files: RunFiles, parts: int) -> list[PartNote]:
    """Read what every part came to."""
    with ThreadPoolExecutor(STORE_THREADS) as pool:
        return list(pool.map(lambda part: _note(json.loads(files.read_bytes(note_name(part)))), range(parts)))


def _note(read: dict[str, Any]) -> PartNote:
    return PartNote(
        tallies=tuple(Tally(**tally) for tally in read["tallies"]),
        totals=tuple(PartialTable(**table) for table in read["totals"]),
        bad=read["bad"],
    )


def bad_records_of(files: RunFiles, part: int, paths: Sequence[str]) -> Iterator[SplitBad]:
    """Give a part's bad records as `pipelines.bad_records` takes them; `paths` of files stand by their ordinals."""
    rows = ipc_batch(files.read_bytes(_bad_name(part)))
    places = np.stack([rows["source"].to_numpy(), rows["start"].to_numpy()], axis=1)
    starts = np.flatnonzero(np.append(True, (places[1:] != places[:-1]).any(axis=1)))
    for first, end in pairwise([*starts.tolist(), rows.num_rows]):
        records = rows.slice(first, end - first)
        source, start = places[first].tolist()
        yield SplitBad(source, start, paths[source], ipc_bytes(records.select(["position", "row", "reason"])))
