"""``documents/part-*.parquet``: how many tokens each document has, and nothing of its text."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from schemas.columns import column, table_schema

SOURCE = pa.dictionary(pa.int32(), pa.string())
FIGURES = ("bytes", "characters", "words")


def document_tokens(groups: Sequence[str], tokenizers: Sequence[str], *, chat: bool = False) -> pa.Schema:
    """Give the schema of a run.

    Args:
        groups: Names of the columns of the group fields, from `group_columns`.
        tokenizers: Column names of the tokenizers.
        chat: Documents are chats. Their bytes, characters and words are those of the messages' contents.
    """
    return table_schema(
        "documents",
        [
            column("source", SOURCE, meaning="Path of the file.", unit="path"),
            column(
                "position",
                pa.int64(),
                meaning="Text, JSONL: offset of the record in the uncompressed file; Parquet: number of the row, from "
                "0; a file that is one document: 0.",
                unit="bytes or rows, by format",
            ),
            column("id", pa.string(), meaning="The record's --id-field.", unit="text", nullable=True),
            *(
                column(name, pa.string(), meaning="The record's --group-by field.", unit="text", nullable=True)
                for name in groups
            ),
            column("bytes", pa.int64(), meaning="Length of the text in UTF-8.", unit="bytes"),
            column("characters", pa.int64(), meaning="Code points of the text.", unit="code points"),
            column("words", pa.int64(), meaning="Runs of characters between Unicode white space.", unit="words"),
            *(_chat(tokenizers) if chat else ()),
            *(
                column(tokens_column(name), pa.int64(), meaning=f"Tokens by {name}.", unit="tokens")
                for name in tokenizers
            ),
        ],
        meaning="A row is one document; empty ones have 0 tokens. Sorted by source and position, from part to part. "
        "A group field that has the name of another column here or in summary is called group_NAME.",
    )


def _chat(tokenizers: Sequence[str]) -> "Iterator[pa.Field[Any]]":
    yield column("model", pa.string(), meaning="Of a chat: the model that it names.", unit="text", nullable=True)
    yield column("messages", pa.int64(), meaning="Of a chat: its messages.", unit="messages")
    yield column(
        "images",
        pa.int64(),
        meaning="Of a chat: parts without text (images, audio, files), of which no token is counted.",
        unit="parts",
    )
    for name in tokenizers:
        yield column(
            f"estimate_{name}",
            pa.bool_(),
            meaning=f"Of a chat: tokens_{name} counts something by no published rule.",
            unit="yes or no",
        )


def tokens_column(tokenizer: str) -> str:
    """Give the column of a tokenizer's counts."""
    return f"tokens_{tokenizer}"
