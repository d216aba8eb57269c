"""Text, a document a line or a file, and JSON Lines, a document an object."""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from pipelines.formats.blocks import Block, no_documents, record_rules, screen, too_long
from pipelines.formats.lines import read_lines
from pipelines.formats.streams import read_whole
from pipelines.splits import ReadOptions, Split
from tokenize_lib._native import parse_jsonl, parse_lines


def read_line_records(split: Split, stream: BinaryIO, options: ReadOptions, block_bytes: int) -> Iterator[Block]:
    """Read a split of text or JSON Lines. A document's position is its line's offset in the uncompressed file."""
    rules, fields = record_rules(options), list(options.fields)
    rows = 0
    for position, data, consumed in read_lines(split, stream, options.max_document_bytes, block_bytes):
        if data is None:
            yield Block(no_documents(options), too_long(position, rows, options.max_document_bytes), 1, consumed)
            rows += 1
            continue
        if split.file.format == "jsonl":
            documents, bad, count = parse_jsonl(data, position, rows, fields, rules)
        else:
            documents, bad, count = parse_lines(data, position, rows, rules)
            documents = _with_null_fields(documents, options)
        yield Block(documents, bad, count, consumed)
        rows += count


def read_file_document(split: Split, stream: BinaryIO, options: ReadOptions, block_bytes: int) -> Iterator[Block]:
    """Read a file that is one document, at position 0."""
    text, consumed = read_whole(split.file, stream, options.max_document_bytes, block_bytes)
    if text is None:
        yield Block(no_documents(options), too_long(0, 0, options.max_document_bytes), 1, consumed)
        return
    offsets = pa.array([0, len(text)], pa.int64()).buffers()[1]
    texts = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(text)])
    documents, bad = screen(texts, options.text_field, record_rules(options))
    yield Block(_with_null_fields(documents, options), bad, 1, consumed)


def _with_null_fields(documents: pa.RecordBatch, options: ReadOptions) -> pa.RecordBatch:
    """Text has no fields: the kept ones are null."""
    for name in options.kept_fields:
        documents = documents.append_column(name, pa.nulls(documents.num_rows, pa.large_string()))
    return documents


def count_newlines(stream: BinaryIO, end: int, block_bytes: int) -> int:
    """Count the newlines before an offset, which is how many lines start before it, but for the first."""
    count = position = 0
    stream.seek(0)
    while position < end and (data := stream.read(min(block_bytes, end - position))):
        count += data.count(b"\n")
        position += len(data)
    return count
