"""``bad_records/*.parquet``: records that could not be read, so that none is lost silently."""

import pyarrow as pa

from schemas.columns import column, table_schema

BAD_RECORDS = table_schema(
    "bad_records",
    [
        column("source", pa.string(), meaning="Path of the file.", unit="path"),
        column(
            "position",
            pa.int64(),
            meaning="Text, JSONL: offset of the record in the uncompressed file; Parquet: number of the row, from 0.",
            unit="bytes or rows, by format",
        ),
        column("row", pa.int64(), meaning="Number of the record in the file, from 1.", unit="records"),
        column("reason", pa.string(), meaning="Why it could not be read.", unit="text"),
    ],
    meaning="A row is one record that was set aside. Sorted by source and position.",
)
