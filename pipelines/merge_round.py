"""One merge round as one pipeline: encode, count pairs, choose the threshold, cut segments, sum them.

What each step computes is in `tokenize_lib.merge_rounds`; here is who does it and what travels. Elements are pieces of
the encoded pretoken table and partial tables, never pretokens or pairs.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, cast

import apache_beam as beam
import pyarrow as pa
from apache_beam.utils.windowed_value import WindowedValue

from pipelines.dealing import Deal
from pipelines.memory import MemoryShares
from pipelines.partial_tables import (
    PartialTable,
    concatenated,
    read_partial_table,
    read_partial_tables,
    write_partial_tables,
)
from pipelines.pretoken_table import in_global_window
from pipelines.progress import advance
from pipelines.run_files import RunFiles
from tokenize_lib import _native
from tokenize_lib.merge_rounds import RoundLimits, Threshold, choose_threshold, live_pairs, mergeable
from tokenize_lib.start_alphabet import StartAlphabet

_PIECE_ROWS = 1 << 14  # rows that are encoded at a time


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """A piece of the pretoken table, not encoded yet."""

    name: str
    number: int


Piece = RowGroup | PartialTable
"""A piece of the table: pretokens, or their symbols as an earlier round left them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """What the round needs to know, wherever it runs.

    Attributes:
        files: The run's files.
        folder: Where in them the round's own lie.
        alphabet: The start alphabet, and what is trained.
        pieces: The table.
        merges: The merges that the pieces do not hold yet: a table left, right; None when there are none.
        first_merge_id: Id of the token that the first of them makes.
        tokens: A table with the length and the width of every token by id; None where nothing asks for it.
        rows_a_sample: A row of so many goes into the sample that decides the threshold.
        ceiling: The threshold must be under this.
        correction: What part of its estimate the table of the round before turned out to be.
        partitions: Into how many parts pairs and segments are dealt.
        shares: What worker and driver may hold.
    """

    files: RunFiles
    folder: str
    alphabet: StartAlphabet
    pieces: tuple[Piece, ...]
    merges: PartialTable | None
    first_merge_id: int
    tokens: PartialTable | None
    rows_a_sample: int
    ceiling: int
    correction: float
    partitions: int
    shares: MemoryShares

    @property
    def step(self) -> str:
        """The name under which progress is told, in pieces, each counted twice: for its pairs and for its segments."""
        return self.folder

    @property
    def result(self) -> str:
        """Name of the file that says what came out."""
        return f"{self.folder}/round.json"

    def token_column(self, name: str) -> "pa.UInt32Array | None":
        """The length or the width of every token, if it was asked for."""
        if self.tokens is None:
            return None
        sizes: Any = pa.Table.from_batches(read_partial_table(self.files, self.tokens))[name].combine_chunks()
        return cast("pa.UInt32Array", sizes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairSums:
    """The summed pairs of one partition.

    Attributes:
        pairs: Those that may still be merged; None where there are none.
        distinct: How many pairs there are in all.
        bytes: Of the partial tables that were summed.
    """

    pairs: PartialTable | None
    distinct: int
    bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SegmentSums:
    """The summed segments of one partition: the table, its rows and symbols, and the bytes that were summed."""

    segments: PartialTable | None
    rows: int
    symbols: int
    bytes: int


class _CountPairs(beam.DoFn):  # type: ignore[misc]
    """Encodes a piece with the newest merges and counts its pairs, into one table a bundle."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def setup(self) -> None:
        self._encoder = _Encoder(self._plan)

    def start_bundle(self) -> None:
        self._counter = _native.PairCounter()

    def process(self, piece: Piece) -> Iterator[Any]:
        encoded: list[pa.RecordBatch] = []
        sample: list[pa.RecordBatch] = []
        row = 0
        for rows in self._encoder.encode(piece):
            self._counter.add(rows)
            sampled = range(-row % self._plan.rows_a_sample, rows.num_rows, self._plan.rows_a_sample)
            sample.append(rows.take(pa.array(sampled, pa.int64())))
            row += rows.num_rows
            if self._plan.merges is not None:
                encoded.append(rows)
            if self._counter.nbytes > self._plan.shares.worker_table:
                yield from self._write()
        if self._plan.merges is None:
            yield beam.pvalue.TaggedOutput("encoded", piece)
        elif encoded:
            yield from self._tagged("encoded", "symbols", encoded)
        if sample:
            yield from self._tagged("samples", "sample", sample)
        advance(self._plan.step, units=1)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._counter.distinct:
            yield from map(in_global_window, self._write())

    def _write(self) -> Iterator[tuple[int, PartialTable]]:
        tables = self._counter.drain(self._plan.partitions)
        return write_partial_tables(self._plan.files, f"{self._plan.folder}/partial-pairs", tables)

    def _tagged(self, tag: str, folder: str, batches: list[pa.RecordBatch]) -> Iterator[Any]:
        table = concatenated(batches)
        for _, written in write_partial_tables(self._plan.files, f"{self._plan.folder}/{folder}", [table]):
            yield beam.pvalue.TaggedOutput(tag, written)


class _Encoder:
    """Reads the symbols of a piece."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan
        self._alphabet = plan.alphabet.kernel()
        self._merges = None
        if plan.merges is not None:
            merges = concatenated(read_partial_table(plan.files, plan.merges))
            self._merges = _native.Merges(merges, plan.first_merge_id)

    def encode(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Give the symbols of the piece with all merges; rows that have become one symbol are left out."""
        for rows in self.read(piece):
            yield rows if self._merges is None else self._merges.apply(rows, drop_single=True)

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Give the symbols that the piece holds."""
        if isinstance(piece, PartialTable):
            yield from read_partial_table(self._plan.files, piece)
            return
        with self._plan.files.open_parquet(piece.name) as table:
            for rows in table.iter_batches(batch_size=_PIECE_ROWS, row_groups=[piece.number]):
                yield self._alphabet.encode(rows)


class _SumPairs(beam.DoFn):  # type: ignore[misc]
    """Sums the partial counts of a partition and keeps the pairs that may still be merged."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def process(self, partition: tuple[int, Iterable[PartialTable]]) -> Iterator[PairSums]:
        _, partials = partition
        partials = list(partials)
        counter = _native.PairCounter()
        for pairs in read_partial_tables(self._plan.files, partials):
            counter.add_pairs(pairs)
        distinct = counter.distinct
        [sums] = counter.drain(1)
        kept = mergeable(sums, self._plan.alphabet.options, self._plan.token_column("length"))
        written = dict(write_partial_tables(self._plan.files, f"{self._plan.folder}/pairs", [kept]))
        yield PairSums(pairs=written.get(0), distinct=distinct, bytes=sum(partial.bytes for partial in partials))


class _ChooseThreshold(beam.DoFn):  # type: ignore[misc]
    """Decides the threshold, on the sampled rows and the true counts of all pairs."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def process(self, _: bytes, sums: list[PairSums], samples: list[PartialTable]) -> Iterator[Threshold]:
        plan = self._plan
        sample = _native.ThresholdSample(list(read_partial_tables(plan.files, samples)))
        for pairs in read_partial_tables(plan.files, pair_tables(sums)):
            sample.add_pairs(pairs)
        limits = RoundLimits(
            budget=plan.shares.driver_table,
            correction=plan.correction,
            lowest=plan.alphabet.options.min_frequency,
            ceiling=plan.ceiling,
        )
        distinct_pairs = sum(part.distinct for part in sums)
        yield choose_threshold(sample, limits, rows_a_sample=plan.rows_a_sample, distinct_pairs=distinct_pairs)


class _CutSegments(beam.DoFn):  # type: ignore[misc]
    """Cuts encoded pieces where a pair is not live, and sums equal segments into one table a bundle.

    Where few segments are equal, they go to the driver as they are, by the output ``unsummed``: merging them gives the
    same.
    """

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def setup(self) -> None:
        self._encoder = _Encoder(self._plan)
        self._counter: _native.SegmentCounter | None = None

    def process(self, piece: Piece, threshold: Threshold, sums: list[PairSums]) -> Iterator[Any]:
        if self._counter is None:
            self._counter = segment_counter(self._plan, threshold, sums)
            self._sums = threshold.sum_segments
            self._widths = self._plan.token_column("width")
        for rows in self._encoder.read(piece):
            self._counter.add(rows, self._widths)
            if self._counter.nbytes > self._plan.shares.worker_table:
                yield from self._write(self._counter)
        advance(self._plan.step, units=1)

    def finish_bundle(self) -> Iterator[Any]:
        if self._counter is not None and self._counter.segments:
            for element in self._write(self._counter):
                if isinstance(element, beam.pvalue.TaggedOutput):
                    yield beam.pvalue.TaggedOutput(element.tag, in_global_window(element.value))
                else:
                    yield in_global_window(element)

    def _write(self, counter: _native.SegmentCounter) -> Iterator[Any]:
        folder = f"{self._plan.folder}/partial-segments"
        if self._sums:
            yield from write_partial_tables(self._plan.files, folder, counter.drain(self._plan.partitions))
            return
        rows, symbols = counter.segments, counter.symbols
        for _, table in write_partial_tables(self._plan.files, folder, counter.drain(1)):
            part = SegmentSums(segments=table, rows=rows, symbols=symbols, bytes=table.bytes)
            yield beam.pvalue.TaggedOutput("unsummed", part)


class _SumSegments(beam.DoFn):  # type: ignore[misc]
    """Sums the segments of a partition."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def process(self, partition: tuple[int, Iterable[PartialTable]]) -> Iterator[SegmentSums]:
        _, partials = partition
        partials = list(partials)
        counter = _native.SegmentCounter()
        for segments in read_partial_tables(self._plan.files, partials):
            counter.add(segments)
        rows, symbols = counter.segments, counter.symbols
        written = dict(write_partial_tables(self._plan.files, f"{self._plan.folder}/segments", counter.drain(1)))
        size = sum(partial.bytes for partial in partials)
        yield SegmentSums(segments=written.get(0), rows=rows, symbols=symbols, bytes=size)


class _Conclude(beam.DoFn):  # type: ignore[misc]
    """Writes what the driver needs, once the round's workers are done."""

    def __init__(self, plan: RoundPlan) -> None:
        self._plan = plan

    def process(
        self,
        _: bytes,
        threshold: Threshold,
        pairs: list[PairSums],
        segments: list[SegmentSums],
        unsummed: list[SegmentSums],
        encoded: list[Piece],
    ) -> Iterator[None]:
        segments = [*segments, *unsummed]
        RoundResult(
            threshold=threshold,
            pairs=tuple(pair_tables(pairs)),
            segments=tuple(part.segments for part in segments if part.segments is not None),
            segment_rows=sum(part.rows for part in segments),
            segment_symbols=sum(part.symbols for part in segments),
            bytes_shuffled=sum(part.bytes for part in pairs) + sum(part.bytes for part in segments),
            pieces=tuple(encoded),
        ).write(self._plan)
        yield from ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundResult:
    """What a round's workers leave to the driver.

    Attributes:
        threshold: What was decided.
        pairs: Tables of the pairs that may still be merged.
        segments: Tables of the summed segments.
        segment_rows: Distinct segments.
        segment_symbols: Symbols in them.
        bytes_shuffled: Bytes of the partial tables that were summed.
        pieces: The encoded table, for the next round.
    """

    threshold: Threshold
    pairs: tuple[PartialTable, ...]
    segments: tuple[PartialTable, ...]
    segment_rows: int
    segment_symbols: int
    bytes_shuffled: int
    pieces: tuple[Piece, ...]

    def write(self, plan: RoundPlan) -> None:
        """Write it where `read` looks for it."""
        plan.files.write_json(plan.result, dataclasses.asdict(self))

    @classmethod
    def read(cls, plan: RoundPlan) -> "RoundResult":
        """Read what the round's pipeline wrote."""
        found = plan.files.read_json(plan.result)
        return cls(
            **{
                **found,
                "threshold": Threshold(**found["threshold"]),
                "pairs": tuple(PartialTable(**table) for table in found["pairs"]),
                "segments": tuple(PartialTable(**table) for table in found["segments"]),
                "pieces": tuple(
                    RowGroup(**piece) if "number" in piece else PartialTable(**piece) for piece in found["pieces"]
                ),
            }
        )


def pair_tables(sums: Iterable[PairSums]) -> list[PartialTable]:
    """The tables of all partitions."""
    return [part.pairs for part in sums if part.pairs is not None]


def segment_counter(plan: RoundPlan, threshold: Threshold, sums: Iterable[PairSums]) -> _native.SegmentCounter:
    """A counter that cuts at the threshold."""
    if threshold.every_pair_is_live:
        return _native.SegmentCounter(sums=threshold.sum_segments)
    live = live_pairs(read_partial_tables(plan.files, pair_tables(sums)), threshold.threshold)
    return _native.SegmentCounter(live, sums=threshold.sum_segments)


def merge_round(pipeline: beam.Pipeline, plan: RoundPlan) -> None:
    """Apply the round to a pipeline: it leaves a `RoundResult`."""
    as_list, as_singleton = beam.pvalue.AsList, beam.pvalue.AsSingleton
    counted = (
        pipeline
        | "Deal pieces to workers" >> Deal(plan.pieces)
        | "Count pairs" >> beam.ParDo(_CountPairs(plan)).with_outputs("encoded", "samples", main="pairs")
    )
    sums = counted.pairs | "Gather pairs" >> beam.GroupByKey() | "Sum pairs" >> beam.ParDo(_SumPairs(plan))
    threshold = (
        pipeline
        | "Choose once" >> beam.Impulse()
        | "Choose threshold" >> beam.ParDo(_ChooseThreshold(plan), as_list(sums), as_list(counted.samples))
    )
    cut = counted.encoded | "Cut segments" >> beam.ParDo(
        _CutSegments(plan), as_singleton(threshold), as_list(sums)
    ).with_outputs("unsummed", main="partial")
    segments = cut.partial | "Gather segments" >> beam.GroupByKey() | "Sum segments" >> beam.ParDo(_SumSegments(plan))
    _ = (
        pipeline
        | "Conclude once" >> beam.Impulse()
        | "Write the result"
        >> beam.ParDo(
            _Conclude(plan),
            as_singleton(threshold),
            as_list(sums),
            as_list(segments),
            as_list(cut.unsummed),
            as_list(counted.encoded),
        )
    )
