"""Parquet: every kind of text column gives the same documents, in bounded memory."""

import gzip
import subprocess
import sys
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.parquet import column_type
from tests.pipelines.reading import read
from tokenize_lib.errors import InputError

TEXTS = ["abc", "", "កាហ្វេ", "abc", "d\n\0"]


def write(directory: Path, table: pa.Table, **options: object) -> Path:
    path = directory / "a.parquet"
    pq.write_table(table, path, **options)
    return path


@pytest.mark.parametrize(
    "column_kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_binary()),
    ],
    ids=str,
)
@pytest.mark.parametrize("keeps_arrow_schema", [True, False])
def test_every_kind_of_text_column(tmp_path: Path, column_kind: pa.DataType, keeps_arrow_schema: bool) -> None:
    texts = pa.array(TEXTS).cast(pa.large_binary())
    if pa.types.is_dictionary(column_kind):
        encoded = texts.dictionary_encode()
        column = pa.DictionaryArray.from_arrays(
            encoded.indices.cast(column_kind.index_type), encoded.dictionary.cast(column_kind.value_type)
        )
    else:
        column = texts.cast(column_kind)
    result = read(write(tmp_path, pa.table({"text": column}), store_schema=keeps_arrow_schema))
    assert result.texts == [text.encode() for text in TEXTS]
    assert result.positions == [0, 1, 2, 3, 4]
    assert (result.sum("kept"), result.sum("empty"), result.sum("rows")) == (4, 1, 5)


rows = st.lists(
    st.one_of(st.none(), st.binary(max_size=6), st.text(max_size=4).map(str.encode)), min_size=1, max_size=40
)


@settings(max_examples=100, deadline=None)
@given(
    texts=rows,
    group_rows=st.integers(1, 10),
    split_bytes=st.integers(1, 2000),
    block_bytes=st.integers(1, 40),
    on_bad_record=st.sampled_from(["skip", "replace"]),
    null=st.sampled_from(["bad", "empty"]),
)
def test_rows_split_anywhere_are_the_rows(  # noqa: PLR0917
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[bytes | None],
    group_rows: int,
    split_bytes: int,
    block_bytes: int,
    on_bad_record: str,
    null: str,
) -> None:
    table = pa.table({"text": pa.array(texts, pa.binary()), "id": range(len(texts))})
    path = write(tmp_path_factory.mktemp("rows"), table, row_group_size=group_rows)
    result = read(
        path, split_bytes=split_bytes, block_bytes=block_bytes, on_bad_record=on_bad_record, null=null, id_field="id"
    )
    documents, bad, mended_count = [], [], 0
    for row, text in enumerate(texts):
        if text is None:
            mended = "" if null == "empty" else None
        else:
            mended = text.decode(errors="replace")
            if on_bad_record == "skip" and mended.encode() != text:
                mended = None
        if mended is None:
            bad.append((row, row + 1))
        else:
            documents.append((row, mended.encode(), [str(row)]))
            mended_count += text is not None and mended.encode() != text
    assert [document[1:] for document in result.documents] == documents
    assert [(record["position"], record["row"]) for record in result.bad] == bad
    assert result.sum("mended") == mended_count
    assert result.sum("not_nfc") == sum(not unicodedata.is_normalized("NFC", text.decode()) for _, text, _ in documents)
    assert result.sum("rows") == len(texts)
    assert result.consumed == path.stat().st_size


def test_nested_and_dotted_columns(tmp_path: Path) -> None:
    struct = pa.array([{"b": "x", "n": 1}, None, {"b": None, "n": 3}], pa.struct({"b": pa.string(), "n": pa.int32()}))
    path = write(tmp_path, pa.table({"a": struct, "c.d": ["1", "2", "3"]}))
    result = read(path, text_field="a.b", group_by=("a.n", "c.d"), null="empty")
    assert [(text, fields) for _, _, text, fields in result.documents] == [
        (b"x", ["1", "1"]),
        (b"", [None, "2"]),
        (b"", ["3", "3"]),
    ]
    assert read(path, text_field="c.d").texts == [b"1", b"2", b"3"]


