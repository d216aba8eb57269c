"""Blocks of whole lines, from a range of a file or from a decompressed stream.

A line belongs to the range in which it starts; it ends at a newline byte and nowhere else.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from pipelines.formats.streams import Chunk, check_start, decompressed, read_start, without_bom
from pipelines.splits import Split
from tokenize_lib.errors import InputError

_TAIL_BYTES = 64 << 10  # read at first to find the end of a range's last line


class LineBlock(NamedTuple):
    """Whole lines from `position` on, in bytes of the uncompressed file; no `data` for a line longer than the limit."""

    position: int
    data: bytes | None
    consumed: int


def read_lines(split: Split, stream: BinaryIO, limit: int, block_bytes: int) -> Iterator[LineBlock]:
    """Give the lines of a split in blocks of about `block_bytes`, or as long as one line.

    A byte order mark at the start of the file is dropped. A line longer than `limit` bytes is not held in memory.
    """
    if split.file.compression != "none":
        yield from _line_blocks(without_bom(split.file, decompressed(split.file, stream, block_bytes)), None, limit)
        return
    if split.start == 0:
        check_start(split.file, read_start(stream))
    yield from _line_blocks(without_bom(split.file, _range_chunks(split, stream, block_bytes)), split.end, limit)


def _range_chunks(split: Split, stream: BinaryIO, block_bytes: int) -> Iterator[Chunk]:
    """Give the bytes of the lines that start in a range: from its first line start on, past its end to the next one."""
    # A line starts at `start` if a newline stands right before it.
    position = max(split.start - 1, 0)
    stream.seek(position)
    inside = split.start == 0
    data = b""
    while position < split.end:
        data = stream.read(min(block_bytes, split.end - position))
        if not data:
            raise InputError(
                f"{split.file.path}: ended at byte {position} while it was being read, of {split.end}; run again"
            )
        offset, position = position, position + len(data)
        cut = 0 if inside else data.find(b"\n") + 1
        if inside or cut:
            inside = True
            yield Chunk(offset + cut, data[cut:], position - max(offset, split.start), position == split.file.bytes)
        else:
            yield Chunk(position, b"", position - max(offset, split.start))
    tail_bytes = min(_TAIL_BYTES, block_bytes)
    while inside and position < split.file.bytes and not data.endswith(b"\n") and (data := stream.read(tail_bytes)):
        data = data[: data.find(b"\n") + 1] or data
        yield Chunk(position, data, 0)
        position += len(data)
        tail_bytes = min(2 * tail_bytes, block_bytes)


def _line_blocks(chunks: Iterator[Chunk], end: int | None, limit: int) -> Iterator[LineBlock]:
    """Cut chunks where lines end. Of a line longer than `limit`, nothing is read past `end`, where it cannot matter."""
    held: list[bytes] = []
    position = held_bytes = consumed = 0
    skipping = False
    for chunk in chunks:
        data, offset = chunk.data, chunk.offset
        consumed += chunk.consumed
        if skipping:
            cut = data.find(b"\n") + 1
            if not cut:
                if end is not None and offset >= end:
                    break
                continue
            data, offset, skipping = data[cut:], offset + cut, False
        if not held_bytes:
            held, position = [], offset
        cut = len(data) if chunk.is_last and held_bytes + len(data) <= limit else data.rfind(b"\n") + 1
        if cut:
            yield LineBlock(position, b"".join((*held, memoryview(data)[:cut])), consumed)
            held, position, held_bytes, consumed = [], offset + cut, 0, 0
        held.append(data[cut:])
        held_bytes += len(data) - cut
        if held_bytes > limit:
            yield LineBlock(position, None, consumed)
            held, held_bytes, consumed, skipping = [], 0, 0, True
    if held_bytes or consumed:
        yield LineBlock(position, b"".join(held), consumed)
