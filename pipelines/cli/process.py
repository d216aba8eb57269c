"""This process: its exit codes, its log, and how Ctrl-C or a scheduler ends it."""

import contextlib
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import threading
import warnings

from pipelines.interruption import undo_all

DONE, FAILED, WRONG_USAGE, TOO_MANY_BAD, INTERRUPTED = 0, 1, 2, 3, 130
_STOPS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: 143}  # 128 and the signal's number, as a shell has it
_LARGEST_KEPT_BYTES = 32 << 20  # the most that glibc takes


def configure_log(*, debug: bool) -> None:
    """Set up logging before Beam is imported, which would otherwise log to the terminal by itself."""
    os.environ.setdefault("GRPC_VERBOSITY", "INFO" if debug else "NONE")
    if debug:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
        return
    logging.basicConfig(handlers=[logging.NullHandler()])
    warnings.simplefilter("ignore")


def take_turns_quickly() -> None:
    """Let a thread that has worked without Python's lock have it again after 1 ms, not 5: it is soon given back."""
    sys.setswitchinterval(0.001)


def collect_garbage_rarely() -> None:
    """Look for cycles of garbage a hundred times less often: importing Beam makes many objects, and none of those."""
    gc.set_threshold(70_000, 20, 20)


def keep_freed_memory() -> None:
    """Let glibc keep the buffers of one block for the next: getting them anew from Linux takes a third of reading.

    For a process whose threads work; where there is no glibc, nothing is done.
    """
    map_threshold, trim_threshold = -3, -1  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD of malloc.h
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(map_threshold, _LARGEST_KEPT_BYTES)
        mallopt(trim_threshold, 2 * _LARGEST_KEPT_BYTES)


def end_on_interrupt() -> None:
    """Let Ctrl-C or SIGTERM end the process at once, also while the main thread is in the kernel or waits for Beam.

    Python hands a signal to the main thread only when that runs Python code again. The signal's number, though, is
    written to a file descriptor at once; a thread waits for it there. What a run has written stays valid: files are
    finished or not visible, and locks go with the process. A job elsewhere is cancelled first, which may take seconds;
    a second signal does not wait for that. For the main thread alone.
    """
    ours, pythons = socket.socketpair()
    pythons.settimeout(0)  # as Python asks of a wakeup descriptor
    signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
    for stop in _STOPS:
        signal.signal(stop, lambda *_: None)  # no KeyboardInterrupt: the thread below is on its way already

    def watch() -> None:
        is_ending = False
        with pythons:
            while True:
                for number in ours.recv(16):
                    if number not in _STOPS:
                        continue
                    code = _STOPS[signal.Signals(number)]
                    if is_ending:
                        os._exit(code)
                    is_ending = True
                    threading.Thread(target=leave_interrupted, args=(code,), name="leaving", daemon=True).start()

    threading.Thread(target=watch, name="interrupts", daemon=True).start()


def leave_interrupted(code: int = INTERRUPTED) -> None:
    """End the process with one line, waiting for nothing but the end of jobs elsewhere."""
    jobs = "; ".join(undo_all())
    stopped = f"Stopped: {jobs}." if jobs else "Stopped."
    os.write(2, f"\n{stopped} The same command with --resume goes on from here.\n".encode())
    os._exit(code)


def leave(code: int, *, at_once: bool) -> None:
    """End the process.

    Args:
        code: The exit code.
        at_once: Do not wait for Beam's threads and Python's own clean-up, which take half a second. Not where a job
            server of another runner must be stopped at exit.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if at_once:
        os._exit(code)
    sys.exit(code)