def test_a_dotted_path_prefers_the_column_of_that_name() -> None:
    schema = pa.schema({"a": pa.struct({"b": pa.int32(), "c": pa.struct({"d": pa.bool_()})}), "a.b": pa.string()})
    assert column_type(schema, "a.b") == pa.string()
    assert column_type(schema, "a.c.d") == pa.bool_()
    assert column_type(schema, "a.x") is None
    assert column_type(schema, "x") is None


def test_labels_become_strings(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["t", "u"],
            "whole": [1, None],
            "flag": [True, False],
            "label": pa.array(["x", "y"]).dictionary_encode(),
            "bytes": [b"a\\b", b"\xc3\xa9\\\xff"],
            "day": pa.array([0, 1], pa.date32()),
        }
    )
    result = read(write(tmp_path, table), group_by=("whole", "flag", "label", "bytes", "day"))
    assert [fields for _, _, _, fields in result.documents] == [
        ["1", "true", "x", "a\\b", "1970-01-01"],
        [None, "false", "y", r"é\\\xff", "1970-01-02"],
    ]


def test_a_null_or_invalid_row_fails_with_its_row(tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"text": ["a", "b", "c", None]}), row_group_size=1)
    with pytest.raises(InputError, match=r'a.parquet: row 4: field "text" is null; --on-bad-record skip'):
        read(path, split_bytes=1)
    path = write(tmp_path, pa.table({"text": [b"a", b"\xff"]}))
    with pytest.raises(InputError, match=r"a.parquet: row 2: invalid UTF-8 at its byte 0; --on-bad-record skip"):
        read(path)
    path = write(tmp_path, pa.table({"text": ["a", "b" * 60]}))
    with pytest.raises(InputError, match=r"a.parquet: row 2: longer than 50 bytes; --on-bad-record skip"):
        read(path, max_document_bytes=50)


def test_a_character_cut_across_two_rows_is_two_bad_rows(tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"text": [b"\xc3", b"\xa9", b"\xc3\xa9"]}))
    result = read(path, on_bad_record="skip")
    assert result.positions == [2]
    assert [record["row"] for record in result.bad] == [1, 2]


def test_a_file_of_no_rows_and_a_compressed_file(tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"text": pa.array([], pa.string())}))
    assert read(path).texts == []
    path = write(tmp_path, pa.table({"text": ["a", "b"]}), row_group_size=1)
    packed = tmp_path / "b.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).positions == [0, 1]
    packed.write_bytes(gzip.compress(path.read_bytes())[:-8])
    with pytest.raises(InputError, match=r"b.parquet.gz: truncated .gz file"):
        read(packed)


def test_damaged_pages(tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"text": [f"{n} some text" for n in range(1000)]}), compression="zstd")
    stored = bytearray(path.read_bytes())
    stored[100:200] = bytes(100)
    path.write_bytes(stored)
    with pytest.raises(InputError, match=r"a.parquet: (not a Parquet file that can be read|cannot be read): "):
        read(path)


READ_AND_MEASURE = """
import resource, sys
from pipelines.documents import Tally, read_splits
from pipelines.inputs import ReadOptions, plan_input
options = ReadOptions()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
items = read_splits(plan_input([sys.argv[1]], options).splits, options)
text_bytes = sum(item.text_bytes for item in items if isinstance(item, Tally))
print(text_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("is_dictionary", [True, False])
def test_a_column_of_over_two_gigabytes_is_read_in_little_memory(tmp_path: Path, is_dictionary: bool) -> None:
    text = "some words of text, " * 5000  # 100 kB
    block = pa.array([f"{n:06}{text}" for n in range(220)])
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(
        path, pa.schema({"text": pa.string()}), compression="zstd", use_dictionary=is_dictionary
    ) as writer:
        writer.write_table(pa.table({"text": pa.chunked_array([block] * 100)}), row_group_size=22_000)
    assert pq.ParquetFile(path).metadata.num_row_groups == 1
    done = subprocess.run([sys.executable, "-c", READ_AND_MEASURE, path], capture_output=True, text=True, check=True)
    text_bytes, grown_kilobytes = map(int, done.stdout.split())
    assert text_bytes == 22_000 * 100_006
    assert grown_kilobytes < 400_000
