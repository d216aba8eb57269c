"""Text, a document a line, and JSON Lines, a document an object."""

from collections.abc import Iterator
from typing import BinaryIO

from pipelines.formats.blocks import NO_BAD_RECORDS, Block, Marks, record_rules, too_long, with_null_fields
from pipelines.formats.chats import read_chats
from pipelines.formats.lines import read_lines
from pipelines.splits import ReadOptions, Split
from tokenize_lib._native import parse_jsonl, parse_lines
from tokenize_lib.chat import ChatReader


def read_line_records(
    split: Split, stream: BinaryIO, options: ReadOptions, block_bytes: int, chats: ChatReader | None = None
) -> Iterator[Block]:
    """Read a split of text or JSON Lines. A document's position is its line's offset in the uncompressed file.

    chats: reads the lines, if they are chats.
    """
    rules, fields = record_rules(options), list(options.fields)
    rows = 0
    for position, data, consumed in read_lines(split, stream, options.max_document_bytes, block_bytes):
        if data is None:
            block = too_long(position, rows, consumed, options)
        elif chats is not None:
            block = read_chats(data, position, rows, options, chats)._replace(consumed=consumed)
        elif split.file.format == "jsonl":
            (documents, bad), count, marks = parse_jsonl(data, position, rows, fields, rules)
            block = Block(documents, bad or NO_BAD_RECORDS, count, Marks(*marks), consumed)
        else:
            (documents, bad), count, marks = parse_lines(data, position, rows, rules)
            documents = with_null_fields(documents, options)
            block = Block(documents, bad or NO_BAD_RECORDS, count, Marks(*marks), consumed)
        rows += block.rows
        yield block


def count_newlines(stream: BinaryIO, end: int, block_bytes: int) -> int:
    """Count the newlines before an offset, which is how many lines start before it, but for the first."""
    count = position = 0
    stream.seek(0)
    while position < end and (data := stream.read(min(block_bytes, end - position))):
        count += data.count(b"\n")
        position += len(data)
    return count
