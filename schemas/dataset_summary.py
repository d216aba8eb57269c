"""``summary.parquet``: a dataset's tokens, by group and in all."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from schemas.columns import column, table_schema
from schemas.document_tokens import document_tokens

QUANTILES = (50, 90, 95, 99)
"""In hundredths."""


def dataset_summary(groups: Sequence[str], tokenizers: Sequence[str], context_limits: Sequence[int]) -> pa.Schema:
    """Give the schema of a run.

    Args:
        groups: Names of the columns of the group fields, from `group_columns`.
        tokenizers: Column names of the tokenizers.
        context_limits: Tokens above which documents are counted.
    """
    return table_schema(
        "summary",
        [
            column("whole", pa.bool_(), meaning="The row stands for all documents, not for a group.", unit="yes or no"),
            *(
                column(name, pa.string(), meaning="The group's --group-by field.", unit="text", nullable=True)
                for name in groups
            ),
            column("documents", pa.int64(), meaning="Documents, empty ones included.", unit="documents"),
            column("empty", pa.int64(), meaning="Documents without a character.", unit="documents"),
            column("bytes", pa.int64(), meaning="Length of the texts in UTF-8.", unit="bytes"),
            column("characters", pa.int64(), meaning="Code points of the texts.", unit="code points"),
            column("words", pa.int64(), meaning="Runs of characters between Unicode white space.", unit="words"),
            *(each for name in tokenizers for each in _of_tokenizer(name, context_limits)),
        ],
        meaning="A row is a group; the first one is the whole dataset, where group fields are null. Sorted by the "
        "group fields, null first. Quantiles are exact, over all documents with empty ones included: the least count "
        "that so many hundredths of the documents do not exceed (nearest rank; numpy's `inverted_cdf`).",
    )


def _of_tokenizer(name: str, context_limits: Sequence[int]) -> "Iterator[pa.Field[Any]]":
    yield column(f"tokens_{name}", pa.int64(), meaning=f"Tokens by {name}.", unit="tokens")
    yield column(f"mean_{name}", pa.float64(), meaning="Mean of a document.", unit="tokens")
    for hundredths in QUANTILES:
        yield column(f"p{hundredths}_{name}", pa.int64(), meaning=f"Quantile {hundredths / 100}.", unit="tokens")
    yield column(f"max_{name}", pa.int64(), meaning="Tokens of the longest document.", unit="tokens")
    ratios = (
        ("characters_per_token", "Code points of a token, on average.", "code points a token"),
        ("bytes_per_token", "Bytes of a token, on average.", "bytes a token"),
        ("tokens_per_word", "Tokens of a word, on average.", "tokens a word"),
    )
    for ratio, meaning, unit in ratios:
        yield column(f"{ratio}_{name}", pa.float64(), meaning=meaning, unit=unit, nullable=True)
    for limit in context_limits:
        yield column(
            f"over_{limit}_{name}", pa.int64(), meaning=f"Documents of more than {limit} tokens.", unit="documents"
        )


def group_columns(fields: Sequence[str], tokenizers: Sequence[str], context_limits: Sequence[int]) -> tuple[str, ...]:
    """Give the column of each group field: its name, or ``group_NAME`` where a column has that name already."""
    taken = {*document_tokens((), tokenizers, chat=True).names, *dataset_summary((), tokenizers, context_limits).names}
    return tuple(f"group_{name}" if name in taken else name for name in fields)
