"""Inputs that broke other readers: each kind has its value, and each error says file, place, reason and way out."""

import gzip
import json
import re
import unicodedata
from pathlib import Path

import pytest
import zstandard

from pipelines.documents import Tally, read_splits, total_tally
from pipelines.inputs import ReadOptions, plan_input
from tests.pipelines.reading import read
from tokenize_lib.errors import InputError

BOM = b"\xef\xbb\xbf"
WIDE = "this is text in UTF-16 or UTF-32, by its byte order mark: convert it to UTF-8"


def put(directory: Path, name: str, data: bytes) -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def text(directory: Path, data: bytes, **options: object) -> list[bytes]:
    return read(put(directory, "a.txt", data), **options).texts


def jsonl(directory: Path, data: bytes, **options: object) -> list[bytes]:
    return read(put(directory, "a.jsonl", data), **options).texts


def reasons(path: Path, **options: object) -> list[tuple[int, int, str]]:
    bad = read(path, on_bad_record="skip", **options).bad
    return [(record["position"], record["row"], record["reason"]) for record in bad]


def failure(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


def test_text_ends_lines_at_newline_alone(tmp_path: Path) -> None:
    data = BOM + "a\r\nb\u2028c\x85d\x0b\x0ce\0f\r\rg\n".encode()
    assert text(tmp_path, data) == [b"a\r", "b\u2028c\x85d\x0b\x0ce\0f\r\rg".encode()]


def test_a_byte_order_mark_is_dropped_at_the_start_of_a_file_and_nowhere_else(tmp_path: Path) -> None:
    assert text(tmp_path, BOM + b"a\n" + BOM + b"b") == [b"a", BOM + b"b"]
    assert jsonl(tmp_path, BOM + b'{"text": "a"}\n') == [b"a"]
    assert jsonl(tmp_path, b'{"text": "\\ufeffa"}\n') == [BOM + b"a"]
    assert read(put(tmp_path, "a.txt.gz", gzip.compress(BOM + b"a"))).texts == [b"a"]
    assert text(tmp_path, BOM + b"a\nb", document="file") == [b"a\nb"]
    assert text(tmp_path, BOM) == []


def test_an_empty_line_of_text_is_an_empty_document(tmp_path: Path) -> None:
    result = read(put(tmp_path, "a.txt", b"a\n\n\nb\n"))
    assert result.texts == [b"a", b"", b"", b"b"]
    assert (result.sum("kept"), result.sum("empty"), result.sum("bad")) == (2, 2, 0)


def test_a_blank_line_of_json_lines_is_no_record(tmp_path: Path) -> None:
    result = read(put(tmp_path, "a.jsonl", b'\n{"text": ""}\n \t\r\n{"text": "b"}\n\n'))
    assert result.texts == [b"", b"b"]
    assert (result.sum("rows"), result.sum("kept"), result.sum("empty")) == (5, 1, 1)


def test_one_invalid_byte_costs_one_record(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", b"good\nb\xffd\ngood\n")
    assert read(path, on_bad_record="skip").texts == [b"good", b"good"]
    assert reasons(path) == [(5, 2, "invalid UTF-8 at its byte 1")]
    mended = read(path, on_bad_record="replace")
    assert mended.texts == [b"good", "b\ufffdd".encode(), b"good"]
    assert (mended.sum("kept"), mended.sum("bad"), mended.sum("mended")) == (3, 0, 1)
    assert failure(path) == (
        "a.txt: row 2 (at byte 5): invalid UTF-8 at its byte 1; --on-bad-record skip sets such records aside"
    )


def test_a_lone_surrogate_is_bad_or_replaced(tmp_path: Path) -> None:
    path = put(
        tmp_path, "a.jsonl", b'{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n{"x": "\\udc00", "text": "c"}\n'
    )
    assert read(path, on_bad_record="skip").texts == ["😀".encode(), b"c"]
    assert reasons(path) == [(0, 1, 'field "text" has a lone surrogate')]
    mended = read(path, on_bad_record="replace")
    assert mended.texts == ["a\ufffdb".encode(), "😀".encode(), b"c"]
    assert (mended.sum("kept"), mended.sum("bad"), mended.sum("mended")) == (3, 0, 1)


def test_documents_that_are_not_nfc_are_kept_as_they_are_and_counted(tmp_path: Path) -> None:
    texts = ["Việt", unicodedata.normalize("NFD", "Việt"), "\u0323", "កាហ្វេ", "Å and \u212b", ""]
    result = read(put(tmp_path, "a.txt", "\n".join(texts).encode()))
    assert result.texts == [text.encode() for text in texts[:-1]]
    assert result.sum("not_nfc") == 2
    lines = "\n".join(json.dumps({"text": text}) for text in texts)
    assert read(put(tmp_path, "a.jsonl", lines.encode())).sum("not_nfc") == 2
    for number, text in enumerate(texts):
        put(tmp_path, f"{number}.c", text.encode())
    files = read(tmp_path / "*.c", document="file")
    assert (files.sum("not_nfc"), files.sum("mended"), files.sum("kept"), files.sum("empty")) == (2, 0, 5, 1)
    put(tmp_path, "6.c", b"\xff")
    mended = read(tmp_path / "*.c", document="file", on_bad_record="replace")
    assert (mended.sum("not_nfc"), mended.sum("mended"), mended.sum("kept")) == (2, 1, 6)


def test_bad_lines_of_json_are_set_aside_one_by_one(tmp_path: Path) -> None:
    lines = [
        b'{"text": "good 1"}',
        b'{"body": "x"}',
        b'{"text": null}',
        b'{"text": 7}',
        b'{"text": ["x"]}',
        b'{"text": "x", "rest": }',
        b'{"text": "x"} {"text": "y"}',
        b'["text"]',
        b'{"text": "x"',
        b'{"text": "\xff"}',
        b'{"text": "x\x01"}',
        b'{"text": NaN}',
        b'{"text": 1, "text": "good 2"}',
        b'{"text": "x", "text": 1}',
    ]
    path = put(tmp_path, "a.jsonl", b"\n".join(lines))
    assert read(path, on_bad_record="skip").texts == [b"good 1", b"good 2"]
    expected = {
        2: 'no field "text"',
        3: 'field "text" is null',
        4: 'field "text" is a number, not a string',
        5: 'field "text" is an array, not a string',
        6: "invalid JSON: expected value at column 23",
        7: "invalid JSON: trailing characters at column 15",
        8: "not a JSON object",
        9: "invalid JSON: EOF while parsing an object at column 12",
        10: "invalid UTF-8 at its byte 10",
        11: "invalid JSON: control character (\\u0000-\\u001F) found while parsing a string at column 11",
        12: "invalid JSON: expected value at column 10",
        14: 'field "text" is a number, not a string',
    }
    assert {row: reason for _, row, reason in reasons(path)} == expected


def test_a_missing_field_fails_with_its_place_and_the_way_out(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", b'{"text": "a"}\n{"body": "b"}\n')
    assert failure(path) == (
        'a.jsonl: row 2 (at byte 14): no field "text"; --on-bad-record skip sets such records aside,'
        " --text-field names another field"
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_records_with_messages_are_told_to_be_chats(tmp_path: Path, name: str) -> None:
    data = b'{"text": "a"}\n{"messages": [{"role": "user", "content": "hi"}]}\n'
    path = put(tmp_path, name, gzip.compress(data) if name.endswith(".gz") else data)
    assert failure(path) == (
        f'{name}: row 2 (at byte 14): no field "text"; --on-bad-record skip sets such records aside,'
        " --text-field names another field, --format chat counts chats"
    )


def test_null_is_empty_only_when_asked(tmp_path: Path) -> None:
    data = b'{"text": null}\n{"text": "a"}\n{"body": 1}\n'
    result = read(put(tmp_path, "a.jsonl", data), null="empty", on_bad_record="skip")
    assert result.texts == [b"", b"a"]
    assert (result.sum("kept"), result.sum("empty"), result.sum("bad")) == (1, 1, 1)


def test_dotted_paths_and_kept_fields(tmp_path: Path) -> None:
    lines = [
        {"a": {"b": "x", "n": 1.50}, "id": 12345678901234567890123},
        {"a": {"b": "y", "n": True}, "id": "s"},
        {"a.b": "z", "id": None},
    ]
    path = put(tmp_path, "a.jsonl", b"\n".join(json.dumps(line).encode() for line in lines))
    result = read(path, text_field="a.b", id_field="id", group_by=("a.n",))
    fields = [(text, fields) for _, _, text, fields in result.documents]
    assert fields == [
        (b"x", ["12345678901234567890123", "1.5"]),
        (b"y", ["s", "true"]),
        (b"z", [None, None]),
    ]


def test_a_label_that_is_an_object_is_a_bad_record(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", b'{"text": "a", "meta": {}}\n')
    assert reasons(path, group_by=("meta",)) == [(0, 1, 'field "meta" is an object, not a string, number or boolean')]


def test_the_row_of_a_failure_counts_the_rows_of_earlier_splits(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", b"line\n" * 99 + b"\xff\n" + b"line\n" * 20)
    with pytest.raises(InputError, match=re.escape("a.txt: row 100 (at byte 495): invalid UTF-8")):
        read(path, split_bytes=70, block_bytes=7)
    assert [bad["row"] for bad in read(path, split_bytes=70, block_bytes=7, on_bad_record="skip").bad] == [100]


@pytest.mark.parametrize("suffix", ["txt", "txt.gz", "txt.zst"])
def test_a_long_line_is_read_in_one_piece(tmp_path: Path, suffix: str) -> None:
    data = b"a\n" + b"x" * (64 << 20) + b"\nb"
    compress = {"txt": bytes, "txt.gz": lambda b: gzip.compress(b, 1), "txt.zst": zstandard.ZstdCompressor().compress}
    result = read(put(tmp_path, f"a.{suffix}", compress[suffix](data)))
    assert [len(document) for document in result.texts] == [1, 64 << 20, 1]
    assert result.positions == [0, 2, 3 + (64 << 20)]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.zst", "a.jsonl"])
def test_a_document_that_is_too_long_is_bad_and_names_its_place(tmp_path: Path, name: str) -> None:
    data = b'{"text": "a"}\n{"text": "' + b"x" * 100 + b'"}\n{"text": "b"}\n'
    path = put(tmp_path, name, zstandard.ZstdCompressor().compress(data) if name.endswith("zst") else data)
    assert reasons(path, max_document_bytes=50, block_bytes=20, split_bytes=30) == [(14, 2, "longer than 50 bytes")]
    assert len(read(path, max_document_bytes=50, on_bad_record="skip").texts) == 2
    with pytest.raises(InputError, match=re.escape(f"{name}: row 2 (at byte 14): longer than 50 bytes")):
        read(path, max_document_bytes=50)


def test_a_file_that_is_too_long_to_be_one_document(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", b"x" * 100)
    assert reasons(path, document="file", max_document_bytes=50, block_bytes=20) == [(0, 1, "longer than 50 bytes")]
    assert read(path, document="file", max_document_bytes=100).texts == [b"x" * 100]


def test_each_file_a_document(tmp_path: Path) -> None:
    for name, data in {"a.c": b"int\nmain\n", "b.json": b"[\n1]", "c.txt": b"", "d.txt": b"\xff"}.items():
        put(tmp_path, name, data)
    put(tmp_path, "e.txt.gz", gzip.compress(b"packed\n"))
    result = read(tmp_path, document="file", on_bad_record="skip", id_field="id")
    assert [(Path(path).name, position, text, fields) for path, position, text, fields in result.documents] == [
        ("a.c", 0, b"int\nmain\n", [None]),
        ("b.json", 0, b"[\n1]", [None]),
        ("c.txt", 0, b"", [None]),
        ("e.txt.gz", 0, b"packed\n", [None]),
    ]
    assert (result.sum("kept"), result.sum("empty"), result.sum("bad")) == (3, 1, 1)


def test_a_cut_compressed_file_says_so(tmp_path: Path) -> None:
    lines = b"".join(b"line %d of some text\n" % number for number in range(100_000))
    for suffix, stored in {"gz": gzip.compress(lines), "zst": zstandard.ZstdCompressor().compress(lines)}.items():
        message = failure(put(tmp_path, f"a.txt.{suffix}", stored[: len(stored) // 2]), on_bad_record="skip")
        assert re.fullmatch(
            rf"a.txt.{suffix}: truncated .{suffix} file, cut off after \d+ bytes of text; make it again", message
        )
        assert "truncated" in failure(put(tmp_path, f"b.txt.{suffix}", stored + stored[:-5]))


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_file_of_no_bytes_is_an_empty_shard_that_is_told(tmp_path: Path, suffix: str) -> None:
    empty = {"gz": gzip.compress(b""), "zst": zstandard.ZstdCompressor().compress(b"")}[suffix]
    path = put(tmp_path, f"a.txt.{suffix}", empty)
    assert read(path).texts == []
    assert list(plan_input([str(path)], ReadOptions()).warnings()) == []
    put(tmp_path, f"a.txt.{suffix}", empty[:5])
    assert failure(path).startswith(f"a.txt.{suffix}: truncated .{suffix} file, cut off after 0 bytes of text")
    put(tmp_path, "b.txt", b"text")
    put(tmp_path, f"a.txt.{suffix}", b"")
    assert read(tmp_path).texts == [b"text"]
    [warning] = plan_input([str(tmp_path)], ReadOptions()).warnings()
    assert warning == (
        f"{path}: no bytes at all, which is read as no document; a {suffix} file of no documents has some, so this "
        "may be half an upload"
    )
    files = read(tmp_path, document="file")
    assert (files.texts, files.sum("empty")) == ([b"", b"text"], 1)
    assert failure(path) == f"a.txt.{suffix}: no document, all input is empty; give files with text"


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_corrupt_compressed_data(tmp_path: Path, suffix: str) -> None:
    lines = b"".join(b"line %d of some text\n" % number for number in range(1000))
    stored = {"gz": gzip.compress(lines), "zst": zstandard.ZstdCompressor(write_checksum=True).compress(lines)}[suffix]
    middle = len(stored) // 2
    damaged = stored[:middle] + bytes([stored[middle] ^ 0x55]) + stored[middle + 1 :]
    message = failure(put(tmp_path, f"a.txt.{suffix}", damaged))
    assert re.match(rf"a.txt.{suffix}: (corrupt|truncated) .{suffix} ", message)


def test_padding_and_garbage_behind_gzip_members(tmp_path: Path) -> None:
    member = gzip.compress(b"a\n")
    assert read(put(tmp_path, "a.txt.gz", member + bytes(1000) + member + bytes(3))).texts == [b"a", b"a"]
    assert "corrupt .gz data" in failure(put(tmp_path, "a.txt.gz", member + b"garbage"))


def test_skippable_zstd_frames_and_long_windows(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
    parameters = zstandard.ZstdCompressionParameters(window_log=28)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    stored = frame.compress(b"b\n") + frame.flush()
    assert read(put(tmp_path, "a.txt.zst", skippable + stored + skippable)).texts == [b"b"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", gzip.compress(b"a"), "a.txt: this is gzip data: name it .gz"),
        ("a.jsonl", zstandard.ZstdCompressor().compress(b"a"), "a.jsonl: this is Zstandard data: name it .zst"),
        ("a.txt", b"PAR1....PAR1", "a.txt: this is a Parquet file: name it .parquet, or give --format parquet"),
        ("a.txt", "\ufeffa\n".encode("utf-16-le"), f"a.txt: {WIDE}"),
        ("a.jsonl", "a\n".encode("utf-16"), f"a.jsonl: {WIDE}"),
        ("a.txt", "\ufeffa\n".encode("utf-16-be"), f"a.txt: {WIDE}"),
        ("a.txt", "\ufeffa\n".encode("utf-32-be"), f"a.txt: {WIDE}"),
        ("a.txt.gz", gzip.compress("a\n".encode("utf-16")), f"a.txt.gz: {WIDE}"),
        ("a.txt.zst", zstandard.ZstdCompressor().compress("a\n".encode("utf-32")), f"a.txt.zst: {WIDE}"),
        ("a.txt.bz2", b"BZh91AY&SY", "a.txt.bz2: this is bzip2 data: decompress it first"),
        ("a.txt.gz", b"plain", "a.txt.gz: this is no .gz file, though its name says so; rename it"),
        ("a.zst", gzip.compress(b"a"), "a.zst: this is no .zst file, though its name says so; rename it"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    assert failure(put(tmp_path, name, data)) == message
    assert failure(put(tmp_path, name, data), on_bad_record="skip") == message
    assert failure(put(tmp_path, name, data), document="file", on_bad_record="replace") == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"text": "a"}, {"text": "b"}]', "the file looks like one JSON array"),
        (b'\xef\xbb\xbf[\n  {"text": "a"},\n  {"text": "b"}\n]\n', "the file looks like one JSON array"),
        (b'{\n  "text": "a"\n}\n', "the file looks like JSON objects over several lines each"),
    ],
)
def test_json_that_is_not_a_record_a_line_is_told(tmp_path: Path, data: bytes, message: str) -> None:
    for name, stored in (("a.json", data), ("a.json.gz", gzip.compress(data))):
        found = failure(put(tmp_path, name, stored))
        assert found.startswith(f"{name}: row 1 (at byte ")
        assert found.endswith(f"; {message}: write each record on a line of its own")


def test_an_empty_shard_is_fine_and_no_document_at_all_is_not(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", b"")
    put(tmp_path, "b.txt", b"text\n")
    assert read(tmp_path).texts == [b"text"]
    with pytest.raises(InputError, match="no document: the input has no record; check --format and --text-field"):
        total_tally(read(put(tmp_path, "c.jsonl", b"\n\n")).tallies)
    with pytest.raises(InputError, match="no document: all 2 records are bad"):
        total_tally(read(put(tmp_path, "c.jsonl", b"[]\n{}\n"), on_bad_record="skip").tallies)


def test_a_total_adds_all_up() -> None:
    tallies = [Tally(0, 0, 5, 1, 2, 1, 10, 1, 2), Tally(3, 7, 1, 1, 0, 0, 5, 1, 0)]
    assert total_tally(tallies) == Tally(0, 0, 6, 2, 2, 1, 15, 2, 2)


def test_a_file_that_changed_since_it_was_planned(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", b"text\n")
    plan = plan_input([str(path)], ReadOptions())
    path.write_bytes(b"another text\n")
    with pytest.raises(
        InputError, match=re.escape("a.txt: changed since the run began (it had 5 bytes and has 13 now)")
    ):
        list(read_splits(plan.splits, ReadOptions()))
    path.unlink()
    with pytest.raises(InputError, match=r"a.txt: cannot be read: No such file or directory"):
        list(read_splits(plan.splits, ReadOptions()))
