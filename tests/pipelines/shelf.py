"""A remote file system for tests: `shelf://` paths that Beam's FileSystems opens, kept in a local directory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

_SCHEME = "shelf"


def shelf_path(path: Path) -> str:
    return f"{_SCHEME}://{path}"


def _local(path: str) -> Path:
    return Path(path.removeprefix(f"{_SCHEME}://"))


class ShelfFileSystem(LocalFileSystem):
    """As an object store is: names with slashes but no directories, listing by prefix, etags."""

    @classmethod
    def scheme(cls) -> str:
        return _SCHEME

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        prefix = str(_local(dir_or_prefix))
        for path in sorted(Path(prefix).parent.rglob("*")):
            if path.is_file() and str(path).startswith(prefix):
                yield FileMetadata(shelf_path(path), path.stat().st_size, path.stat().st_mtime)

    def open(self, path: str, *args: Any, **kwargs: Any) -> BinaryIO:
        return super().open(str(_local(path)), *args, **kwargs)

    def exists(self, path: str) -> bool:
        return _local(path).is_file()

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, _local(path).stat().st_size, _local(path).stat().st_mtime)

    def checksum(self, path: str) -> str:
        return f"etag-{_local(path).stat().st_size}"
