"""How a run speaks to the person who started it: plain lines, or on a terminal a bar with rate and time left.

DoFns call `advance`; the driver opens a step with `Talk.step`, and a thread of it draws. The counters live in this
module, so workers in this process are seen as they go. Of workers elsewhere, Beam's metrics tell, which `advance` feeds
too: `pipelines.remote_job` asks for them while a job runs, though not every runner gives them before its end.
"""

import contextlib
import dataclasses
import functools
import math
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, TextIO

Unit = Literal["bytes", "documents", "units"]

METRICS = "tokenbeam"
"""The namespace of Beam's counters; each is named by step and unit: ``read bytes``."""

_REDRAW_SECONDS = 0.2
_FIRST_LINE_SECONDS = 10.0
_LONGEST_SILENCE_SECONDS = 120.0
_BAR_CELLS = 24


@dataclasses.dataclass
class Counts:
    """What a step has done so far."""

    bytes: int = 0
    documents: int = 0
    units: int = 0


_lock = threading.Lock()
_counts_by_step: dict[str, Counts] = {}


def advance(step: str, *, bytes: int = 0, documents: int = 0, units: int = 0) -> None:  # noqa: A002
    """Add to what a step has done, in a DoFn. Cheap and safe from any thread; call it once a batch, not a document."""
    _add(step, bytes, documents, units)
    for unit, done in (("bytes", bytes), ("documents", documents), ("units", units)):
        if done:
            _metric(step, unit).inc(done)


def _add(step: str, bytes: int, documents: int, units: int) -> None:  # noqa: A002
    with _lock:
        counts = _counts_by_step.setdefault(step, Counts())
        counts.bytes += bytes
        counts.documents += documents
        counts.units += units


@functools.lru_cache
def _metric(step: str, unit: str) -> Any:
    from apache_beam.metrics.metric import Metrics  # noqa: PLC0415 - loads Beam, which workers have loaded

    return Metrics.counter(METRICS, f"{step} {unit}")


def counts_of(step: str) -> Counts:
    """Give a copy of what a step has done in this process."""
    with _lock:
        return dataclasses.replace(_counts_by_step.get(step, Counts()))


def _forget(step: str) -> None:
    with _lock:
        _counts_by_step.pop(step, None)


