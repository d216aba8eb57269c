"""``merges.parquet``: what training learned, in the order in which it learned it."""

import pyarrow as pa

from schemas.columns import column, table_schema

MERGES = table_schema(
    "merges",
    [
        column("rank", pa.int32(), meaning="Place in the order of merges, from 0.", unit="merges"),
        column("left_id", pa.int32(), meaning="Id of the left token of the pair.", unit="token id"),
        column("right_id", pa.int32(), meaning="Id of the right token of the pair.", unit="token id"),
        column("new_id", pa.int32(), meaning="Id of the token that the merge makes.", unit="token id"),
        column("left", pa.binary(), meaning="The left token, marks included.", unit="bytes"),
        column("right", pa.binary(), meaning="The right token, marks included.", unit="bytes"),
        column(
            "new",
            pa.binary(),
            meaning="The token made: left and right joined, without the right one's continuing prefix.",
            unit="bytes",
        ),
        column(
            "pair_count",
            pa.int64(),
            meaning="How often the pair stood in the corpus when it was merged; places may overlap.",
            unit="occurrences",
        ),
        column(
            "replaced",
            pa.int64(),
            meaning=(
                "In how many places of the corpus it was merged: by so much the corpus' tokens became fewer. "
                "Under pair_count only where places overlapped."
            ),
            unit="occurrences",
        ),
    ],
    meaning="A row is one merge. Sorted by rank. It does not say in which round it was made, as that "
    "depends on the memory and the merges do not: see first_rank and merges in rounds.",
)
