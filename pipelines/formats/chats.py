"""JSON Lines of chats: each line is taken whole, and `tokenize_lib.chat` says what of it is counted."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.formats.blocks import BAD_RECORDS, NO_BAD_RECORDS, Block, Marks, documents_batch, record_rules
from pipelines.splits import ReadOptions
from tokenize_lib._native import parse_jsonl, parse_lines
from tokenize_lib.chat import ChatReader

Numbers = npt.NDArray[np.int64]
_NO_FIELD = "\x01"  # a text for the parser of JSON Lines, which wants one; no chat has a field of this name


def read_chats(data: bytes, position: int, row: int, options: ReadOptions, reader: ChatReader) -> Block:
    """Read the lines of a block as chats; the text of each document is its line, and blank lines are none.

    Args:
        data: Whole lines.
        position: Where they begin, in bytes of the uncompressed file.
        row: The number of the first, from 0 in the split.
        options: How records are read.
        reader: Reads chats.

    Returns:
        The block, with `Block.chats`; its documents are those chats.
    """
    rules = record_rules(options)
    (lines, bad), count, marks = parse_lines(data, position, row, rules)
    bad = bad or NO_BAD_RECORDS
    rows = np.setdiff1d(np.arange(row, row + count), bad["row"].to_numpy(), assume_unique=True)
    records: Any = lines["text"]
    chats = reader.read(records)
    reasons = dict(chats.bad)
    fields, without = _kept_fields(records.take(pa.array(chats.rows)), options)
    if without:
        reasons |= {int(chats.rows[place]): reason for place, reason in without.items()}
        left = np.delete(chats.rows, list(without))
        chats = reader.read(records.take(pa.array(left)))
        chats.rows = left
    chosen: Any = pa.array(chats.rows)
    documents = documents_batch(lines["position"].take(chosen), records.take(chosen), fields)
    if reasons:
        bad = _with_reasons(bad, lines["position"].to_numpy(), rows, reasons)
    return Block(documents, bad, count, Marks(0, *marks[1:]), 0, chats)


def _with_reasons(bad: pa.RecordBatch, positions: Numbers, rows: Numbers, reasons: dict[int, str]) -> pa.RecordBatch:
    """Give bad lines and bad chats, in their order."""
    places = np.array(sorted(reasons))
    columns = [pa.array(positions[places]), pa.array(rows[places]), pa.array([reasons[at] for at in places.tolist()])]
    both = pa.Table.from_batches([bad, pa.RecordBatch.from_arrays(columns, schema=BAD_RECORDS)])
    [ordered] = both.sort_by("position").combine_chunks().to_batches()
    return ordered


def _kept_fields(lines: "pa.Array[Any]", options: ReadOptions) -> "tuple[dict[str, pa.Array[Any]], dict[int, str]]":
    """Give the kept fields of lines that are objects with a member, and why some of them have none, by place."""
    if not options.kept_fields:
        return {}, {}
    given: list[Any] = lines.to_pylist()
    opened = [b'{"\\u0001":"",' + line.lstrip()[1:] for line in given]
    names = [_NO_FIELD, *options.kept_fields]
    (documents, bad), _, _ = parse_jsonl(b"\n".join(opened) + b"\n", 0, 0, names, record_rules(options))
    fields = dict(zip(options.kept_fields, documents.columns[2:], strict=True))
    without = NO_BAD_RECORDS if bad is None else bad
    return fields, {row["row"]: row["reason"] for row in without.to_pylist()}
