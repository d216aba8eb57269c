"""The tables that are printed."""

import dataclasses
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from benchmarks.measure import Cost

HEADER = (
    "trainer",
    "version",
    "wall s",
    "CPU s",
    "start-up",
    "net CPU",
    "peak MB",
    "wall x",
    "CPU x",
    "net x",
    "merges",
)


@dataclasses.dataclass(frozen=True)
class Ratios:
    """A trainer's figures divided by tokenbeam's; net is CPU without start-up."""

    wall: float
    cpu: float
    net: float

    @classmethod
    def of(cls, cost: Cost, start_up: Cost, ours: Cost, our_start_up: Cost) -> "Ratios":
        """The ratios of two costs, each with the start-up it includes."""
        return cls(cost.wall / ours.wall, cost.cpu / ours.cpu, net_cpu(cost, start_up) / net_cpu(ours, our_start_up))


def net_cpu(cost: Cost, start_up: Cost) -> float:
    """CPU seconds without start-up; at least a hundredth, so that it can be divided by."""
    return max(cost.cpu - start_up.cpu, 0.01)


def machine() -> str:
    """Processor, cores, memory, system and Python, in one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = names[0] if names else platform.processor() or platform.machine()
    return (
        f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need be, the first to the left, the others to the right."""
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in [header, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def cost_row(
    head: tuple[str, str], cost: Cost, start_up: Cost, ratios: Ratios | None, agreement: str
) -> tuple[str, ...]:
    """A line of the table under ``HEADER``; ``head`` is the trainer's name and version."""
    seconds = [cost.wall, cost.cpu, start_up.cpu, net_cpu(cost, start_up)]
    figures = [*(f"{value:.2f}" for value in seconds), f"{cost.peak / 1e6:.0f}"]
    shares = [f"{value:.2f}" for value in dataclasses.astuple(ratios)] if ratios else ["-"] * 3
    return (*head, *figures, *shares, agreement)


def failed_row(head: tuple[str, str], reason: str) -> tuple[str, ...]:
    """The line of a trainer that did not finish."""
    return (*head, *["-"] * 8, reason)


def agreement(
    learned: Sequence[tuple[str, str]] | Sequence[str], ours: Sequence[tuple[str, str]] | Sequence[str] | None
) -> str:
    """How what a trainer learned compares with tokenbeam's merges on documents of the same framing."""
    if ours is None:
        return f"{len(learned):,}, not compared"
    if list(learned[: len(ours)]) == list(ours):
        more = len(learned) - len(ours)
        return f"{len(ours):,} equal" + (f", {more:,} more" if more else "")
    tokens = {"".join(entry) for entry in learned}
    return f"{len(tokens & {''.join(entry) for entry in ours}):,} of {len(ours):,} tokens shared"


def version(package: str) -> str:
    """The version of an installed distribution."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "this checkout"
