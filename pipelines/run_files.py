"""The files of a run: written under another name and then renamed, so that nothing half-written is ever seen.

Every path goes through Beam's filesystems, so a run's directory may lie wherever they reach. `RunFiles` holds only
names: workers get it with their DoFns.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from pipelines.paths import STORE_THREADS, is_local, store_errors
from pipelines.row_groups import row_groups
from pipelines.s3_clients import keep_s3_clients
from pipelines.worker_errors import disk_full, is_disk_full
from tokenize_lib.errors import OutputError

WORK = ".work"
UNFINISHED = f"{WORK}/unfinished"
PLANNED = f"{WORK}/plan"
"""What the driver writes for workers to do. A run that is resumed plans anew."""
_WRITTEN = f"{WORK}/written"

keep_s3_clients()  # here, as workers import this before they open a file


@dataclasses.dataclass(frozen=True)
class WrittenFile:
    """A finished file of a run.

    Attributes:
        name: Its path in the run's directory, with ``/``.
        bytes: Its size.
        sha256: Hash of its bytes, in hexadecimal.
        rows: Rows of a table; None for other files.
    """

    name: str
    bytes: int
    sha256: str
    rows: int | None = None


@dataclasses.dataclass(frozen=True)
class RunFiles:
    """The files in one run's directory, by their names in it. Names under ``.work/`` last until the run is finished."""

    root: str

    def path(self, name: str) -> str:
        """Give the full path of a file."""
        return f"{self.root}/{name}"

    def exists(self, name: str) -> bool:
        """Tell whether a file is there. Then it is whole."""
        with output_errors(self.path(name), "looked up"):
            return bool(FileSystems.exists(self.path(name)))

    def write_parquet(
        self, name: str, rows: pa.Table | Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema
    ) -> WrittenFile:
        """Write a zstd Parquet table. Its bytes depend on the rows alone, not on the batches they come in.

        Args:
            name: The file's name in the run's directory; what stood there is replaced.
            rows: Batches of rows in the order of the file.
            schema: What the rows must look like, from `schemas`; its metadata goes into the file.

        Raises:
            schemas.columns.SchemaError: The rows do not look like that.
            OutputError: The disk is full, or the file cannot be written.
        """
        batches = [rows] if isinstance(rows, pa.Table) else rows
        # A dictionary pays for texts that repeat; pretokens and tokens do not.
        repeated: Any = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
        written = 0
        with (
            self._new_file(name) as file,
            pq.ParquetWriter(
                pa.PythonFile(file, mode="w"), schema, compression="zstd", use_dictionary=repeated, version="2.6"
            ) as writer,
        ):
            for group in row_groups(batches, schema):
                writer.write_table(group, row_group_size=max(1, group.num_rows))
                written += group.num_rows
        return self._note(WrittenFile(name, file.size, file.sha256, written))

    def write_bytes(self, name: str, content: bytes) -> WrittenFile:
        """Write a file whole. Raises `OutputError` as `write_parquet` does."""
        with self._new_file(name) as file:
            file.write(content)
        return self._note(WrittenFile(name, file.size, file.sha256))

    def write_json(self, name: str, content: object) -> WrittenFile:
        """Write a JSON file for people and programs alike."""
        return self.write_bytes(name, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())

    def read_bytes(self, name: str) -> bytes:
        """Read a file whole."""
        with output_errors(self.path(name), "read"), open_for_reading(self.path(name)) as file:
            return bytes(file.read())

    def read_json(self, name: str) -> Any:
        """Read a JSON file; None when there is none. Raises `OutputError` if it is damaged."""
        if not self.exists(name):
            return None
        try:
            return json.loads(self.read_bytes(name))
        except ValueError as error:  # also of bytes that are no UTF-8
            raise OutputError(
                f"{self.path(name)} is damaged, no JSON ({error}): run anew into another directory, or remove this one"
            ) from error

    def open_parquet(self, name: str) -> pq.ParquetFile:
        """Open a table of this run for reading, row group by row group; close it, or use it as a context."""
        path = self.path(name)
        with output_errors(path, "read"):
            return _OwningParquetFile(path if is_local(path) else open_for_reading(path))

    def describe(self, name: str) -> WrittenFile:
        """Give size and hash of a finished file: what its writer noted, else by reading it."""
        noted = self.read_json(self._note_name(name))
        return WrittenFile(**noted) if noted else self._read_through(name)

    def describe_all(self, names: Iterable[str]) -> list[WrittenFile]:
        """Do as `describe` for each of these, at the same time: on an object store one takes a tenth of a second."""
        with ThreadPoolExecutor(STORE_THREADS) as pool:
            return list(pool.map(self.describe, names))

    def list(self, folder: str = "") -> list[str]:
        """Give the names of all files in the directory, or of those in a folder of it, sorted."""
        below = f"{folder}/" if folder else ""
        with output_errors(self.root, "listed"):
            return sorted(below + name for name in _list_below(self.path(folder) if folder else self.root))

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, in whatever order; object stores take many at once."""
        paths = [self.path(name) for name in names]
        if not paths:
            return
        with output_errors(paths[0] if len(paths) == 1 else self.root, "removed"):
            if is_local(self.root):  # Beam compiles a pattern for each path
                for path in paths:
                    Path(path).unlink()
            else:
                FileSystems.delete(paths)

    def forget(self, name: str) -> None:
        """Remove what was noted for `describe`: for a file written by itself, into a directory that is no run's."""
        self.remove([self._note_name(name)])
        if is_local(self.root):
            for directory in (Path(self.path(self._note_name(name))).parent, Path(self.path(UNFINISHED))):
                with contextlib.suppress(OSError):
                    directory.rmdir()  # only an empty one goes
            with contextlib.suppress(OSError):
                Path(self.path(WORK)).rmdir()

    def _read_through(self, name: str) -> WrittenFile:
        digest, size = hashlib.sha256(), 0
        with output_errors(self.path(name), "read"), open_for_reading(self.path(name)) as file:
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
        if not name.endswith(".parquet"):
            return WrittenFile(name, size, digest.hexdigest())
        with self.open_parquet(name) as table:
            return WrittenFile(name, size, digest.hexdigest(), table.metadata.num_rows)

    @contextlib.contextmanager
    def _new_file(self, name: str) -> Iterator["_HashedFile"]:
        path = self.path(name)
        temporary = self.path(f"{UNFINISHED}/{PurePosixPath(name).name}-{uuid.uuid4().hex}")
        with output_errors(path, "written"):
            try:
                with contextlib.closing(
                    FileSystems.create(temporary, compression_type=CompressionTypes.UNCOMPRESSED)
                ) as raw:
                    yield _HashedFile(raw)
                _make_directory_of(path)
                _rename(temporary, path)
            except BaseException:
                with contextlib.suppress(Exception):
                    FileSystems.delete([temporary])
                raise

    def _note(self, written: WrittenFile) -> WrittenFile:
        """Keep size and hash for `describe`, so that no output is read again at the end of the run."""
        if not written.name.startswith(f"{WORK}/"):
            self.write_json(self._note_name(written.name), dataclasses.asdict(written))
        return written

    @staticmethod
    def _note_name(name: str) -> str:
        return f"{_WRITTEN}/{name}.json"


