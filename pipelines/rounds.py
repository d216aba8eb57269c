"""The driver of the rounds: a pipeline each, and the merging between them in this process."""

import dataclasses
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from pipelines.memory import MemoryShares
from pipelines.merge_round import Piece, RoundPlan, RoundResult, RowGroup, merge_round
from pipelines.partial_tables import read_partial_tables, write_partial_tables
from pipelines.progress import Talk
from pipelines.run_files import RunFiles
from pipelines.runner import RuntimeOptions, run_pipeline
from tokenize_lib import _native, merge_rounds
from tokenize_lib.merge_rounds import MergeState, live_pairs, make_merges, round_bytes
from tokenize_lib.start_alphabet import StartAlphabet

_MAX_COUNT = 2**63 - 1
_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 1 << 19, 1 << 22  # bytes of pretokens
_SMALLEST_SAMPLE_ROWS = 256  # a few long pretokens tell nothing of the others
_LEAST_CORRECTION = 1 / 32
_TOLERANCE = 1.25  # of the estimate: cutting again costs a little, too
_PARTITIONS = 16  # of the pairs and segments of a round; no file that stays tells it


@dataclasses.dataclass(frozen=True)
class RoundSetting:
    """Where rounds are run, and with what.

    Attributes:
        files: The run's files.
        shares: What worker and driver may hold.
        runtime: Where the pipelines run.
        talk: Where progress is told.
    """

    files: RunFiles
    shares: MemoryShares
    runtime: RuntimeOptions
    talk: Talk


@dataclasses.dataclass(frozen=True)
class TableSize:
    """The bytes of the distinct pretokens, and how many they are."""

    bytes: int
    rows: int


