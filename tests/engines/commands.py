"""The command as users run it: a process of its own, and the bytes that it leaves."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

SAMPLE = sorted(str(path) for path in Path("tests/data/sample").glob("*.*"))
LIMIT_SECONDS = 600.0
"""How long a command may take before it counts as hanging; a machine that is busy takes long."""


def run_command(arguments: Sequence[str], *, log: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever that is; what it says is also added to a log."""
    with Command(arguments, log=log) as command:
        return command.end()


class Command:
    """A command that runs. A context: leaving it kills the command and all that it started."""

    def __init__(self, arguments: Sequence[str], *, log: Path) -> None:
        self._log = log
        self._start = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.cli.main", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """What it has said so far, on both streams."""
        return self._log.read_bytes()[self._start :].decode(errors="replace")

    def end(self) -> subprocess.CompletedProcess[str]:
        """Wait for its end."""
        code = self.process.wait(LIMIT_SECONDS)
        return subprocess.CompletedProcess(self.process.args, code, self.said(), "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def hashes(directory: Path) -> dict[str, str]:
    """The hash of every file of a run but those that tell how it was done."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in ("run.json", "rounds.parquet")
    }
