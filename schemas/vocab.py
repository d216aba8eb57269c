"""``vocab.parquet``: every token with its id."""

import pyarrow as pa

from schemas.columns import column, table_schema

KINDS = ("special", "alphabet", "merge")
"""Values of ``kind``."""

VOCAB = table_schema(
    "vocab",
    [
        column("id", pa.int32(), meaning="Id of the token; ids have no gaps.", unit="token id"),
        column("token", pa.binary(), meaning="The token's bytes, marks included.", unit="bytes"),
        column(
            "text",
            pa.string(),
            meaning="The token as text; null when its bytes are a part of a character only.",
            unit="text",
            nullable=True,
        ),
        column(
            "kind",
            pa.string(),
            meaning="special: given by option; alphabet: a start symbol; merge: learned.",
            unit="special, alphabet or merge",
        ),
        column(
            "rank", pa.int32(), meaning="Rank of the merge that made it; null for others.", unit="merges", nullable=True
        ),
    ],
    meaning="A row is one token. Sorted by id: special tokens, the start alphabet, merges in their order.",
)
