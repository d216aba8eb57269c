"""What this process may use of the machine: the limits of its container count, not the machine's size."""

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # version 2, version 1


def usable_memory(cgroup: Path = _CGROUP) -> int:
    """Give the bytes of memory this process can have: the machine's, or its control group's limit when that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *(limit for name in _MEMORY_LIMITS if (limit := _read_number(cgroup / name)) is not None)])


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Give the cores this process can run on: its affinity, or its control group's share when that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return cores
    if not quota.isdigit():
        return cores
    return max(1, min(cores, int(quota) // int(period)))


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
