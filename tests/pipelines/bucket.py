"""An object store for tests that says no to local files: its objects lie in a directory that no path names.

As S3 does it: no directories; an object is seen when its writer has closed it; a rename copies and deletes; removing
what is not there is no error; times are whole seconds; the etag is the MD5 of the content.

Where the environment says so, the process that imports it may open no file of this machine: see `refuse_local_files`.
Workers in processes of their own import it, too, as Beam tells them which filesystems there are.
"""

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import threading
import uuid
from pathlib import Path
from urllib.parse import quote, unquote

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem

SCHEME = "bucket"
ROOT, REFUSALS, OPENED_BY_DRIVER, FAILING = (
    f"TOKENBEAM_TEST_{name}" for name in ("ROOT", "REFUSALS", "DRIVER", "FAIL")
)
"""Names in the environment: the directory; where refusals are written; a local file that the driver alone may open; a
part of the name of an object that cannot be created."""

_REPOSITORY = Path(__file__).parents[2]
_OURS = tuple(str(_REPOSITORY / package) for package in ("pipelines", "tokenize_lib", "schemas"))
# Python and its packages, and what the system tells of itself.
_ALLOWED = (
    tuple(
        {str(Path(path).resolve()) for path in (sys.prefix, sys.base_prefix, *filter(None, sys.path))}
        | {sys.prefix, sys.base_prefix, str(_REPOSITORY / "tests"), "/dev", "/proc", "/sys", "/etc", "/usr"}
    )
    + _OURS
)


def disk_path(path):
    return Path(os.environ[ROOT], quote(path, safe=""))


def objects(prefix=f"{SCHEME}://"):
    """Give the paths of all objects, sorted; those being written are none."""
    names = sorted(unquote(entry.name) for entry in os.scandir(os.environ[ROOT]) if not entry.name.startswith("."))
    return [name for name in names if name.startswith(prefix)]


class Bucket(FileSystem):
    @classmethod
    def scheme(cls):
        return SCHEME

    def has_dirs(self):
        return False

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def mkdirs(self, path):
        raise AssertionError(f"{path}: a bucket has no directories")

    def _list(self, dir_or_prefix):
        yield from map(self.metadata, objects(dir_or_prefix))

    def create(self, path, mime_type="", compression_type=CompressionTypes.AUTO):  # noqa: ARG002
        assert compression_type == CompressionTypes.UNCOMPRESSED
        return _Upload(path)

    def open(self, path, mime_type="", compression_type=CompressionTypes.AUTO):  # noqa: ARG002
        assert compression_type == CompressionTypes.UNCOMPRESSED
        return disk_path(path).open("rb")

    def metadata(self, path):
        status = disk_path(path).stat()
        return FileMetadata(path, status.st_size, float(int(status.st_mtime)))

    def checksum(self, path):
        return f'"{hashlib.md5(disk_path(path).read_bytes()).hexdigest()}"'  # noqa: S324 - what S3 takes

    def exists(self, path):
        return disk_path(path).is_file()

    def size(self, path):
        return self.metadata(path).size_in_bytes

    def last_updated(self, path):
        return self.metadata(path).last_updated_in_seconds

    def copy(self, source_file_names, destination_file_names):
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            if (failing := os.environ.get(FAILING)) and failing in destination:
                raise BeamIOError(f"no more of {failing}")
            with contextlib.closing(_Upload(destination)) as upload:
                upload.write(disk_path(source).read_bytes())

    def rename(self, source_file_names, destination_file_names):
        self.copy(source_file_names, destination_file_names)
        self.delete(source_file_names)

    def delete(self, paths):
        for path in paths:
            disk_path(path).unlink(missing_ok=True)


class _Upload(io.RawIOBase):
    def __init__(self, path):
        self._path = path
        self._hidden = Path(os.environ[ROOT], f".{uuid.uuid4().hex}")
        self._file = self._hidden.open("wb")

    def writable(self):
        return True

    def write(self, data):
        return self._file.write(data)

    def close(self):
        if not self.closed:
            self._file.close()
            self._hidden.replace(disk_path(self._path))
        super().close()


def upload(directory, prefix):
    """Put the files of a local directory into the bucket."""
    for path in sorted(Path(directory).rglob("*")):
        if path.is_file():
            disk_path(f"{prefix}/{path.relative_to(directory)}").write_bytes(path.read_bytes())


def download(prefix, directory):
    """Write objects to a local directory."""
    for path in objects(f"{prefix}/"):
        target = Path(directory, path.removeprefix(f"{prefix}/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(disk_path(path).read_bytes())


def refuse_local_files():
    """Let no file of this machine be opened, listed, made or removed, save those of Python, its packages and ours.

    Temporary files are for Beam, which sends its pipelines by them. Each refusal is written down, as some code goes on
    after an error.
    """
    refusals = os.open(os.environ[REFUSALS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    events = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
    own = (os.environ[ROOT], os.environ[REFUSALS])
    temporary = tempfile.gettempdir()

    def is_allowed(path):
        if path.startswith((*_ALLOWED, *own)):
            return True
        if path == os.environ.get(OPENED_BY_DRIVER):
            is_driver = "pipelines.worker_main" not in sys.orig_argv
            return is_driver and not any("apache_beam" in frame for frame in _frames())  # a worker's call has some
        return path.startswith(temporary) and not _asked_by_us()

    def look(event, arguments):
        if event not in events or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100, TID251 - no call that opens or looks
        if not is_allowed(path):
            os.write(refusals, f"{event} {path} by {threading.current_thread().name}\n".encode())
            raise PermissionError(f"refused: {event} {path}")

    sys.addaudithook(look)


def _asked_by_us():
    """Whether code of ours, and not of Beam, asks for a file."""
    return next(
        (frame.startswith(_OURS) for frame in _frames() if frame.startswith(_OURS) or "apache_beam" in frame), False
    )


def _frames():
    """Files of the code that is running, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


if os.environ.get(REFUSALS):
    refuse_local_files()


def main():
    """Run commands one after the other, as JSON gives them: ``arguments``, exit ``code``, and what is ``failing``."""
    from pipelines import count_parts, inputs  # noqa: PLC0415
    from pipelines.cli.main import run  # noqa: PLC0415

    # Small files have many splits and parts.
    inputs.plan_input.__kwdefaults__["split_bytes"] = 2000
    count_parts._LEAST_PART_BYTES, count_parts._FILE_COST = 1 << 10, 100
    for command in json.loads(sys.argv[1]):
        os.environ[FAILING] = command.get("failing", "")
        if (code := run(command["arguments"])) != command.get("code", 0):
            sys.exit(f"exit code {code} of {command}")
