"""A Beam filesystem that behaves as an object store: a scheme, no directories, etags. The disk holds its files."""

from pathlib import Path

from apache_beam.io.filesystem import CompressionTypes, FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

SCHEME = "objects"


def in_store(path):
    return f"{SCHEME}:/{path}"


def on_disk(path):
    return path.removeprefix(f"{SCHEME}:/")


class ObjectStore(LocalFileSystem):
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
        raise OSError(f"{path}: an object store has no directories")

    def _list(self, dir_or_prefix):
        prefix = on_disk(dir_or_prefix)
        for path in sorted(Path(prefix).parent.rglob("*")):
            if path.is_file() and str(path).startswith(prefix):
                yield self.metadata(in_store(path))

    def create(self, path, mime_type="", compression_type=CompressionTypes.AUTO):
        return super().create(on_disk(path), mime_type, compression_type)

    def open(self, path, mime_type="", compression_type=CompressionTypes.AUTO):
        return super().open(on_disk(path), mime_type, compression_type)

    def metadata(self, path):
        status = Path(on_disk(path)).stat()
        return FileMetadata(path, status.st_size, status.st_mtime)

    def checksum(self, path):
        return f"etag-{self.metadata(path).size_in_bytes}"

    def exists(self, path):
        return Path(on_disk(path)).is_file()

    def rename(self, sources, destinations):
        for destination in destinations:
            Path(on_disk(destination)).parent.mkdir(parents=True, exist_ok=True)
        super().rename([on_disk(path) for path in sources], [on_disk(path) for path in destinations])

    def delete(self, paths):
        super().delete([on_disk(path) for path in paths])
