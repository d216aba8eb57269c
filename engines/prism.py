"""Prism, as a job server that several commands use."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from engines.installed import Installed
from engines.processes import Process, free_port


@contextlib.contextmanager
def job_server(installed: Installed, directory: Path) -> Iterator[tuple[Process, str]]:
    """Run Prism until the block ends; give it and the endpoint that jobs go to, ``HOST:PORT``."""
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [str(installed.prism), f"--job_port={port}", "--serve_http=false"]
    with Process.start("prism", command, directory=directory) as process:
        process.wait_for(lambda: _listens(port), "to listen")
        yield process, f"localhost:{port}"


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("localhost", port), timeout=1):
        return True
    return False
