"""A block: the records read from a split in one go, sorted into documents and bad records."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.splits import ReadOptions
from tokenize_lib._native import RecordRules, screen_texts
from tokenize_lib.chat import Chats

_INT64: "pa.Field[Any]" = pa.field("position", pa.int64(), nullable=False)
_REASON: "pa.Field[Any]" = pa.field("reason", pa.string(), nullable=False)
BAD_RECORDS = pa.schema([_INT64, _INT64.with_name("row"), _REASON])
NO_BAD_RECORDS = pa.RecordBatch.from_pylist([], schema=BAD_RECORDS)


class Marks(NamedTuple):
    """How many documents are of a kind that is told, as the kernel counts them.

    empty: without a character. mended: kept only because U+FFFD was put where a record was bad.
    not_nfc: not in Unicode's composed form (NFC), and so not equal to the same text in it.
    """

    empty: int = 0
    mended: int = 0
    not_nfc: int = 0


class Block(NamedTuple):
    """Records of a split.

    documents: (position: int64, text: large_binary of valid UTF-8, then a large_string each of the kept fields).
    bad: (position: int64, row: int64 from 0 in the split, reason: string).
    rows: lines or rows passed, blank ones too. marks: what the documents are.
    consumed: bytes of the stored files read for it.
    chats: the documents as chats, where they are read as such; a document's text is then its whole record.
    """

    documents: pa.RecordBatch
    bad: pa.RecordBatch
    rows: int
    marks: Marks
    consumed: int
    chats: Chats | None = None


def record_rules(options: ReadOptions) -> RecordRules:
    """Give the rules as the kernel takes them."""
    return RecordRules(
        replace=options.on_bad_record == "replace",
        null_as_empty=options.null == "empty",
        max_document_bytes=options.max_document_bytes,
    )


def documents_batch(
    positions: "pa.Array[Any]", texts: "pa.Array[Any]", fields: "Mapping[str, pa.Array[Any]]"
) -> pa.RecordBatch:
    """Put columns together; kept fields may share a name with the others, so columns go by place."""
    return pa.RecordBatch.from_arrays([positions, texts, *fields.values()], names=["position", "text", *fields])


def too_long(position: int, row: int, consumed: int, options: ReadOptions) -> Block:
    """Give the block of one record that is longer than options allow."""
    fields = {name: pa.array([], pa.large_string()) for name in options.kept_fields}
    documents = documents_batch(pa.array([], pa.int64()), pa.array([], pa.large_binary()), fields)
    reason = f"longer than {options.max_document_bytes} bytes"
    bad = pa.RecordBatch.from_pydict({"position": [position], "row": [row], "reason": [reason]}, schema=BAD_RECORDS)
    return Block(documents, bad, 1, Marks(), consumed)


def screen(texts: "pa.Array[Any]", field: str, rules: RecordRules) -> Block:
    """Check a large_binary array: what is fit, and what is bad, each placed by its index."""
    screened, marks = screen_texts(texts, field, rules)
    if screened is None:
        screened = documents_batch(pa.array(np.arange(len(texts))), texts, {}), None
    documents, bad = screened
    return Block(documents, bad or NO_BAD_RECORDS, len(texts), Marks(*marks), 0)


def with_null_fields(documents: pa.RecordBatch, options: ReadOptions) -> pa.RecordBatch:
    """Give documents the kept fields: plain text has none, so all are null."""
    for name in options.kept_fields:
        documents = documents.append_column(name, pa.nulls(documents.num_rows, pa.large_string()))
    return documents
