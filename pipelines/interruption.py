"""What must still be done when a person or a scheduler stops the command: a job elsewhere would go on without it."""

import contextlib
import threading
from collections.abc import Callable, Iterator

_lock = threading.Lock()
_undoings: list[Callable[[], str | None]] = []
_stopping = threading.Event()


def at_interrupt(undo: Callable[[], str | None]) -> None:
    """Have `undo` called if the command is stopped, from now on; else as `on_interrupt`."""
    with _lock:
        _undoings.append(undo)


@contextlib.contextmanager
def on_interrupt(undo: Callable[[], str | None]) -> Iterator[None]:
    """Have `undo` called if the command is stopped while the block runs.

    Args:
        undo: Must end within seconds, and runs in any thread. Gives what a person should know of it, in a few words.
    """
    at_interrupt(undo)
    try:
        yield
    finally:
        with _lock:
            _undoings.remove(undo)


def undo_all() -> list[str]:
    """Call all that was asked for, the newest first; give what they said. What fails does not keep others from it."""
    _stopping.set()
    with _lock:
        undoings = _undoings[::-1]
    said = []
    for undo in undoings:
        with contextlib.suppress(Exception):
            said.append(undo())
    return [line for line in said if line]


def wait_if_stopping() -> None:
    """Wait for the process to end, if it is being stopped: what fails now, fails for that reason."""
    if _stopping.is_set():
        threading.Event().wait()
