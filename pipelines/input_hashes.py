"""What the input was, for `run.json`: the hash of each local file and the etag of each remote one, found meanwhile."""

import hashlib
import io
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import Self, cast

from pipelines.formats.streams import open_file
from pipelines.listing import FoundFile, list_files
from pipelines.paths import is_local
from pipelines.splits import InputFile
from tokenize_lib.errors import TokenbeamError

# Python's lock is free while a piece is read or hashed, but for the next it has to be waited for: some ms while other
# threads run Python code. Between pieces the thread can be stopped.
_PIECE_BYTES = 16 << 20


class InputHashes:
    """Hashes of files, computed by one thread in the background, from construction on.

    `result` waits for them, and raises what went wrong: InputError for a file that changed, or cannot be read any more.
    As a context manager it stops the thread on the way out, so that a failed run does not wait for hashes.
    """

    def __init__(self, files: Sequence[InputFile | FoundFile]) -> None:
        self._files = files
        self._stopped = threading.Event()
        self._hashes: Future[list[dict[str, str | int]]] = Future()
        # A daemon: a run that dies must not be kept alive by hashes that nobody will ask for.
        threading.Thread(target=self._run, name="input hashes", daemon=True).start()

    @classmethod
    def ahead(cls, patterns: Sequence[str], output: str) -> "InputHashes | None":
        """Begin with the local files that patterns name, before there is a plan; None if they must be planned first.

        output: as `pipelines.inputs.plan_input` has it.
        """
        if not all(map(is_local, patterns)):
            return None
        try:
            return cls(list_files(patterns, output))
        except TokenbeamError:  # whoever makes the plan tells it
            return None

    def goes_for(self, files: Sequence[InputFile]) -> bool:
        """Tell whether just these files, as they are, are being hashed."""
        return [_version(file) for file in files] == [_version(file) for file in self._files]

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

    def _hash(self, file: InputFile | FoundFile) -> dict[str, str | int]:
        if not is_local(file.path):
            return {"path": file.path, "bytes": file.bytes, **_etag(file.path)}
        digest = hashlib.sha256()
        piece = memoryview(bytearray(min(_PIECE_BYTES, file.bytes + 1)))
        with open_file(file) as stream:
            local = cast("io.RawIOBase", stream)
            while length := local.readinto(piece):
                if self._stopped.is_set():
                    raise CancelledError
                digest.update(piece[:length])
        return {"path": file.path, "bytes": file.bytes, "sha256": digest.hexdigest()}


def _version(file: InputFile | FoundFile) -> tuple[str, int, int | None]:
    return file.path, file.bytes, file.modified


def _etag(path: str) -> dict[str, str]:
    from apache_beam.io.filesystem import BeamIOError  # noqa: PLC0415
    from apache_beam.io.filesystems import FileSystems  # noqa: PLC0415

    try:
        checksum = FileSystems.checksum(path)
    except BeamIOError:  # some stores have none
        checksum = None
    return {} if checksum is None else {"etag": str(checksum)}
