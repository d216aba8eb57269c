"""The parts in which a dataset is counted: a part is read by one worker, and is one file of ``documents/``.

Which records a part has depends on the names and sizes of the input files alone, so that its bytes do, too.
"""

from dataclasses import dataclass

from pipelines.inputs import InputPlan, Split
from pipelines.splits import group_splits

_LEAST_PART_BYTES = 8 << 20
_LARGE_PART_BYTES = 128 << 20
_WANTED_PARTS = 256
_MOST_PARTS = 4096
_FILE_COST = 8 << 10  # opening a file takes about as long as counting this many bytes


@dataclass(frozen=True)
class CountPart:
    """Consecutive splits, in the order of files and places in them."""

    number: int
    splits: tuple[Split, ...]

    @property
    def name(self) -> str:
        """The file of the part's documents."""
        return f"documents/part-{self.number:05d}.parquet"

    @property
    def work(self) -> int:
        """An estimate of the bytes to be processed."""
        return sum(split.work + _FILE_COST for split in self.splits)


def part_bytes(total: int) -> int:
    """Give the size of a part of an input of `total` bytes: some hundred parts, then larger ones, then thousands."""
    return max(min(max(total // _WANTED_PARTS, _LEAST_PART_BYTES), _LARGE_PART_BYTES), total // _MOST_PARTS)


def plan_parts(plan: InputPlan) -> tuple[CountPart, ...]:
    """Put the splits of a plan, made with `part_bytes`, together to parts of half that size or more."""
    in_order = sorted(plan.splits, key=lambda split: (split.file.ordinal, split.start))
    groups = group_splits(in_order, least_work=plan.split_bytes // 2, file_cost=_FILE_COST)
    return tuple(CountPart(number, splits) for number, splits in enumerate(groups))