@dataclasses.dataclass
class Progress:
    """One step while it runs, and its duration afterwards.

    Attributes:
        step: The name that DoFns give to `advance`.
        label: What people read.
        total: What there is to do, in `unit`. None: unknown beforehand.
        unit: Which of the counters measures the step.
        unit_name: What one unit is, in the plural, when `unit` is ``units``.
        say: Prints a line about it.
        elsewhere: What workers elsewhere have done, by what their runner tells, in `unit`.
        finished: What is finished, by its files, in `unit`; where the runner tells nothing.
        state: What the runner says of the step, when it is not simply running.
        seconds: How long the step took; counting while it runs.
    """

    step: str
    label: str
    total: int | None
    unit: Unit
    unit_name: str
    say: Callable[[str], None] = lambda _: None
    elsewhere: int = 0
    finished: int = 0
    state: str = ""
    started: float = dataclasses.field(default_factory=time.monotonic)
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long the step took, or has run so far."""
        return (self.ended or time.monotonic()) - self.started

    @property
    def done(self) -> int:
        """What has been seen done, in `unit`."""
        return max(int(getattr(counts_of(self.step), self.unit)), self.elsewhere, self.finished)

    def advance(self, *, bytes: int = 0, documents: int = 0, units: int = 0) -> None:  # noqa: A002
        """Count work that the driver itself does."""
        _add(self.step, bytes, documents, units)

    def _amount(self, value: float) -> str:
        if self.unit == "bytes":
            return format_bytes(value)
        amount = f"{value:,.0f}"
        return f"{amount} {self.unit_name.removesuffix('s') if amount == '1' else self.unit_name}"

    def describe(self) -> str:
        """Give the state in one line: share done, amounts, rate, time left; or only the time when nothing is known."""
        done, seconds = self.done, self.seconds
        parts = [self.state] if self.state else []
        if done and self.total:
            parts.append(f"{min(done / self.total, 1):4.0%}")
            parts.append(f"{self._amount(done)} of {self._amount(self.total)}")
        elif done:
            parts.append(self._amount(done))
        if done and seconds > 0:
            parts.append(f"{self._amount(done / seconds)}/s")
        if done and self.total and done < self.total:
            parts.append(f"{format_seconds(seconds * (self.total - done) / done)} left")
        else:
            parts.append(format_seconds(seconds))
        return "  ".join(parts)

    def summary(self) -> str:
        """Give the finished step in one line."""
        done = self.done
        if not done:
            return f"{self.label}: {format_seconds(self.seconds)}"
        rate = f" ({self._amount(done / self.seconds)}/s)" if self.seconds > 0 else ""
        return f"{self.label}: {self._amount(done)} in {format_seconds(self.seconds)}{rate}"

    def bar(self, columns: int) -> str:
        """Draw one line of at most `columns` cells."""
        filled = round(_BAR_CELLS * min(self.done / self.total, 1)) if self.total else 0
        bar = f"[{'#' * filled}{'.' * (_BAR_CELLS - filled)}]  " if self.total and self.done else ""
        return f"{self.label}  {bar}{self.describe()}"[: max(columns - 1, 10)]


class Talk:
    """Where a run's talk goes. Data never passes here.

    Args:
        stream: Standard error by default.
        quiet: Say nothing but warnings.
        terminal: Draw bars. By default, whether `stream` is a terminal.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False, terminal: bool | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._terminal = self._stream.isatty() if terminal is None else terminal
        self._drawing = threading.Lock()
        self._bar_shown = False

    def say(self, line: str) -> None:
        """Print a line, unless quiet."""
        if not self._quiet:
            self._print(line)

    def warn(self, line: str) -> None:
        """Print a line that also a quiet run must show."""
        self._print(f"Warning: {line}")

    @contextlib.contextmanager
    def step(
        self, label: str, *, step: str, total: int | None = None, unit: Unit = "bytes", unit_name: str = "units"
    ) -> Iterator[Progress]:
        """Show a step while the block runs, and one line about it when it has ended well.

        Args:
            label: What people read: ``Counting pretokens``.
            step: The name that DoFns give to `advance`; its counters start at zero here.
            total: What there is to do, in `unit`; None when unknown.
            unit: Which counter measures the step.
            unit_name: The plural people read when `unit` is ``units`` or ``documents``.
        """
        _forget(step)
        progress = Progress(step, label, total, unit, unit_name if unit == "units" else unit, self.say)
        ended = threading.Event()
        drawer = threading.Thread(target=self._draw, args=(progress, ended), name=f"progress-{step}", daemon=True)
        if not self._quiet:
            drawer.start()
        try:
            yield progress
        finally:
            progress.ended = time.monotonic()
            ended.set()
            if not self._quiet:
                drawer.join()
        self.say(progress.summary())

    def _draw(self, progress: Progress, ended: threading.Event) -> None:
        silence = _REDRAW_SECONDS if self._terminal else _FIRST_LINE_SECONDS
        while not ended.wait(silence):
            if self._terminal:
                self._draw_bar(progress.bar(shutil.get_terminal_size().columns))
            else:
                self.say(f"{progress.label}: {progress.describe().strip()}")
                silence = min(2 * silence, _LONGEST_SILENCE_SECONDS)
        self._clear_bar()

    def _draw_bar(self, bar: str) -> None:
        with self._drawing:
            self._stream.write(f"\r\x1b[2K{bar}")
            self._stream.flush()
            self._bar_shown = True

    def _clear_bar(self) -> None:
        with self._drawing:
            self._erase()

    def _erase(self) -> None:
        if self._bar_shown:
            self._stream.write("\r\x1b[2K")
            self._bar_shown = False

    def _print(self, line: str) -> None:
        with self._drawing:
            self._erase()
            self._stream.write(f"{line}\n")
            self._stream.flush()


def format_bytes(size: float) -> str:
    """Give a size for people, in powers of 1,000: ``0 B``, ``999 B``, ``1.2 kB``, ``34 MB``, ``5.6 GB``."""
    value = float(size)
    for name in ("B", "kB", "MB", "GB", "TB", "PB"):
        if value < 999.5 or name == "PB":
            break
        value /= 1000
    return f"{value:.1f} {name}" if name != "B" and value < 9.95 else f"{value:.0f} {name}"


def format_size(size: int) -> str:
    """Give a size as a person types it, exactly: ``16MiB``, ``500MB``, ``1234 B``."""
    units = (("GiB", 1 << 30), ("GB", 10**9), ("MiB", 1 << 20), ("MB", 10**6), ("KiB", 1 << 10), ("KB", 1000))
    return next((f"{size // unit}{name}" for name, unit in units if size and size % unit == 0), f"{size} B")


def format_ratio(ratio: float) -> str:
    """Give a ratio for people, with four decimals or as many more as show two digits: ``0.2718``, ``0.0000012``."""
    decimals = 4 if ratio >= 0.001 or ratio <= 0 else 1 - math.floor(math.log10(ratio))
    return f"{ratio:.{decimals}f}"


def format_seconds(seconds: float) -> str:
    """Give a duration for people: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 07 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
