"""Cuts a stream of rows into Parquet row groups at places that depend on the rows alone."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.columns import conform

MOST_ROWS = 1 << 17
MOST_BYTES = 8 << 20


def row_groups(
    batches: Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema,
    *,
    most_rows: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[pa.Table]:
    """Give the rows again in tables of at most `most_rows` rows, each closed by the row that reaches `most_bytes`.

    Args:
        batches: Rows in their order, however they are batched.
        schema: What each batch must look like.
        most_rows: Rows in a group.
        most_bytes: Bytes of values in a group, more by its last row; bounds what a reader holds at a time.

    Returns:
        Tables with one chunk a column, dictionaries without values that the group has not; none for no rows.

    Raises:
        schemas.columns.SchemaError: A batch does not look like that.
    """
    waiting: list[pa.Table] = []
    rows = size = 0
    for batch in batches:
        table = conform(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]), schema)
        ends = np.cumsum(_row_sizes(table))
        start = 0
        while start < table.num_rows:
            before = int(ends[start - 1]) if start else 0
            by_size = int(np.searchsorted(ends, most_bytes - size + before)) + 1
            end = min(by_size, start + most_rows - rows)
            if end > table.num_rows:
                waiting.append(table.slice(start))
                rows += table.num_rows - start
                size += int(ends[-1]) - before
                break
            waiting.append(table.slice(start, end - start))
            yield _closed(waiting)
            waiting, rows, size, start = [], 0, 0, end
    if rows:
        yield _closed(waiting)


def _closed(rows: list[pa.Table]) -> pa.Table:
    """Join the rows of a group. Its dictionaries have its own values alone, in the order in which they come."""
    table = pa.concat_tables(rows).combine_chunks()
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            values: Any = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field, values.combine_chunks().dictionary_encode())
    return table


def _row_sizes(table: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Give the bytes of each row's values, int64; lists count 8 bytes."""
    sizes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        if _is_variable(column.type):
            lengths = pc.fill_null(pc.binary_length(column), 0)
            sizes += lengths.to_numpy().astype(np.int64)
        else:
            sizes += column.type.bit_width // 8 if pa.types.is_primitive(column.type) else 8
    return sizes


def _is_variable(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_kind(data_type) for is_kind in kinds)
