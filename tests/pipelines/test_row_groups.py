import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.row_groups import row_groups
from schemas.columns import SchemaError, column, table_schema

SCHEMA = table_schema(
    "words",
    [
        column("word", pa.large_binary(), meaning="A word.", unit="bytes"),
        column("count", pa.int64(), meaning="How often.", unit="occurrences"),
        column("note", pa.string(), meaning="Said about it.", unit="text", nullable=True),
    ],
    meaning="A row is a word.",
)


def as_table(rows):
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def naive_groups(rows, most_rows, most_bytes):
    groups, group, size = [], [], 0
    for row in rows:
        word, _, note = row
        group.append(row)
        size += len(word) + 8 + len((note or "").encode())
        if len(group) == most_rows or size >= most_bytes:
            groups.append(group)
            group, size = [], 0
    return [*groups, group] if group else groups


@given(
    rows=st.lists(st.tuples(st.binary(max_size=30), st.integers(0, 9), st.none() | st.text(max_size=5)), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    most_rows=st.integers(1, 12),
    most_bytes=st.integers(1, 120),
)
def test_cuts_depend_on_the_rows_alone(rows, cuts, most_rows, most_bytes):
    table = as_table(rows)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    batches = [table.slice(start, end - start) for start, end in itertools.pairwise(edges)]
    groups = list(row_groups(batches, SCHEMA, most_rows=most_rows, most_bytes=most_bytes))
    found = [[tuple(row.values()) for row in group.to_pylist()] for group in groups]
    assert found == naive_groups(rows, most_rows, most_bytes)
    assert all(column.num_chunks == 1 for group in groups for column in group.columns)


def test_a_batch_that_is_not_as_promised_is_refused():
    with pytest.raises(SchemaError, match="words: found the columns word"):
        list(row_groups([pa.record_batch({"word": [b"a"]})], SCHEMA))
