"""Files as streams of bytes: opened, checked for what they are, and decompressed to their very end.

A compressed file that ends too early is an error, always. Neither Beam's reader nor pyarrow's tells half a gzip from a
whole one; a decompressor's end-of-stream mark does (RFC 1952 for gzip, RFC 8878 for Zstandard).
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

import zstandard

from pipelines.listing import FoundFile
from pipelines.paths import is_local, store_errors
from pipelines.splits import InputFile
from tokenize_lib.errors import InputError

_READ_BYTES = 256 << 10  # of compressed data at a time
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD_FRAMES = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + kind]) + b"\x2a\x4d\x18" for kind in range(16)))  # data, skippable
_STARTS = {"gz": (_GZIP,), "zst": _ZSTD_FRAMES}
# A line of UTF-16 is NULs and letters to a reader of UTF-8, and so no bad record, though nothing of it was meant so.
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_LONGEST_BOM = 4  # bytes
_WIDE_TEXT = "text in UTF-16 or UTF-32, by its byte order mark: convert it to UTF-8"
_NO_TEXT = {
    _GZIP: "gzip data: name it .gz",
    _ZSTD_FRAMES[0]: "Zstandard data: name it .zst",
    b"PAR1": "a Parquet file: name it .parquet, or give --format parquet",
    b"BZh": "bzip2 data: decompress it first",
    b"\xfd7zXZ": "xz data: decompress it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    **dict.fromkeys(_WIDE_BOMS, _WIDE_TEXT),
}
_NO_TEXT_STARTS = tuple(_NO_TEXT)


class Chunk(NamedTuple):
    """Bytes of the uncompressed file at `offset`; `consumed` of the stored file's bytes were read for them."""

    offset: int
    data: bytes
    consumed: int
    is_last: bool = False


@contextmanager
def open_file(file: InputFile | FoundFile) -> Iterator[BinaryIO]:
    """Open a file's stored bytes.

    Raises InputError if it cannot be read, or if a local file changed since it was listed.
    """
    try:
        if is_local(file.path):
            with open(file.path, "rb", buffering=0) as stream:  # noqa: PTH123 (a Path costs more than the opening)
                _refuse_changed(file, os.fstat(stream.fileno()))
                yield cast("BinaryIO", stream)
        else:
            from pipelines.run_files import open_for_reading  # noqa: PLC0415 - loads Beam

            with open_for_reading(file.path) as stream:
                yield stream
    except store_errors() as error:
        said = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise InputError(f"{file.path}: cannot be read: {said}") from error


def _refuse_changed(file: InputFile | FoundFile, status: os.stat_result) -> None:
    if status.st_size != file.bytes or file.modified not in (None, status.st_mtime_ns):
        raise InputError(
            f"{file.path}: changed since the run began (it had {file.bytes} bytes and has {status.st_size} now);"
            " run again when nothing writes to it"
        )


def check_start(file: InputFile, start: bytes) -> None:
    """Raise InputError if a file's first bytes, some 8 of them, are not those of what its name says."""
    if file.compression == "none":
        if start.startswith(_NO_TEXT_STARTS):
            what = next(what for magic, what in _NO_TEXT.items() if start.startswith(magic))
            raise InputError(f"{file.path}: this is {what}")
    elif not any(start[: len(magic)] == magic[: len(start)] for magic in _STARTS[file.compression]):
        raise InputError(f"{file.path}: this is no .{file.compression} file, though its name says so; rename it")


def read_start(stream: BinaryIO) -> bytes:
    """Give the first bytes, and leave the stream at its start."""
    start = stream.read(8)
    stream.seek(0)
    return start


def decompressed(file: InputFile, stream: BinaryIO, block_bytes: int) -> Iterator[Chunk]:
    """Give the contents of a compressed file, all of its members or frames, in chunks of about `block_bytes`.

    Raises InputError if the data is corrupt or ends before the mark of its end.
    """
    check_start(file, read_start(stream))
    decoded = _gunzip(stream, block_bytes) if file.compression == "gz" else _unzstd(stream, block_bytes)
    offset = 0
    try:
        for data, consumed in decoded:
            yield Chunk(offset, data, consumed)
            offset += len(data)
    except (zlib.error, zstandard.ZstdError) as error:
        raise InputError(
            f"{file.path}: corrupt .{file.compression} data after {offset} bytes of text: {error}; make it again"
        ) from error
    except EOFError as error:
        raise InputError(
            f"{file.path}: truncated .{file.compression} file, cut off after {offset} bytes of text; make it again"
        ) from error


