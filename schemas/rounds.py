"""``rounds.parquet``: how training went. Unlike the other tables it depends on the memory budget and the machine."""

import pyarrow as pa

from schemas.columns import column, table_schema

ROUNDS = table_schema(
    "rounds",
    [
        column("round", pa.int32(), meaning="Number of the round, from 1.", unit="rounds"),
        column(
            "threshold",
            pa.int64(),
            meaning="Pairs that counted at least this were live: the round made all merges down to it.",
            unit="occurrences",
        ),
        column("best_count", pa.int64(), meaning="Count of the best pair when the round began.", unit="occurrences"),
        column("live_pairs", pa.int64(), meaning="Pairs that counted the threshold or more.", unit="distinct pairs"),
        column("distinct_pairs", pa.int64(), meaning="Pairs in the corpus when it began.", unit="distinct pairs"),
        column(
            "segments",
            pa.int64(),
            meaning="Rows of the segment table that was merged; equal ones summed where it paid.",
            unit="segments",
        ),
        column("segment_symbols", pa.int64(), meaning="Symbols in the segment table.", unit="symbols"),
        column(
            "first_rank",
            pa.int32(),
            meaning="Rank of the first merge that the round made; its merges are this rank and those after it.",
            unit="merges",
        ),
        column("merges", pa.int32(), meaning="Merges that the round made.", unit="merges"),
        column("seconds", pa.float64(), meaning="Wall time of the round.", unit="seconds"),
        column(
            "bytes_shuffled",
            pa.int64(),
            meaning="Size of the partial tables that went from workers to their sums and to the driver.",
            unit="bytes",
        ),
    ],
    meaning="A row is one round of training. Sorted by round.",
)
