"""The merging of a round, and the plan of the next: what the driver does between two jobs, and a step within one."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import pyarrow as pa

from pipelines.partial_tables import read_partial_tables, write_partial_tables
from pipelines.round_plan import RoundPlan, RoundResult, RoundSetting
from pipelines.run_files import WORK, RunFiles
from tokenize_lib import _native
from tokenize_lib.merge_rounds import MERGES, MergeState, live_pairs, make_merges, round_bytes

_LEAST_CORRECTION = 1 / 32
_TOLERANCE = 1.25  # of the estimate: cutting again costs a little, too
_MAX_COUNT = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class MergedRound:
    """A round that is done. Its file is all that a stopped run needs of it.

    Attributes:
        row: The round's row of ``rounds.parquet``.
        merges: What it merged, as `tokenize_lib.merge_rounds.MERGES`.
        correction: What part of its estimate its segment table was, for the next round's estimate.
    """

    row: Mapping[str, Any]
    merges: pa.Table
    correction: float

    def keep(self, files: RunFiles) -> None:
        """Write it for `kept`. A round that is repeated makes the same merges, so it may write over its own file."""
        content = {"row": dict(self.row), "merges": self.merges.to_pydict(), "correction": self.correction}
        files.write_bytes(kept_name(self.row["round"]), json.dumps(content).encode())

    @classmethod
    def kept(cls, files: RunFiles, number: int, state: MergeState) -> Self | None:
        """Read what was kept of a round; None when it is not done.

        Nor is it when it does not go on from `state`. A job that outlived its driver may have kept rounds of its own
        beside those of a later run: each is exact, but ranks must not be missing between one and the next.
        """
        found = files.read_json(kept_name(number))
        if found is None or found["row"]["first_rank"] != state.merges.num_rows:
            return None
        return cls(found["row"], pa.Table.from_pydict(found["merges"], schema=MERGES), found["correction"])

    def was_last(self, state: MergeState) -> bool:
        """Whether nothing is left to be merged in the `state` behind it."""
        return not state.merges_left or self.row["threshold"] <= state.options.min_frequency


def plan_round(setting: RoundSetting, state: MergeState, last: MergedRound | None, *, encoded: int) -> RoundPlan:
    """Plan the setting's round, and write what its workers need.

    Args:
        setting: Of the round.
        state: Before it.
        last: The round before it, if there was one.
        encoded: How many merges the pieces of the table hold.
    """
    files, options = setting.files, state.options
    merges = tokens = None
    if state.merges.num_rows:
        batches = state.merges.combine_chunks().to_batches()
        [(_, merges)] = write_partial_tables(files, f"{setting.folder}/merges", batches)
    if options.tie_break == "first-seen" or options.max_token_length is not None:
        sizes = pa.RecordBatch.from_pydict({"length": state.lengths(), "width": state.widths()})
        [(_, tokens)] = write_partial_tables(files, f"{setting.folder}/tokens", [sizes])
    return RoundPlan(
        merges=merges,
        made=state.merges.num_rows,
        encoded=encoded,
        tokens=tokens,
        ceiling=last.row["threshold"] if last else _MAX_COUNT,
        correction=last.correction if last else 1.0,
        started=time.time(),
    )


def finish_round(
    setting: RoundSetting, state: MergeState, result: RoundResult, tick: Callable[[int], object]
) -> MergedRound:
    """Merge what the round's workers left, and keep it.

    Args:
        setting: Of the round.
        state: Before it.
        result: What the workers left.
        tick: Told now and then how many merges are made.
    """
    segments, threshold = _segments(setting, result)
    merges = make_merges(state, segments, threshold, tick)
    row = {
        "round": setting.number,
        "threshold": threshold,
        "best_count": result.threshold.best_count,
        "live_pairs": result.threshold.live_pairs,
        "distinct_pairs": result.threshold.distinct_pairs,
        "segments": result.segment_rows,
        "segment_symbols": result.segment_symbols,
        "first_rank": state.merges.num_rows,
        "merges": merges.num_rows,
        "seconds": max(time.time() - result.plan.started, 0.0),  # the clocks of two machines may differ
        "bytes_shuffled": result.bytes_shuffled,
    }
    merged = MergedRound(row, merges, _correction(result))
    merged.keep(setting.files)
    return merged


def _segments(setting: RoundSetting, result: RoundResult) -> tuple[_native.SegmentList, int]:
    """Give the segments, cut again while they are over the budget, and the threshold they are cut at now.

    A segment for a higher threshold is a run inside one for a lower, so the pretoken table is not read again.
    """
    files, threshold = setting.files, result.threshold
    segments: Iterable[pa.RecordBatch] = read_partial_tables(files, result.segments)
    size = _table_bytes(result)
    lowest = threshold.threshold
    highest = max(min(threshold.best_count, result.plan.ceiling - 1), lowest)
    widths = result.plan.token_column(files, "width")
    while size > _TOLERANCE * setting.shares.driver_table and lowest < highest:
        lowest = min(2 * lowest, highest)
        live = live_pairs(read_partial_tables(files, result.decision.pairs), lowest)
        counter = _native.SegmentCounter(live)
        for batch in read_partial_tables(files, result.segments):
            counter.add(batch, widths)
        size = round_bytes(
            segments=counter.segments, symbols=counter.symbols, live_pairs=sum(batch.num_rows for batch in live)
        )
        segments = counter.drain(1)
    table = _native.SegmentList()
    for batch in segments:
        table.add(batch)
    return table, lowest


def _correction(result: RoundResult) -> float:
    actual, estimated = _table_bytes(result), result.threshold.estimated_bytes
    return max(result.plan.correction * actual / estimated, _LEAST_CORRECTION) if actual < estimated else 1.0


def _table_bytes(result: RoundResult) -> float:
    """What the segment table takes while it is merged."""
    return round_bytes(
        segments=result.segment_rows, symbols=result.segment_symbols, live_pairs=result.threshold.live_pairs
    )


def kept_name(number: int) -> str:
    """Name of the file of a round that is done."""
    return f"{WORK}/rounds/{number:04d}.json"