def _gunzip(stream: BinaryIO, block_bytes: int) -> Iterator[tuple[bytes, int]]:
    member = zlib.decompressobj(wbits=31)
    is_padding = False  # zeros may fill up a gzip file behind its last member
    while data := stream.read(_READ_BYTES):
        consumed = len(data)
        while data:
            if member.eof or is_padding:
                data = data.lstrip(b"\0")
                is_padding = not data
                if is_padding:
                    break
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(data, block_bytes), consumed
            consumed = 0
            data = member.unused_data if member.eof else member.unconsumed_tail
    while not member.eof:
        if not (rest := member.decompress(b"", block_bytes)):
            raise EOFError
        yield rest, 0


def _unzstd(stream: BinaryIO, block_bytes: int) -> Iterator[tuple[bytes, int]]:
    # Frames of `zstd --long=31`, as large public dumps have them, need a window of 2 GiB.
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    frame = decompressor.decompressobj()
    read_bytes = min(_READ_BYTES, block_bytes)
    while data := stream.read(read_bytes):
        consumed = len(data)
        while data:
            if frame.eof:
                frame = decompressor.decompressobj()
            decoded = frame.decompress(data)
            yield decoded, consumed
            # All that one call decodes is in memory at once, so highly repetitive data is fed in smaller pieces.
            ratio = len(decoded) // len(data) + 1
            read_bytes = max(1, min(_READ_BYTES, block_bytes // ratio))
            consumed = 0
            data = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError


def without_bom(file: InputFile, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Drop the byte order mark that a file may start with. Raises InputError for one of UTF-16 or UTF-32."""
    first = next(chunks, None)
    while first is not None and first.offset == 0 and len(first.data) < _LONGEST_BOM:
        if not any(bom.startswith(first.data) for bom in (_BOM, *_WIDE_BOMS)) or (more := next(chunks, None)) is None:
            break
        first = Chunk(0, first.data + more.data, first.consumed + more.consumed, more.is_last)
    if first is not None:
        if first.offset == 0 and first.data.startswith(_WIDE_BOMS):
            raise InputError(f"{file.path}: this is {_WIDE_TEXT}")
        cut = len(_BOM) if first.offset == 0 and first.data.startswith(_BOM) else 0
        yield Chunk(first.offset + cut, first.data[cut:], first.consumed, first.is_last)
    yield from chunks


def read_whole(file: InputFile, stream: BinaryIO, limit: int, block_bytes: int) -> tuple[bytes | None, int]:
    """Give a file's text without byte order mark, or None if it has more than `limit` bytes; and the stored bytes read.

    A compressed file is read to its end even so: whether it is whole must be known.
    """
    if file.compression == "none" or file.bytes == 0:
        return _read_plain(file, stream, limit), file.bytes
    whole: list[bytes] = []
    held = consumed = 0
    for chunk in without_bom(file, decompressed(file, stream, block_bytes)):
        consumed += chunk.consumed
        held += len(chunk.data)
        if held <= limit:
            whole.append(chunk.data)
        else:
            whole.clear()
    return None if held > limit else b"".join(whole), consumed


def _read_plain(file: InputFile, stream: BinaryIO, limit: int) -> bytes | None:
    if file.bytes > limit + len(_BOM):
        check_start(file, read_start(stream))
        return None
    pieces = [stream.read(file.bytes)]
    while len(pieces[-1]) and sum(map(len, pieces)) < file.bytes:
        pieces.append(stream.read(file.bytes))
    text = b"".join(pieces) if len(pieces) > 1 else pieces[0]
    check_start(file, text)
    text = text.removeprefix(_BOM)
    return None if len(text) > limit else text