class _OwningParquetFile(pq.ParquetFile):
    """A Parquet file that closes what it reads from, also where that was opened by Beam."""

    def close(self, force: bool = True) -> None:  # noqa: FBT001, FBT002 - as pyarrow declares it
        super().close(force)


class _HashedFile(io.RawIOBase):
    """A file opened for writing that knows its size and hash. Closing it is left to the one who opened it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._digest = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self._raw.write(data)
        count = memoryview(data).nbytes
        self.size += count
        return count

    def tell(self) -> int:
        return self.size


def open_for_reading(path: str) -> Any:
    """Open a file for reading its bytes as they are, whatever its name ends in."""
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)


@contextlib.contextmanager
def output_errors(path: str, done: str) -> Iterator[None]:
    """Give what a filesystem raises as an `OutputError` of one line.

    Args:
        path: What was worked on.
        done: What could not be done: ``written``, ``read``.
    """
    try:
        yield
    except store_errors() as error:
        if is_disk_full(error):
            raise disk_full(path) from error
        raise OutputError(f"{path} cannot be {done}: {_said(error)}") from error
    except ValueError as error:
        if "Unable to get filesystem" not in str(error):
            raise
        raise OutputError(f"{path} cannot be {done}: {_said(error)}") from error


def _said(error: Exception) -> str:
    """What the system says of an error, without number and path; of others all they say, in one line."""
    inner = error.args[0] if error.args else None  # Beam's local filesystem wraps: IOError(OSError(...))
    strerror = getattr(error, "strerror", None) or getattr(inner, "strerror", None)
    return strerror or " ".join(str(error).split())


def _list_below(root: str) -> Iterator[str]:
    if is_local(root):
        for directory, _, names in os.walk(root):
            below = PurePosixPath(directory).relative_to(root)
            yield from (str(below / name) for name in names)
        return
    [found] = FileSystems.match([f"{root}/**"])
    start = len(root.rstrip("/")) + 1
    yield from (metadata.path[start:] for metadata in found.metadata_list)


def _rename(temporary: str, path: str) -> None:
    """Rename, also onto a file that is there: an attempt before this one may have written the same. HDFS refuses it.

    What is not known to be a file stays: Beam deletes a directory with all that is in it.
    """
    try:
        FileSystems.rename([temporary], [path])
    except (OSError, BeamIOError):
        if is_local(path) and Path(path).is_dir():
            raise OutputError(f"{path} is a directory, where a file is to be written: move it away") from None
        has_directories = FileSystems.get_filesystem(path).has_dirs()
        if not (has_directories and FileSystems.exists(temporary) and _is_file(path)):
            raise
        FileSystems.delete([path])
        FileSystems.rename([temporary], [path])


def _is_file(path: str) -> bool:
    if is_local(path):
        return Path(path).is_file()
    try:
        return bool(FileSystems.checksum(path))  # HDFS has none of a directory
    except (OSError, BeamIOError):
        return False


def _make_directory_of(path: str) -> None:
    directory = FileSystems.split(path)[0]
    if FileSystems.get_filesystem(path).has_dirs() and not FileSystems.exists(directory):
        with contextlib.suppress(OSError, BeamIOError):  # another worker was first
            FileSystems.mkdirs(directory)
