"""Turns what a Beam runner raises back into the error that a worker met, in one line.

In memory, Beam keeps the type of a worker's exception and writes the step behind its message. Every other mode gives a
`RuntimeError` whose text is the worker's traceback, which engines put into texts and Java exceptions of their own. All
are read here, so that a user sees the same line everywhere.
"""

import errno
import re

from tokenize_lib import errors
from tokenize_lib.errors import OutputError, TokenbeamError

_STEP = re.compile(r" \[while running '(?P<step>[^']*)'\]")
_FRAME = re.compile(r'^ +File ".*\n(?: {4}.*\n)*', re.MULTILINE)
_BEHIND = re.compile(r"\n\s*\n|\n\s+at [\w.$/]+\(|\nCaused by: ")  # what engines write behind a worker's traceback
_LOST_WORKER = re.compile(
    r"CANCELLED: client cancelled|worker disconnected|UNAVAILABLE|TaskManager .* is no longer reachable|Heartbeat of"
)
_ENGINE_ERROR = re.compile(
    r"^(?:Caused by: )?(?:[a-z]\w*\.)+(?P<name>\w+(?:Exception|Error)): (?P<message>[^\n]+)", re.MULTILINE
)
_ERROR = re.compile(r"(?:RuntimeError: )?(?P<name>[A-Za-z_][\w.]*(?:Error|Exception)): (?P<message>.*)", re.DOTALL)
_OWN = f"{errors.__name__}."
_DISK_FULL = "No space left on device"
_DISK_FULL_PATH = re.compile(f"{_DISK_FULL}: '([^']+)'")


def worker_error(error: BaseException, step: str, job: str | None = None) -> TokenbeamError:
    """Give the error to show for what `Pipeline.run` or `wait_until_finish` raised.

    Args:
        error: What the runner raised.
        step: What the pipeline was for, named when the runner does not say which transform failed.
        job: The job, when it runs elsewhere; named behind the error.

    Returns:
        The worker's own `TokenbeamError`, of its own class; an `OutputError` for a full disk; else a `TokenbeamError`
        with the exception's type, the step, and its message. One line each.
    """
    text = str(error)
    steps = _STEP.findall(text)
    frames = list(_FRAME.finditer(text))
    where = f" ({step}, {job})" if job else ""
    text = _STEP.sub("", _without_engine(text[frames[-1].end() :]) if frames else text)
    if isinstance(error, TokenbeamError):
        return type(error)(_one_line(text) + where)
    # Without a traceback only Beam's stand-in for an exception that it could not build again names another type.
    inner = _ERROR.match(text) if frames or type(error) is RuntimeError else None
    name, message = (inner["name"], inner["message"]) if inner else (type(error).__name__, text)
    if name.startswith(_OWN):
        kind: type[TokenbeamError] = getattr(errors, name.removeprefix(_OWN), TokenbeamError)
        return kind(_one_line(message) + where)
    if is_disk_full(error) or _DISK_FULL in message:
        path = _DISK_FULL_PATH.search(message)
        return disk_full(path[1] if path else None)
    if job and not frames:
        name, message = _engine_error(message)
    if job and not frames and _LOST_WORKER.search(message):
        return TokenbeamError(
            f"{step} failed: a worker was lost, usually for lack of memory ({_one_line(message)}): "
            f"go on with --resume ({job}; --debug shows more)"
        )
    also = f"{job}; " if job else ""
    what = f"{name}: {_one_line(message)}" if name else _one_line(message)
    return TokenbeamError(f"{steps[-1] if steps else step} failed: {what} ({also}--debug shows where)")


def _without_engine(text: str) -> str:
    """Cut what an engine wrote behind a worker's error."""
    step = _STEP.search(text)
    if step is not None:
        end_of_line = text.find("\n", step.end())
        return text if end_of_line < 0 else text[:end_of_line]
    text = text.lstrip("\n")
    behind = _BEHIND.search(text)
    return text[: behind.start()] if behind else text


def _engine_error(text: str) -> tuple[str, str]:
    """Give name and message of what an engine failed of: the innermost cause of its Java exceptions."""
    causes = list(_ENGINE_ERROR.finditer(text))
    return (causes[-1]["name"], causes[-1]["message"]) if causes else ("", text)


def is_disk_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it was raised from, says that no more can be written."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        inner = error.args[0] if error.args else None  # Beam's local filesystem wraps: IOError(OSError(...))
        error = inner if isinstance(inner, OSError) else error.__cause__ or error.__context__
    return False


def disk_full(path: str | None) -> OutputError:
    """Give the one line for a full disk."""
    place = f" ({path})" if path else ""
    return OutputError(f"the disk is full{place}: free some space and go on with --resume")


def _one_line(text: str) -> str:
    return " ".join(text.split())
