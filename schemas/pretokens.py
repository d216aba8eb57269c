"""``pretokens/part-*.parquet``: what the corpus is to the trainer, each distinct pretoken once."""

import pyarrow as pa

from schemas.columns import column, table_schema

_ROW = "A row is a distinct pretoken. Each file holds one hash partition, sorted by the bytes of the pretoken."

_COLUMNS = [
    column(
        "pretoken",
        pa.large_binary(),
        meaning="The piece that the pretokenizer cut, after normalization, as UTF-8; merges never cross its edges.",
        unit="UTF-8 bytes",
    ),
    column("count", pa.int64(), meaning="How often the pretoken stands in the corpus.", unit="occurrences"),
]

FIRST_SEEN = column(
    "first_seen",
    pa.binary(16),
    meaning=(
        "Where the pretoken stands first: file in the order of paths (24 bits), document in the file (64 bits), "
        "byte in the normalized document (40 bits); big-endian, so that sorting the bytes sorts by place."
    ),
    unit="place in the corpus",
)

PRETOKENS = table_schema("pretokens", _COLUMNS, meaning=_ROW)
PRETOKENS_FIRST_SEEN = table_schema("pretokens", [*_COLUMNS, FIRST_SEEN], meaning=_ROW)
"""With ``--tie-break first-seen``."""
