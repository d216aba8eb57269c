"""One merge round as a part of a pipeline: encode, count pairs, choose the threshold, cut segments, sum them.

What each step computes is in `tokenize_lib.merge_rounds`; here is who does it and what travels: pieces of the encoded
pretoken table, names of partial tables, and what was found out, never pretokens or pairs.

The steps are a chain, and all that a later step needs goes through the steps before it, under keys of its own. Side
inputs would say the same with less passing on. But Flink goes through the graph of a job as if it were a tree: where a
step has two ways back to the one before it, n rounds take 2**n of its steps, and a round with side inputs had dozens.
A chain keeps a rule by itself, too: nobody reads a file in the step that writes it, as between two there is a group.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.utils.windowed_value import WindowedValue

from pipelines.partial_tables import (
    PartialTable,
    concatenated,
    read_partial_table,
    read_partial_tables,
    write_partial_run,
    write_partial_tables,
)
from pipelines.pretoken_table import in_global_window
from pipelines.progress import advance
from pipelines.round_plan import Decision, Piece, RoundPlan, RoundResult, RoundSetting
from pipelines.run_files import RunFiles
from tokenize_lib import _native
from tokenize_lib.merge_rounds import RoundLimits, Threshold, choose_threshold, live_pairs, mergeable

SAMPLES = "samples"
"""Where in a round's folder the samples lie: a file for each piece whose pairs are counted."""

_PIECE_ROWS = 1 << 14  # rows that are encoded at a time
_PART = "part"
_PASSED = "passed"
_ALL = ("all", 0)
_OF_THE_ROUND = -1

Key = tuple[str, int]
"""What is grouped: partial tables by the number of their part; what passes a step, by the number of its piece."""

Keyed = tuple[Key, Any]
Group = tuple[Key, Iterable[Any]]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Some rows of a piece, by whose cutting the threshold is chosen."""

    number: int
    rows: PartialTable


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairSums:
    """The summed pairs of one part.

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
    """The summed segments of one part: the table, its rows and symbols, and the bytes that were summed."""

    segments: PartialTable | None
    rows: int
    symbols: int
    bytes: int


def round_elements(plan: RoundPlan, pieces: Iterable[Piece]) -> Iterator[Keyed]:
    """What a round begins with: its plan, and each piece with it."""
    yield (_PASSED, _OF_THE_ROUND), plan
    for piece in pieces:
        yield (_PASSED, piece.number), (plan, piece)


class MergeRound(beam.PTransform):  # type: ignore[misc]
    """A round up to its merging: of `round_elements` it makes a `RoundResult`, and of nothing, nothing."""

    def __init__(self, setting: RoundSetting) -> None:
        super().__init__()
        self._setting = setting

    def expand(self, elements: beam.PCollection) -> beam.PCollection:
        """Without the first group, all pieces would stay with the one worker that gave them."""
        setting = self._setting
        return (
            elements
            | "Deal pieces to workers" >> beam.GroupByKey()
            | "Count pairs" >> beam.ParDo(_CountPairs(setting))
            | "Gather pairs" >> beam.GroupByKey()
            | "Sum pairs" >> beam.ParDo(_SumPairs(setting))
            | "Gather sums" >> beam.GroupByKey()
            | "Choose threshold" >> beam.ParDo(_ChooseThreshold(setting))
            | "Deal encoded pieces to workers" >> beam.GroupByKey()
            | "Cut segments" >> beam.ParDo(_CutSegments(setting))
            | "Gather segments" >> beam.GroupByKey()
            | "Sum segments" >> beam.ParDo(_SumSegments(setting))
            | "Gather all" >> beam.GroupByKey()
            | "Conclude" >> beam.ParDo(_Conclude())
        )