class Rounds:
    """The rounds of a training run; each is kept when it is done, so a stopped run goes on behind the last one.

    Args:
        setting: Where they run.
        alphabet: The start alphabet, and what is trained.
        pieces: The pretoken table.
        size: How large it is.
    """

    def __init__(
        self, setting: RoundSetting, alphabet: StartAlphabet, pieces: Sequence[RowGroup], size: TableSize
    ) -> None:
        self._setting = setting
        self._runtime = setting.runtime.for_work(size.bytes)
        self._files = setting.files
        self._state = MergeState.start(alphabet)
        self._pieces: tuple[Piece, ...] = tuple(pieces)
        self._merges_in_pieces = 0
        self._correction = 1.0
        sample_bytes = min(max(size.bytes // 64, _SMALLEST_SAMPLE), _LARGEST_SAMPLE)
        rows_a_sample = min(math.ceil(size.bytes / sample_bytes), size.rows // _SMALLEST_SAMPLE_ROWS)
        self._rows_a_sample = max(rows_a_sample, 1)
        self.rows: list[dict[str, Any]] = []
        """Rows of ``rounds.parquet``."""

    def run(self) -> MergeState:
        """Make all merges that there are."""
        while kept := self._files.read_json(_kept(len(self.rows) + 1)):
            self._state = self._state.and_then(_merges_of(kept["merges"]))
            self.rows.append(kept["row"])
            self._correction = kept["correction"]
        while self._state.merges_left and not self._exhausted:
            self._round()
        return self._state

    @property
    def _exhausted(self) -> bool:
        """Whether the last round's threshold was the lowest there is."""
        return bool(self.rows) and self.rows[-1]["threshold"] <= self._state.options.min_frequency

    def _round(self) -> None:
        number = len(self.rows) + 1
        started = time.monotonic()
        plan = self._plan(f".work/round-{number:04d}")
        with self._setting.talk.step(
            f"Round {number}: pairs and segments",
            step=plan.step,
            total=2 * len(plan.pieces),
            unit="units",
            unit_name="pieces",
        ):
            run_pipeline(lambda pipeline: merge_round(pipeline, plan), self._runtime, f"round {number}")
        result = RoundResult.read(plan)
        segments, threshold = self._segments(plan, result)
        with self._setting.talk.step(
            f"Round {number}: merges", step="merge", total=self._state.merges_left, unit="units", unit_name="merges"
        ) as progress:
            merges = make_merges(
                self._state, segments, threshold, lambda done: progress.advance(units=done - progress.done)
            )
            progress.advance(units=merges.num_rows - progress.done)
        row = {
            "round": number,
            "threshold": threshold,
            "best_count": result.threshold.best_count,
            "live_pairs": result.threshold.live_pairs,
            "distinct_pairs": result.threshold.distinct_pairs,
            "segments": result.segment_rows,
            "segment_symbols": result.segment_symbols,
            "first_rank": self._state.merges.num_rows,
            "merges": merges.num_rows,
            "seconds": time.monotonic() - started,
            "bytes_shuffled": result.bytes_shuffled,
        }
        actual = _driver_bytes(result)
        if actual < result.threshold.estimated_bytes:
            self._correction = max(self._correction * actual / result.threshold.estimated_bytes, _LEAST_CORRECTION)
        else:
            self._correction = 1.0
        kept = {"row": row, "merges": merges.to_pydict(), "correction": self._correction}
        self._files.write_json(_kept(number), kept)
        self._pieces, self._merges_in_pieces = result.pieces, self._state.merges.num_rows
        self._state = self._state.and_then(merges)
        self.rows.append(row)
        self._forget_all_but(plan.folder)

    def _plan(self, folder: str) -> RoundPlan:
        state = self._state
        merges = tokens = None
        if state.merges.num_rows > self._merges_in_pieces:
            fresh = state.merges.slice(self._merges_in_pieces).select(["left", "right"]).combine_chunks()
            [(_, merges)] = write_partial_tables(self._files, f"{folder}/merges", fresh.to_batches())
        if state.options.tie_break == "first-seen" or state.options.max_token_length is not None:
            sizes = pa.RecordBatch.from_pydict({"length": state.lengths(), "width": state.widths()})
            [(_, tokens)] = write_partial_tables(self._files, f"{folder}/tokens", [sizes])
        return RoundPlan(
            files=self._files,
            folder=folder,
            alphabet=state.alphabet,
            pieces=self._pieces,
            merges=merges,
            first_merge_id=state.first_merge_id + self._merges_in_pieces,
            tokens=tokens,
            rows_a_sample=self._rows_a_sample,
            correction=self._correction,
            ceiling=self.rows[-1]["threshold"] if self.rows else _MAX_COUNT,
            partitions=_PARTITIONS,
            shares=self._setting.shares,
        )

    def _segments(self, plan: RoundPlan, result: RoundResult) -> tuple[_native.SegmentList, int]:
        """Give the segments, cut again while they are over the budget, and the threshold they are cut at now.

        A segment for a higher threshold is a run inside one for a lower, so the pretoken table is not read again.
        """
        threshold = result.threshold
        segments: Iterable[pa.RecordBatch] = read_partial_tables(plan.files, result.segments)
        size = _driver_bytes(result)
        lowest = threshold.threshold
        highest = max(min(threshold.best_count, plan.ceiling - 1), lowest)
        while size > _TOLERANCE * self._setting.shares.driver_table and lowest < highest:
            lowest = min(2 * lowest, highest)
            live = live_pairs(read_partial_tables(plan.files, result.pairs), lowest)
            counter = _native.SegmentCounter(live)
            for batch in read_partial_tables(plan.files, result.segments):
                counter.add(batch, plan.token_column("width"))
            size = round_bytes(
                segments=counter.segments, symbols=counter.symbols, live_pairs=sum(batch.num_rows for batch in live)
            )
            segments = counter.drain(1)
        table = _native.SegmentList()
        for batch in segments:
            table.add(batch)
        return table, lowest

    def _forget_all_but(self, folder: str) -> None:
        """Remove what rounds before this one left: only the newest encoded table is of use."""
        self._files.remove(
            name
            for name in self._files.list()
            if name.startswith((".work/round-", ".work/partial-")) and not name.startswith(f"{folder}/")
        )


def _driver_bytes(result: RoundResult) -> float:
    return round_bytes(
        segments=result.segment_rows,
        symbols=result.segment_symbols,
        live_pairs=result.threshold.live_pairs,
    )


def _kept(number: int) -> str:
    return f".work/rounds/{number:04d}.json"


def _merges_of(columns: dict[str, list[int]]) -> pa.Table:
    return pa.Table.from_pydict(columns, schema=merge_rounds.MERGES)
