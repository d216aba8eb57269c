"""Runs a command and says what it took, its children included."""

import dataclasses
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds of wall and of CPU (user and system, all processes and threads); peak of the largest process in bytes."""

    wall: float
    cpu: float
    peak: int


class FailedError(Exception):
    """A command did not end well; the text is a few words for the table."""


def run(command: Sequence[str], *, log: Path, timeout: float) -> Cost:
    """Run a command, its output in ``log``.

    Raises:
        FailedError: It took longer than ``timeout`` seconds, or its exit code is not 0.
    """
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(timeout, stop)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if is_late.is_set():
        raise FailedError(f"over {timeout:.0f} s")
    if process.returncode != 0:
        raise FailedError(f"failed ({process.returncode}), see {log}")
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss * 1024)


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure by itself."""
    return Cost(
        wall=statistics.median(cost.wall for cost in costs),
        cpu=statistics.median(cost.cpu for cost in costs),
        peak=round(statistics.median(cost.peak for cost in costs)),
    )
