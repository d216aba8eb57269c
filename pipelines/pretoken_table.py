"""Documents to the pretoken table: one pass over the corpus, and each distinct pretoken once with its count."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from pipelines import bad_records
from pipelines.dealing import DealtFile
from pipelines.document_batches import DocumentBatch, SplitBad
from pipelines.documents import ReadDocuments, Tally, total_tally
from pipelines.inputs import ReadOptions, Split
from pipelines.memory import MemoryShares
from pipelines.merge_tables import merge_tables
from pipelines.partial_tables import PartialTable, write_partial_tables
from pipelines.run_files import RunFiles
from schemas.bad_records import BAD_RECORDS
from schemas.pretokens import PRETOKENS, PRETOKENS_FIRST_SEEN
from tokenize_lib import _native
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.start_alphabet import form_rule
from tokenize_lib.training_options import TrainOptions

READ_STEP = "read"
COUNTED = ".work/counted.json"
_PARTIAL = ".work/partial-pretokens"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretokenPlan:
    """What the pass needs to know, wherever it runs.

    Attributes:
        files: The run's files.
        options: What is trained.
        read: How the input is read.
        partitions: Files of the table; a pretoken's file depends on its bytes and on this number alone.
        shares: What a worker may hold.
    """

    files: RunFiles
    options: TrainOptions
    read: ReadOptions
    partitions: int
    shares: MemoryShares

    @property
    def first_seen(self) -> bool:
        """Whether the table says where each pretoken stands first."""
        return self.options.tie_break == "first-seen"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TablePart:
    """One file of the table.

    Attributes:
        name: Its name in the run.
        rows: Distinct pretokens.
        bytes: Of the distinct pretokens.
        pretokens: Occurrences in the corpus.
        pretoken_bytes: Bytes of all occurrences.
        forms: With the characters alphabet, (code point, form, count) of each form of a character.
    """

    name: str
    rows: int
    bytes: int
    pretokens: int
    pretoken_bytes: int
    forms: tuple[tuple[int, int, int], ...]


class _CountPretokens(beam.DoFn):  # type: ignore[misc]
    """Counts into one table a bundle, and writes it out whenever it has outgrown its share."""

    def __init__(self, plan: PretokenPlan) -> None:
        self._plan = plan

    def setup(self) -> None:
        self._pretokenizer = build_pretokenizer(self._plan.options.pretokenize)

    def start_bundle(self) -> None:
        self._counter = _native.PretokenCounter(self._pretokenizer, self._plan.first_seen)

    def process(self, batch: DocumentBatch) -> Iterator[tuple[int, PartialTable]]:
        if self._plan.first_seen:
            self._counter.add(batch.texts, batch.source, batch.positions)
        else:
            self._counter.add(batch.texts)
        if self._counter.nbytes > self._plan.shares.worker_table:
            yield from self._write()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._counter.distinct:
            yield from map(in_global_window, self._write())

    def _write(self) -> Iterator[tuple[int, PartialTable]]:
        tables = self._counter.drain(self._plan.partitions)
        return write_partial_tables(self._plan.files, _PARTIAL, tables)


class _MergePretokens(beam.DoFn):  # type: ignore[misc]
    """Merges the sorted partial tables of a partition into its file, holding a batch of each."""

    def __init__(self, plan: PretokenPlan) -> None:
        self._plan = plan

    def process(self, partition: tuple[int, Iterable[PartialTable]]) -> Iterator[TablePart]:
        number, tables = partition
        name = f"pretokens/part-{number:05d}.parquet"
        merged = merge_tables(self._plan.files, _PARTIAL, list(tables))
        figures = _Figures(self._plan.options)
        schema = PRETOKENS_FIRST_SEEN if self._plan.first_seen else PRETOKENS
        written = self._plan.files.write_parquet(name, map(figures.seeing, merged), schema)
        yield TablePart(
            name=name,
            rows=written.rows or 0,
            bytes=figures.bytes,
            pretokens=figures.pretokens,
            pretoken_bytes=figures.pretoken_bytes,
            forms=tuple((character, form, count) for (character, form), count in sorted(figures.forms.items())),
        )


class _Figures:
    """Sums over the rows that pass by."""

    def __init__(self, options: TrainOptions) -> None:
        self._form_rule = form_rule(options) if options.alphabet == "characters" else None
        self.bytes = 0
        self.pretokens = 0
        self.pretoken_bytes = 0
        self.forms: dict[tuple[int, int], int] = {}

    def seeing(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        pretokens: Any = rows["pretoken"]
        lengths = pc.binary_length(pretokens).to_numpy()
        counts = rows["count"].to_numpy()
        self.bytes += int(lengths.sum())
        self.pretokens += int(counts.sum())
        self.pretoken_bytes += int(np.dot(lengths, counts))
        if self._form_rule is not None:
            forms = _native.character_forms(rows, **self._form_rule)
            for character, form, count in zip(*(column.to_pylist() for column in forms.columns), strict=True):
                self.forms[character, form] = self.forms.get((character, form), 0) + count
        return rows


class _Conclude(beam.DoFn):  # type: ignore[misc]
    """Writes what the pass came to, once all of it is done."""

    def __init__(self, plan: PretokenPlan) -> None:
        self._plan = plan

    def process(
        self, _: bytes, parts: list[TablePart], tallies: list[tuple[Tally, ...]], bad: list[SplitBad]
    ) -> Iterator[None]:
        total = total_tally(itertools.chain.from_iterable(tallies))
        if bad:
            table = bad_records.number_bad_records(itertools.chain.from_iterable(tallies), bad)
            self._plan.files.write_parquet("bad_records/part-00000.parquet", table, BAD_RECORDS)
        counted = {
            "records": total.figures(),
            "text_bytes": total.text_bytes,
            "parts": [dataclasses.asdict(part) for part in sorted(parts, key=lambda part: part.name)],
        }
        self._plan.files.write_json(COUNTED, counted)
        yield from ()


def count_pretokens(
    pipeline: beam.Pipeline, plan: PretokenPlan, groups: Sequence[tuple[Split, ...]] | DealtFile
) -> None:
    """Apply the pass to a pipeline: it leaves ``pretokens/``, ``bad_records/`` and the figures in `COUNTED`.

    Args:
        pipeline: The pipeline.
        plan: What the pass needs to know.
        groups: What is read, as `InputPlan.groups` gives it.
    """
    read = pipeline | "Read" >> ReadDocuments(groups, plan.read, step=READ_STEP)
    parts = (
        read.documents
        | "Count pretokens" >> beam.ParDo(_CountPretokens(plan))
        | "Gather partitions" >> beam.GroupByKey()
        | "Merge pretokens" >> beam.ParDo(_MergePretokens(plan))
    )
    _ = (
        pipeline
        | "Conclude once" >> beam.Impulse()
        | "Write the figures"
        >> beam.ParDo(
            _Conclude(plan),
            beam.pvalue.AsList(parts),
            beam.pvalue.AsList(read.tallies),
            beam.pvalue.AsList(read.bad),
        )
    )


def in_global_window(value: object) -> WindowedValue:
    """Give an element as `finish_bundle` must."""
    window = GlobalWindow()
    return WindowedValue(value, window.max_timestamp(), [window])
