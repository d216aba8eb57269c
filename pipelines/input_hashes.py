"""What the input was, for `run.json`: the hash of each local file and the etag of each remote one, found meanwhile."""

import contextlib
import hashlib
import io
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Self, cast

from pipelines.formats.streams import open_file
from pipelines.listing import FoundFile, list_files
from pipelines.paths import STORE_THREADS, is_local
from pipelines.splits import InputFile
from tokenize_lib.errors import TokenbeamError

# Python's lock is free while a piece is read or hashed, but for the next it has to be waited for: some ms while other
# threads run Python code. Between pieces the thread can be stopped.
_PIECE_BYTES = 16 << 20


class InputHashes:
    """Hashes of files, found in the background, from construction on: one local file after the other, many remote ones.

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
            remote = [file for file in self._files if not is_local(file.path)]
            with ThreadPoolExecutor(STORE_THREADS) as pool:
                etags = dict(zip((file.path for file in remote), pool.map(self._etag, remote), strict=True))
            self._hashes.set_result([etags.get(file.path) or self._hash(file) for file in self._files])
        except BaseException as error:  # noqa: BLE001 (raised again where the result is asked for)
            self._hashes.set_exception(error)

    def _hash(self, file: InputFile | FoundFile) -> dict[str, str | int]:
        digest = hashlib.sha256()
        piece = memoryview(bytearray(min(_PIECE_BYTES, file.bytes + 1)))
        with open_file(file) as stream:
            local = cast("io.RawIOBase", stream)
            while length := local.readinto(piece):
                self._go_on()
                digest.update(piece[:length])
        return {"path": file.path, "bytes": file.bytes, "sha256": digest.hexdigest()}

    def _etag(self, file: InputFile | FoundFile) -> dict[str, str | int]:
        from apache_beam.io.filesystem import BeamIOError  # noqa: PLC0415
        from apache_beam.io.filesystems import FileSystems  # noqa: PLC0415

        self._go_on()
        found: dict[str, str | int] = {"path": file.path, "bytes": file.bytes}
        with contextlib.suppress(BeamIOError):  # some stores have none
            if (checksum := FileSystems.checksum(file.path)) is not None:
                found["etag"] = str(checksum)
        return found

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise CancelledError


def _version(file: InputFile | FoundFile) -> tuple[str, int, int | None]:
    return file.path, file.bytes, file.modified
