"""Straight lines and shares through the measured points of `pipelines.work_figures`."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from pipelines import work_figures as figures
from pipelines.work_figures import LINUX, MIX, TrainPoint


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fits:
    """Seconds of CPU and bytes, each for one of something; ``base`` is what a pipeline takes besides."""

    count_base: float
    count_a_byte: float
    partial_bytes_a_row: float
    table_bytes_a_row: float
    round_base: float
    round_a_symbol: float
    round_bytes_a_row: float
    merge_base: float
    merge_a_symbol: float

    @classmethod
    def through(cls, points: Sequence[TrainPoint]) -> "Fits":
        """Fit them to these trainings."""
        merging = [figures.MERGE_SECONDS_A_ROW * point.partial_rows for point in points]
        counting = [point.count_cpu - seconds for point, seconds in zip(points, merging, strict=True)]
        count_base, count_a_byte = _line([point.text_bytes for point in points], counting)
        symbols = [point.symbols for point in points]
        round_base, round_a_symbol = _line(symbols, [point.round_cpu for point in points])
        merge_base, merge_a_symbol = _line(symbols, [point.merge_cpu for point in points])
        distinct = [point.distinct for point in points]
        return cls(
            count_base=count_base,
            count_a_byte=count_a_byte,
            partial_bytes_a_row=_share([p.partial_bytes for p in points], [p.partial_rows for p in points]),
            table_bytes_a_row=_share([p.table_bytes for p in points], distinct),
            round_base=round_base,
            round_a_symbol=round_a_symbol,
            round_bytes_a_row=_share([p.round_bytes for p in points], distinct),
            merge_base=merge_base,
            merge_a_symbol=merge_a_symbol,
        )


def _line(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The base, 0 or more, and the slope of the line through points."""
    slope, base = np.polyfit(np.array(sizes, np.float64), np.array(seconds, np.float64), 1)
    return (float(base), float(slope)) if base >= 0 else (0.0, _share(seconds, sizes))


def _share(parts: Sequence[float], wholes: Sequence[float]) -> float:
    return sum(parts) / sum(wholes)


def rounds_for(needed: float, share: float, vocab_size: int) -> int:
    """How many rounds a training takes.

    Args:
        needed: Bytes that the driver would hold to make all merges in one round.
        share: Bytes that it may.
        vocab_size: Entries; more than were measured take as many more rounds.
    """
    if needed <= figures.OVER_BUDGET * share:
        return 1
    ratios, rounds = zip(*figures.ROUNDS, strict=True)
    (low, high), (fewer, more) = ratios[-2:], rounds[-2:]
    ratio = needed / share
    found = float(np.interp(math.log(ratio), np.log(ratios), rounds))
    if ratio > high:
        found = more + (more - fewer) / math.log(high / low) * math.log(ratio / high)
    return max(2, round(found * max(1.0, vocab_size / figures.ROUNDS_VOCAB_SIZE)))


FITS = Fits.through([*MIX, *LINUX])
