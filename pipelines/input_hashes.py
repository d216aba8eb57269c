"""What the input was, for `run.json`: the hash of each local file and the etag of each remote one, found meanwhile."""

import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import Self

from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from pipelines.formats.streams import open_file
from pipelines.paths import is_local
from pipelines.splits import InputFile

_PIECE_BYTES = 1 << 20  # hashlib releases the GIL for a piece; between pieces the thread can be stopped


class InputHashes:
    """Hashes of files, computed by one thread in the background, from construction on.

    `result` waits for them, and raises what went wrong: InputError for a file that changed, or cannot be read any more.
    As a context manager it stops the thread on the way out, so that a failed run does not wait for hashes.
    """

    def __init__(self, files: Sequence[InputFile]) -> None:
        self._files = files
        self._stopped = threading.Event()
        self._hashes: Future[list[dict[str, str | int]]] = Future()
        # A daemon: a run that dies must not be kept alive by hashes that nobody will ask for.
        threading.Thread(target=self._run, name="input hashes", daemon=True).start()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop hashing."""
        self._stopped.set()

    def result(self) -> list[dict[str, str | int]]:
        """Give each file's path and bytes, and the sha256 of a local or the etag of a remote one, in their order."""
        return self._hashes.result()

    def _run(self) -> None:
        try:
            self._hashes.set_result([self._hash(file) for file in self._files])
        except BaseException as error:  # noqa: BLE001 (raised again where the result is asked for)
            self._hashes.set_exception(error)

    def _hash(self, file: InputFile) -> dict[str, str | int]:
        if not is_local(file.path):
            return {"path": file.path, "bytes": file.bytes, **_etag(file.path)}
        digest = hashlib.sha256()
        with open_file(file) as stream:
            while piece := stream.read(_PIECE_BYTES):
                if self._stopped.is_set():
                    raise CancelledError
                digest.update(piece)
        return {"path": file.path, "bytes": file.bytes, "sha256": digest.hexdigest()}


def _etag(path: str) -> dict[str, str]:
    try:
        checksum = FileSystems.checksum(path)
    except BeamIOError:  # some stores have none
        checksum = None
    return {} if checksum is None else {"etag": str(checksum)}
