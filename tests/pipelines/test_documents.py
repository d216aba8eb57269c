"""Any file, cut anywhere: the documents are those of the naive twin."""

import gzip
import tempfile
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.splits import ReadOptions
from tests.oracles.documents import read_file
from tests.pipelines.reading import Read, read
from tokenize_lib.errors import InputError

pieces = st.sampled_from(
    [
        b"a",
        b"bc def",
        "កាហ្វេ".encode(),
        "\u2028".encode(),
        "e\u0301".encode(),
        "\u0323\u0302".encode(),
        b"\0",
        b"\r",
        b"\n",
        b"\n",
        b"\r\n",
        b"\xff",
        b"\xc3",
        b"\xa9",
        b"\xef\xbb\xbf",
        b" ",
    ]
)
text_files = st.lists(pieces, max_size=30).map(b"".join)
values = st.sampled_from(
    [
        '"abc"',
        '"\\ud800b"',
        '"\\udc00"',
        '"\\ud83d\\ude00"',
        '"\\ud83d\\ud83d\\ude00\\n"',
        '"a\tb"',
        '""',
        '"\\u0000"',
        '"\\x"',
        '"កា"',
        '"e\\u0301"',
        '"\u0302\u0323"',
        "null",
        "1.0",
        "-0",
        "1e400",
        "01",
        "NaN",
        "true",
        "[1, {}]",
        "{}",
        '{"b": "x"}',
        '{"b": null, "b": "y", "c": 7}',
        '{"b.c": "z"}',
        '{"b": {"c": "deep"}}',
    ]
)
keys = st.sampled_from(['"text"', '"te\\u0078t"', '"id"', '"a"', '"a.b"', '"other"', '"\\ud800"', '"a.b.c"', '"b"'])
objects = st.lists(st.tuples(keys, values), max_size=4).map(
    lambda pairs: "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
)
json_lines = st.one_of(
    objects,
    objects,
    objects,
    st.sampled_from(["", " ", "[]", '"text"', "{", '{"text": "a"} b', "3", "\t", '{"text": "a",}']),
)
json_files = st.lists(st.tuples(json_lines, st.sampled_from(["\n", "\r\n", "\n\n"])), max_size=8).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)
damaged_json_files = st.tuples(
    json_files, st.integers(0, 400), st.sampled_from([b"", b"\xff", b"\xed\xa0\x80", b"\n"])
).map(lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :])


def agrees(result: Read, data: bytes, file_format: str, **options: object) -> None:
    expected = read_file(data, file_format, ReadOptions(**options))
    assert [document[1:] for document in result.documents] == expected.documents
    assert [(bad["position"], bad["row"]) for bad in result.bad] == [(at, row + 1) for at, row in expected.bad]
    assert result.sum("rows") == expected.rows
    assert result.sum("kept") == sum(text != b"" for _, text, _ in expected.documents)
    assert result.sum("empty") == sum(text == b"" for _, text, _ in expected.documents)
    assert result.sum("bad") == len(expected.bad)
    assert result.sum("mended") == expected.mended
    texts = [text.decode() for _, text, _ in expected.documents]
    assert result.sum("not_nfc") == sum(not unicodedata.is_normalized("NFC", text) for text in texts)
    assert result.sum("text_bytes") == sum(len(text) for _, text, _ in expected.documents)


def agrees_when_written(
    name: str, stored: bytes, data: bytes, file_format: str, *, split_bytes: int, block_bytes: int, **options: object
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_bytes(stored)
        result = read(path, split_bytes=split_bytes, block_bytes=block_bytes, **options)
    agrees(result, data, file_format, **options)
    assert result.consumed == len(stored)


@settings(max_examples=300, deadline=None)
@given(
    data=text_files.filter(bool),
    split_bytes=st.integers(1, 40),
    block_bytes=st.integers(1, 20),
    on_bad_record=st.sampled_from(["skip", "replace"]),
    limit=st.sampled_from([3, 1 << 20]),
)
def test_text_cut_anywhere_equals_the_twin(
    data: bytes, split_bytes: int, block_bytes: int, on_bad_record: str, limit: int
) -> None:
    agrees_when_written(
        "a.txt",
        data,
        data,
        "text",
        split_bytes=split_bytes,
        block_bytes=block_bytes,
        on_bad_record=on_bad_record,
        max_document_bytes=limit,
    )


@settings(max_examples=300, deadline=None)
@given(
    data=damaged_json_files.filter(bool),
    split_bytes=st.integers(1, 100),
    block_bytes=st.integers(1, 60),
    on_bad_record=st.sampled_from(["skip", "replace"]),
    null=st.sampled_from(["bad", "empty"]),
    text_field=st.sampled_from(["text", "text", "a.b", "a.b.c"]),
    id_field=st.sampled_from([None, "id", "text", "a.b"]),
    group_by=st.sampled_from([(), ("a.b", "other"), ("a",), ("a.c", "a.b.c")]),
)
def test_json_lines_cut_anywhere_equal_the_twin(
    data: bytes, split_bytes: int, block_bytes: int, **options: object
) -> None:
    agrees_when_written("a.jsonl", data, data, "jsonl", split_bytes=split_bytes, block_bytes=block_bytes, **options)


def compress(data: bytes, cuts: list[int], suffix: str) -> bytes:
    """Several members or frames joined, as `cat` of compressed shards makes them."""
    ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [data[start:end] for start, end in pairwise(ends)]
    if suffix == "gz":
        return b"".join(gzip.compress(part) for part in parts)
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


@settings(max_examples=150, deadline=None)
@given(
    data=text_files,
    cuts=st.lists(st.integers(0, 60), max_size=3),
    block_bytes=st.integers(1, 20),
    suffix=st.sampled_from(["gz", "zst"]),
)
def test_joined_members_and_frames_are_all_read(data: bytes, cuts: list[int], block_bytes: int, suffix: str) -> None:
    agrees_when_written(
        f"a.txt.{suffix}",
        compress(data, cuts, suffix),
        data,
        "text",
        split_bytes=10,
        block_bytes=block_bytes,
        on_bad_record="skip",
    )


@settings(max_examples=100, deadline=None)
@given(
    data=st.binary(min_size=1, max_size=200),
    keep=st.floats(0, 1, exclude_max=True),
    suffix=st.sampled_from(["gz", "zst"]),
    joined=st.booleans(),
)
def test_a_part_of_a_compressed_file_is_an_error(data: bytes, keep: float, suffix: str, joined: bool) -> None:
    last = compress(data, [], suffix)
    stored = (last if joined else b"") + last[: 1 + int(keep * (len(last) - 1))]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"a.txt.{suffix}"
        path.write_bytes(stored)
        with pytest.raises(InputError, match=f"a.txt.{suffix}: truncated .{suffix} file"):
            read(path, on_bad_record="skip")
