"""Processes of an engine: each in a group of its own, with a log, and never outliving the one who started it."""

import contextlib
import dataclasses
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

START_SECONDS = 180.0
"""How long an engine may take to start; a machine that is busy takes long."""

_PORTS = range(15_000, 30_000)  # below those that systems hand out to whoever asks for any
_POLL_SECONDS = 0.1
_LOG_TAIL = 3_000

Found = TypeVar("Found")


class EngineError(Exception):
    """An engine did not start, or does not answer; the text says which and holds the end of its log."""


@dataclasses.dataclass
class Process:
    """A running process and those that it starts. A context: leaving it kills all of them.

    Attributes:
        name: What people read.
        log: The file with what it prints.
        popen: The process.
    """

    name: str
    log: Path
    popen: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls, name: str, command: Sequence[str], *, directory: Path, environment: Mapping[str, str] | None = None
    ) -> Self:
        """Start a command with its log as ``NAME.log`` in a directory."""
        log = directory / f"{name}.log"
        # Teardown ends it; this is for the case that nobody is left to do so.
        tied = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [*tied, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        return cls(name, log, popen)

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its group."""
        return self.popen.pid

    def kill(self) -> None:
        """Kill it and all of its group at once, as a machine that loses power does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()

    def wait_for_line(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed what matches, and give the match."""
        return self.wait_for(lambda: re.search(pattern, self.log.read_text(errors="replace")), f"to print {pattern!r}")

    def wait_for(self, look: Callable[[], Found | None], what: str) -> Found:
        """Wait until `look` gives something, and give that; raise if the process ends before, or it takes too long."""
        end = time.monotonic() + START_SECONDS
        while not (found := look()):
            if self.popen.poll() is not None:
                raise EngineError(f"{self.name} ended with exit code {self.popen.returncode}:\n{self._log_tail()}")
            if time.monotonic() > end:
                raise EngineError(f"{self.name} took over {START_SECONDS:.0f} s {what}:\n{self._log_tail()}")
            time.sleep(_POLL_SECONDS)
        return found

    def _log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-_LOG_TAIL:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def free_port() -> int:
    """Give a port that nothing listens on, and that no client is given by chance."""
    while True:
        port = random.choice(_PORTS)
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("localhost", port))
            return port
