"""A block: the records read from a split in one go, sorted into documents and bad records."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from pipelines.splits import ReadOptions
from tokenize_lib._native import RecordRules, screen_texts

_INT64: "pa.Field[Any]" = pa.field("position", pa.int64(), nullable=False)
_REASON: "pa.Field[Any]" = pa.field("reason", pa.string(), nullable=False)
BAD_RECORDS = pa.schema([_INT64, _INT64.with_name("row"), _REASON])


class Block(NamedTuple):
    """Records of a split.

    documents: (position: int64, text: large_binary of valid UTF-8, then a large_string each of the kept fields).
    bad: (position: int64, row: int64 from 0 in the split, reason: string).
    rows: lines or rows passed, blank ones too. consumed: bytes of the stored file read for it.
    """

    documents: pa.RecordBatch
    bad: pa.RecordBatch
    rows: int
    consumed: int


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


def too_long(position: int, row: int, limit: int) -> pa.RecordBatch:
    """Give the bad record for one that is longer than `limit` bytes."""
    return pa.RecordBatch.from_pydict(
        {"position": [position], "row": [row], "reason": [f"longer than {limit} bytes"]}, schema=BAD_RECORDS
    )


def no_documents(options: ReadOptions) -> pa.RecordBatch:
    """Give a batch of no documents."""
    fields = {name: pa.array([], pa.large_string()) for name in options.kept_fields}
    return documents_batch(pa.array([], pa.int64()), pa.array([], pa.large_binary()), fields)


def no_bad_records() -> pa.RecordBatch:
    """Give a batch of no bad records."""
    return pa.RecordBatch.from_pylist([], schema=BAD_RECORDS)


def screen(texts: "pa.Array[Any]", field: str, rules: RecordRules) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Check a large_binary array: (position, text) of what is fit, and the bad records, each placed by its index."""
    screened = screen_texts(texts, field, rules)
    if screened is None:
        return documents_batch(pa.array(range(len(texts)), pa.int64()), texts, {}), no_bad_records()
    return screened
