"""The table of records that could not be read: where each stands, and why."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.document_batches import SplitBad, ipc_batch
from pipelines.documents import Tally
from schemas.bad_records import BAD_RECORDS
from schemas.columns import conform


def number_bad_records(tallies: Iterable[Tally], bad: Iterable[SplitBad]) -> pa.Table:
    """Give the table of `schemas.bad_records` for what `ReadDocuments` put out, sorted by source and position.

    A worker numbers rows within its split; the rows of the splits before it are added here. (A file that is one
    document has none, and no tally of its own.)
    """
    rows_before: dict[tuple[int, int], int] = {}
    source, rows = -1, 0
    for tally in sorted(tallies, key=lambda tally: (tally.source, tally.start)):
        source, rows = tally.source, rows if tally.source == source else 0
        rows_before[source, tally.start] = rows
        rows += tally.rows
    tables = [BAD_RECORDS.empty_table()]
    for split in bad:
        records = ipc_batch(split.records)
        columns = [
            pa.repeat(pa.scalar(split.path), records.num_rows),
            records.column("position"),
            pc.add(records.column("row"), rows_before.get((split.source, split.start), 0) + 1),
            records.column("reason"),
        ]
        tables.append(
            pa.Table.from_batches([conform(pa.RecordBatch.from_arrays(columns, names=BAD_RECORDS.names), BAD_RECORDS)])
        )
    return pa.concat_tables(tables).sort_by([("source", "ascending"), ("position", "ascending")])
