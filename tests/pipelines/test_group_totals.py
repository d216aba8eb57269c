"""Totals by group against looking at all documents at once, however they are batched, spilled and merged."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import merge_tables as merging
from pipelines.group_totals import FOLDER, WHOLE, GroupTotals, fields_of_group, group_keys
from pipelines.merge_tables import merge_tables
from pipelines.run_files import RunFiles
from pipelines.summary_rows import summary_rows
from tests.oracles import counts
from tokenize_lib.errors import InputError

TEXTS = st.sampled_from(["", " ", "a", "a b", "ភាសា ខ្មែរ", "học\u3000sinh", "one two three", "x" * 40])
GROUPS = st.none() | st.sampled_from(["", "\0", "\0\0", "a", "a\0", "a\0b", "ab", "ខ"])
UNITS = {"chars": counts.UNITS["chars"], "words": counts.UNITS["words"]}


def totals_of(documents, files, *, batch, most_bytes=1 << 20):
    totals = GroupTotals(files, most_bytes)
    for start in range(0, len(documents), batch):
        part = documents[start : start + batch]
        sizes = [np.array([counts.UNITS[unit](d.text) for d in part]) for unit in ("bytes", "chars", "words")]
        groups = [pa.array(values, pa.large_string()) for values in zip(*(d.groups for d in part), strict=True)]
        totals.add(groups, sizes, [np.array([count(d.text) for d in part]) for count in UNITS.values()])
    return totals.finish()


def rows_of(documents, files, group_columns, *, batch, most_bytes=1 << 20):
    tables = totals_of(documents, files, batch=batch, most_bytes=most_bytes)
    batches = summary_rows(merge_tables(files, FOLDER, tables), group_columns, list(UNITS), [0, 3])
    return [row for rows in batches for row in rows.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(st.tuples(TEXTS, st.tuples(GROUPS, GROUPS)), min_size=1, max_size=40),
    batch=st.integers(1, 50),
    most_bytes=st.sampled_from([1, 2000, 1 << 20]),
    fields=st.integers(0, 2),
)
def test_equal_to_the_plain_twin(tmp_path_factory, documents, batch, most_bytes, fields):
    named = [counts.Document("f", at, text, None, groups[:fields]) for at, (text, groups) in enumerate(documents)]
    columns = ["one", "two"][:fields]
    files = RunFiles(str(tmp_path_factory.mktemp("run")))
    found = rows_of(named, files, columns, batch=batch, most_bytes=most_bytes)
    assert found == counts.summary(named, columns, UNITS, [0, 3])


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.tuples(GROUPS, GROUPS, GROUPS), min_size=1))
def test_keys_of_groups_can_be_read_and_sort_as_the_groups(values):
    keys = group_keys([pa.array(column, pa.string()) for column in zip(*values, strict=True)]).to_pylist()
    assert [tuple(fields_of_group(key, 3)) for key in keys] == values
    by_fields = sorted(values, key=lambda group: [(v is not None, (v or "").encode()) for v in group])
    assert [tuple(fields_of_group(key, 3)) for key in sorted(keys)] == by_fields
    assert all(key > WHOLE for key in keys)


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.integers(0, 30), min_size=1, max_size=300), hundredths=st.sampled_from([50, 90, 95, 99]))
def test_the_oracles_quantile_is_numpys(values, hundredths):
    counts.nearest_rank(values, hundredths)


@pytest.mark.parametrize("small_at_once", [512, 0], ids=["in one pass", "in passes"])
def test_many_groups_over_many_tables(tmp_path, monkeypatch, small_at_once):
    monkeypatch.setattr(merging, "_MOST_SMALL_RUNS", small_at_once)
    texts = ["", "a", "a b c", "a b c d e f"]
    named = [counts.Document("f", at, texts[at % 4], None, (f"g{at % 700:04}",)) for at in range(2000)]
    files = RunFiles(str(tmp_path))
    tables = totals_of(named, files, batch=20, most_bytes=1)
    assert len(tables) == 100  # more than are merged at once
    assert rows_of(named, files, ["g"], batch=20, most_bytes=1) == counts.summary(named, ["g"], UNITS, [0, 3])


def test_more_tokens_than_64_bits_is_said(tmp_path):
    totals = GroupTotals(RunFiles(str(tmp_path)), 1 << 20)
    totals.add([], [np.array([1, 1, 1])] * 3, [np.array([2**62, 2**62, 2**62])])
    batches = summary_rows(merge_tables(RunFiles(str(tmp_path)), FOLDER, totals.finish()), [], ["chars"], [])
    with pytest.raises(InputError, match=r"^about 1\.38e\+19 tokens are more than 64 bits count"):
        list(batches)


def test_counts_above_32_bits(tmp_path):
    totals = GroupTotals(RunFiles(str(tmp_path)), 1 << 20)
    for _ in range(3):
        totals.add([], [np.array([2**40])] * 3, [np.array([2**40])])
    [rows] = summary_rows(merge_tables(RunFiles(str(tmp_path)), FOLDER, totals.finish()), [], ["chars"], [2**39])
    [row] = rows.to_pylist()
    assert (row["tokens_chars"], row["p99_chars"], row["bytes"], row[f"over_{2**39}_chars"]) == (
        3 * 2**40,
        2**40,
        3 * 2**40,
        3,
    )