class _CountPairs(beam.DoFn):  # type: ignore[misc]
    """Encodes a piece with the newest merges and counts its pairs, into one table a bundle."""

    def __init__(self, setting: RoundSetting) -> None:
        self._setting = setting

    def setup(self) -> None:
        self._encoder: _Encoder | None = None

    def start_bundle(self) -> None:
        self._counter = _native.PairCounter()

    def process(self, dealt: Group) -> Iterator[Keyed]:
        for element in dealt[1]:
            if isinstance(element, RoundPlan):
                yield dealt[0], element
            else:
                yield from self._count(*element)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._counter.distinct:
            yield from map(in_global_window, self._write())

    def _count(self, plan: RoundPlan, piece: Piece) -> Iterator[Keyed]:
        if self._encoder is None:  # plans of one round say the same
            self._encoder, self._plan = _Encoder(self._setting, plan), plan
        every = self._setting.rows_a_sample
        encoded: list[pa.RecordBatch] = []
        sample: list[pa.RecordBatch] = []
        row = 0
        for rows in self._encoder.encode(piece):
            self._counter.add(rows)
            sample.append(rows.take(pa.array(range(-row % every, rows.num_rows, every), pa.int64())))
            row += rows.num_rows
            if plan.encodes:
                encoded.append(rows)
            if self._counter.nbytes > self._setting.shares.worker_table:
                yield from self._write()
        key = (_PASSED, piece.number)
        if not plan.encodes:
            yield key, piece
        elif (symbols := self._written("symbols", encoded)) is not None:
            yield key, Piece(piece.number, symbols=symbols)
        if (sampled := self._written(SAMPLES, sample)) is not None:
            yield key, Sample(piece.number, sampled)
        advance(self._setting.step, units=1)

    def _write(self) -> Iterator[Keyed]:
        tables = self._counter.drain(self._setting.partitions)
        folder = f"{self._setting.folder}/partial-pairs"
        for part, table in write_partial_tables(self._setting.files, folder, tables):
            yield (_PART, part), (self._plan, table)

    def _written(self, folder: str, batches: list[pa.RecordBatch]) -> PartialTable | None:
        table = [concatenated(batches)] if batches else []
        return write_partial_run(self._setting.files, f"{self._setting.folder}/{folder}", table)


