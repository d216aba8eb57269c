"""The table of records that could not be read: where each stands, and why."""

from bisect import bisect_right
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.document_batches import ipc_batch
from pipelines.documents import Tally
from pipelines.inputs import InputPlan
from schemas.bad_records import BAD_RECORDS
from schemas.columns import conform


def number_bad_records(plan: InputPlan, tallies: Iterable[Tally], bad: Iterable[tuple[int, bytes]]) -> pa.Table:
    """Give the table of `schemas.bad_records` for what `ReadDocuments` put out, sorted by source and position.

    A worker numbers rows within its split. A record lies in the last split of its file that starts at or before its
    position, and the rows of the splits before that one are added.
    """
    starts: dict[int, list[int]] = {}
    rows_before: dict[int, list[int]] = {}
    for tally in sorted(tallies, key=lambda tally: (tally.source, tally.start)):
        starts.setdefault(tally.source, []).append(tally.start)
        rows_before.setdefault(tally.source, [0]).append(rows_before[tally.source][-1] + tally.rows)
    tables = [BAD_RECORDS.empty_table()]
    for source, encoded in bad:
        records = ipc_batch(encoded)
        # The records of a batch come from one split.
        split = bisect_right(starts[source], records.column("position")[0].as_py()) - 1
        columns = [
            pa.repeat(pa.scalar(plan.files[source].path), records.num_rows),
            records.column("position"),
            pc.add(records.column("row"), rows_before[source][split] + 1),
            records.column("reason"),
        ]
        tables.append(
            pa.Table.from_batches([conform(pa.RecordBatch.from_arrays(columns, names=BAD_RECORDS.names), BAD_RECORDS)])
        )
    return pa.concat_tables(tables).sort_by([("source", "ascending"), ("position", "ascending")])