class _Encoder:
    """Reads the symbols of a piece."""

    def __init__(self, setting: RoundSetting, plan: RoundPlan) -> None:
        self._files = setting.files
        alphabet = setting.alphabet()
        self._alphabet = alphabet.kernel()
        self._merges = None
        if plan.encodes:
            first_id = alphabet.first_id + len(alphabet.symbols) + plan.encoded
            self._merges = _native.Merges(plan.new_merges(setting.files), first_id)

    def encode(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Give the symbols of the piece with all merges; rows that have become one symbol are left out."""
        for rows in self.read(piece):
            yield rows if self._merges is None else self._merges.apply(rows, drop_single=True)

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Give the symbols that the piece holds."""
        if piece.symbols is not None:
            yield from read_partial_table(self._files, piece.symbols)
        if piece.pretokens is not None:
            with self._files.open_parquet(piece.pretokens.name) as table:
                for rows in table.iter_batches(batch_size=_PIECE_ROWS, row_groups=[piece.pretokens.number]):
                    yield self._alphabet.encode(rows)


class _SumPart(beam.DoFn):  # type: ignore[misc]
    """Sums what was dealt to a part, and passes on what was not to be summed."""

    def __init__(self, setting: RoundSetting) -> None:
        self._setting = setting

    def process(self, gathered: Group) -> Iterator[Keyed]:
        (kind, _), elements = gathered
        if kind == _PASSED:
            yield from ((_ALL, element) for element in elements)
        else:
            yield _ALL, self._sum(list(elements))

    def _sum(self, elements: list[Any]) -> object:
        raise NotImplementedError


class _SumPairs(_SumPart):
    """Sums the partial counts of a part and keeps the pairs that may still be merged."""

    def _sum(self, counted: list[tuple[RoundPlan, PartialTable]]) -> PairSums:
        files, plan = self._setting.files, counted[0][0]
        partials = [table for _, table in counted]
        counter = _native.PairCounter()
        for pairs in read_partial_tables(files, partials):
            counter.add_pairs(pairs)
        distinct = counter.distinct
        [sums] = counter.drain(1)
        kept = mergeable(sums, self._setting.options, plan.token_column(files, "length"))
        written = write_partial_run(files, f"{self._setting.folder}/pairs", [kept])
        return PairSums(pairs=written, distinct=distinct, bytes=sum(table.bytes for table in partials))


class _ChooseThreshold(beam.DoFn):  # type: ignore[misc]
    """Decides the threshold, on the sampled rows and the true counts of all pairs."""

    def __init__(self, setting: RoundSetting) -> None:
        self._setting = setting

    def process(self, gathered: Group) -> Iterator[Keyed]:
        found = _by_type(gathered[1])
        [plan] = found[RoundPlan]
        decision = self._decide(plan, found[PairSums], found[Sample])
        yield (_PASSED, _OF_THE_ROUND), decision
        for piece in found[Piece]:
            yield (_PASSED, piece.number), (decision, piece)

    def _decide(self, plan: RoundPlan, sums: list[PairSums], samples: list[Sample]) -> Decision:
        setting = self._setting
        pairs = tuple(part.pairs for part in sums if part.pairs is not None)
        # The estimate looks at the beginning of a sample, too: its rows have one order, whoever wrote them.
        samples.sort(key=lambda sample: sample.number)
        sample = _native.ThresholdSample(
            [batch for s in samples for batch in read_partial_table(setting.files, s.rows)]
        )
        for batch in read_partial_tables(setting.files, pairs):
            sample.add_pairs(batch)
        limits = RoundLimits(
            budget=setting.shares.driver_table,
            correction=plan.correction,
            lowest=setting.options.min_frequency,
            ceiling=plan.ceiling,
        )
        distinct = sum(part.distinct for part in sums)
        threshold = choose_threshold(sample, limits, rows_a_sample=setting.rows_a_sample, distinct_pairs=distinct)
        return Decision(
            plan=plan,
            threshold=threshold,
            pairs=pairs,
            live=None if threshold.every_pair_is_live else self._write_live(pairs, threshold),
            bytes=sum(part.bytes for part in sums),
        )

    def _write_live(self, pairs: tuple[PartialTable, ...], threshold: Threshold) -> PartialTable | None:
        live = live_pairs(read_partial_tables(self._setting.files, pairs), threshold.threshold)
        return write_partial_run(self._setting.files, f"{self._setting.folder}/live", live)


class _CutSegments(beam.DoFn):  # type: ignore[misc]
    """Cuts encoded pieces where a pair is not live, and sums equal segments into one table a bundle.

    Where few segments are equal, they go to the one who merges as they are: merging them gives the same.
    """

    def __init__(self, setting: RoundSetting) -> None:
        self._setting = setting

    def setup(self) -> None:
        self._counter: _native.SegmentCounter | None = None

    def start_bundle(self) -> None:
        if self._counter is not None and self._counter.segments:  # of a bundle that failed, and comes again
            self._counter = None

    def process(self, dealt: Group) -> Iterator[Keyed]:
        for element in dealt[1]:
            if isinstance(element, Decision):
                yield dealt[0], element
            else:
                decision, piece = element
                yield dealt[0], piece
                yield from self._cut(decision, piece)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._counter is not None and self._counter.segments:
            yield from map(in_global_window, self._write(self._counter))

    def _cut(self, decision: Decision, piece: Piece) -> Iterator[Keyed]:
        if self._counter is None:  # decisions of one round say the same
            self._counter = _segment_counter(self._setting.files, decision)
            self._encoder = _Encoder(self._setting, decision.plan)
            self._sums = decision.threshold.sum_segments
            self._widths = decision.plan.token_column(self._setting.files, "width")
        for rows in self._encoder.read(piece):
            self._counter.add(rows, self._widths)
            if self._counter.nbytes > self._setting.shares.worker_table:
                yield from self._write(self._counter)
        advance(self._setting.step, units=1)

    def _write(self, counter: _native.SegmentCounter) -> Iterator[Keyed]:
        files, folder = self._setting.files, f"{self._setting.folder}/partial-segments"
        if self._sums:
            for part, table in write_partial_tables(files, folder, counter.drain(self._setting.partitions)):
                yield (_PART, part), table
            return
        rows, symbols = counter.segments, counter.symbols
        for _, table in write_partial_tables(files, folder, counter.drain(1)):
            sums = SegmentSums(segments=table, rows=rows, symbols=symbols, bytes=table.bytes)
            yield (_PASSED, _OF_THE_ROUND), sums


def _segment_counter(files: RunFiles, decision: Decision) -> _native.SegmentCounter:
    sums = decision.threshold.sum_segments
    if decision.threshold.every_pair_is_live:
        return _native.SegmentCounter(sums=sums)
    live = [] if decision.live is None else list(read_partial_table(files, decision.live))
    return _native.SegmentCounter(live, sums=sums)


class _SumSegments(_SumPart):
    """Sums the segments of a part."""

    def _sum(self, partials: list[PartialTable]) -> SegmentSums:
        files = self._setting.files
        counter = _native.SegmentCounter()
        for segments in read_partial_tables(files, partials):
            counter.add(segments)
        rows, symbols = counter.segments, counter.symbols
        written = write_partial_run(files, f"{self._setting.folder}/segments", counter.drain(1))
        return SegmentSums(
            segments=written, rows=rows, symbols=symbols, bytes=sum(partial.bytes for partial in partials)
        )


class _Conclude(beam.DoFn):  # type: ignore[misc]
    """Puts together what is to be merged, once the round's workers are done."""

    def process(self, gathered: Group) -> Iterator[RoundResult]:
        found = _by_type(gathered[1])
        [decision] = found[Decision]
        segments: list[SegmentSums] = found[SegmentSums]
        yield RoundResult(
            decision=decision,
            segments=tuple(part.segments for part in segments if part.segments is not None),
            segment_rows=sum(part.rows for part in segments),
            segment_symbols=sum(part.symbols for part in segments),
            bytes_shuffled=decision.bytes + sum(part.bytes for part in segments),
            pieces=tuple(sorted(found[Piece], key=lambda piece: piece.number)),
        )


def _by_type(elements: Iterable[Any]) -> dict[type, list[Any]]:
    found: dict[type, list[Any]] = {kind: [] for kind in (RoundPlan, Decision, Piece, Sample, PairSums, SegmentSums)}
    for element in elements:
        found[type(element)].append(element)
    return found
