"""The plan: which files, in which format, in which splits; and what it refuses."""

import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.inputs import InputPlan, ReadOptions, plan_input
from tests.pipelines.object_store import in_store
from tests.pipelines.reading import read
from tokenize_lib.errors import InputError, OptionError


def plan(*patterns: Path | str, split_bytes: int = 1 << 20, **options: object) -> InputPlan:
    return plan_input([str(pattern) for pattern in patterns], ReadOptions(**options), split_bytes=split_bytes)


def names(found: InputPlan, root: Path) -> list[str]:
    return [str(Path(file.path).relative_to(root)) for file in found.files]


def write(root: Path, *files: str, text: str = "text\n") -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_directory_is_read_with_all_below_it_sorted_and_without_hidden_names(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a/z.txt", "a/b/c.txt", "_SUCCESS", ".b.crc", "_tmp/x.txt", ".git/y.txt", "a-1.txt")
    assert names(plan(tmp_path), tmp_path) == ["a-1.txt", "a/b/c.txt", "a/z.txt", "b.txt"]
    assert [file.ordinal for file in plan(tmp_path).files] == [0, 1, 2, 3]


def test_the_order_of_arguments_and_a_file_named_twice_change_nothing(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a.txt")
    one = plan(tmp_path / "b.txt", tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "*.txt")
    assert one == plan(tmp_path)
    assert names(one, tmp_path) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["a.txt"]),
        ("*", ["a.txt", "d/b.txt", "d/e/c.txt"]),
        ("d/*", ["d/b.txt", "d/e/c.txt"]),
        ("**/*.txt", ["a.txt", "d/b.txt", "d/e/c.txt"]),
        ("?.txt", ["a.txt"]),
        ("_*", ["_x.txt"]),
        ("_x.txt", ["_x.txt"]),
        (".h/h.txt", [".h/h.txt"]),
        ("_d/*.txt", ["_d/f.txt"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    write(tmp_path, "a.txt", "_x.txt", "d/b.txt", "d/_y.txt", "d/e/c.txt", "_d/f.txt", ".h/h.txt")
    found = names(plan(tmp_path / pattern), tmp_path)
    assert found == (["_d/f.txt", "_x.txt"] if pattern == "_*" else expected)


def test_a_name_with_glob_characters_that_exists_is_a_file(tmp_path: Path) -> None:
    write(tmp_path, "data[1].txt", "data1.txt")
    assert names(plan(tmp_path / "data[1].txt"), tmp_path) == ["data[1].txt"]


def test_links_are_followed_and_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/x.txt", "in/a.txt")
    (tmp_path / "in/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in/loop").symlink_to(tmp_path / "in")
    assert names(plan(tmp_path / "in"), tmp_path) == ["in/a.txt", "in/linked/x.txt"]


@pytest.mark.parametrize(
    ("name", "file_format", "compression"),
    [
        ("a.jsonl", "jsonl", "none"),
        ("a.ndjson", "jsonl", "none"),
        ("a.json", "jsonl", "none"),
        ("A.JSONL.GZ", "jsonl", "gz"),
        ("a.jsonl.zst", "jsonl", "zst"),
        ("a.txt", "text", "none"),
        ("README", "text", "none"),
        ("a.tar.txt.gz", "text", "gz"),
        ("a.gz", "text", "gz"),
        ("a.parquet.zst", "parquet", "zst"),
    ],
)
def test_auto_goes_by_the_name(tmp_path: Path, name: str, file_format: str, compression: str) -> None:
    write(tmp_path, name)
    (file,) = plan(tmp_path).files
    assert (file.format, file.compression) == (file_format, compression)


def test_a_given_format_is_that_of_every_file(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "b.json.gz")
    assert [file.format for file in plan(tmp_path, format="jsonl").files] == ["jsonl", "jsonl"]
    assert [file.format for file in plan(tmp_path, document="file").files] == ["text", "text"]


def test_a_plain_file_is_cut_evenly_and_a_compressed_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 1001)
    (tmp_path / "b.txt.gz").write_bytes(b"x" * 1001)
    (tmp_path / "c.txt").write_bytes(b"")
    splits = plan(tmp_path, split_bytes=300).splits
    a = sorted((split.start, split.end) for split in splits if split.file.ordinal == 0)
    assert a == [(0, 250), (250, 500), (500, 750), (750, 1001)]
    assert [(split.start, split.end) for split in splits if split.file.ordinal == 1] == [(0, 1001)]
    assert sum(split.bytes for split in splits) == 2002


def test_splits_come_largest_first_so_that_dealing_them_in_turn_is_even(tmp_path: Path) -> None:
    for index, size in enumerate([10, 5000, 70, 900, 3000, 3000, 40, 1]):
        (tmp_path / f"{index}.txt").write_bytes(b"x" * size)
    works = [split.work for split in plan(tmp_path, split_bytes=2000).splits]
    assert works == sorted(works, reverse=True)
    assert abs(sum(works[0::2]) - sum(works[1::2])) <= works[0]


def test_thousands_of_small_files_become_few_elements(tmp_path: Path) -> None:
    write(tmp_path, *(f"{index // 100}/{index}.c" for index in range(2000)))
    found = plan(tmp_path, document="file", split_bytes=32 << 20)
    groups = list(found.groups())
    assert sorted(split.file.ordinal for group in groups for split in group) == list(range(2000))
    assert len(groups) <= 5


def test_parquet_is_split_by_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": [f"{index:05}" * 20 for index in range(1000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100, compression="none", use_dictionary=False)
    found = plan(tmp_path, split_bytes=25_000)
    splits = sorted(found.splits, key=lambda split: split.start)
    assert [group for split in splits for group in split.row_groups] == list(range(10))
    assert 3 <= len(splits) <= 6
    assert [split.start for split in splits] == [100 * split.row_groups[0] for split in splits]
    assert splits[-1].end == 1000
    assert sum(split.bytes for split in splits) == found.bytes


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("nothing.txt", "nothing.txt: no such file or directory"),
        ("*.txt", r"\*.txt: no file matches this pattern"),
        ("hidden", "hidden: a directory with no files to read"),
    ],
)
def test_a_pattern_that_names_nothing(tmp_path: Path, pattern: str, message: str) -> None:
    write(tmp_path, "hidden/_a", "hidden/.b", "real")
    with pytest.raises(InputError, match=message):
        plan(tmp_path / "real", tmp_path / pattern)


def test_input_that_is_all_empty(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "b.txt", text="")
    with pytest.raises(InputError, match=r"a.txt and 1 more: no document, all input is empty"):
        plan(tmp_path)


def test_a_pipe_cannot_be_read_in_parts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: this is no regular file"):
        plan(tmp_path / "pipe")


def test_a_dangling_link_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone.txt")
    with pytest.raises(
        InputError, match=r"b.txt: this is a link to .*/gone.txt, which does not exist; remove the link"
    ):
        plan(tmp_path)
    with pytest.raises(InputError, match=r"b.txt: this is a link to .*/gone.txt, which does not exist"):
        plan(tmp_path / "b.txt")


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("a.txt")
    for pattern in (tmp_path, tmp_path / "*"):
        with pytest.raises(InputError, match=r"a.txt: this file cannot be read: Too many levels of symbolic links"):
            plan(pattern)
    with pytest.raises(InputError, match=r"a.txt: this file cannot be read: Too many levels"):
        plan_input([str(tmp_path / "a.txt")], ReadOptions(), output=str(tmp_path / "out"))


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (tmp_path / "a.txt").chmod(0)
    tmp_path.chmod(0o755)
    if os.access(tmp_path / "a.txt", os.R_OK):
        pytest.skip("the superuser may read any file")
    with pytest.raises(InputError, match=r"a.txt: this file may not be read; check its permissions"):
        plan(tmp_path)


def test_the_output_in_a_directory_that_is_read_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "out/pretokens").mkdir(parents=True)
    for name in ("a.txt", "out/run.json", "out/pretokens/part.parquet", "outer.txt"):
        (tmp_path / name).write_bytes(b"x\n")
    out = str(tmp_path / "out")

    def read(*patterns: str | Path, output: str | None = out) -> list[str]:
        files = plan_input([str(pattern) for pattern in patterns], ReadOptions(format="text"), output=output).files
        return [str(Path(file.path).relative_to(tmp_path)) for file in files]

    everything = ["a.txt", "out/pretokens/part.parquet", "out/run.json", "outer.txt"]
    assert read(tmp_path, output=None) == everything
    assert read(tmp_path) == ["a.txt", "outer.txt"]
    assert read(tmp_path / "*") == ["a.txt", "outer.txt"]
    assert read(tmp_path, tmp_path / "out") == everything
    assert read(tmp_path / "out/run.json") == ["out/run.json"]
    remote = plan_input([in_store(tmp_path)], ReadOptions(format="text"), output=in_store(out)).files
    assert [file.path for file in remote] == [in_store(tmp_path / "a.txt"), in_store(tmp_path / "outer.txt")]


def test_an_earlier_run_among_the_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "a.txt").write_bytes(b"x\n")
    record = tmp_path / "tokenizer/run.json"
    record.write_text('{"command": "count", "versions": {}, "outputs": []}')
    message = (
        f"{tmp_path}/tokenizer holds the output of a tokenbeam run, which is no corpus: move it elsewhere, or name the "
        "files of the corpus"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        plan_input([str(tmp_path)], ReadOptions())
    with pytest.raises(InputError, match="holds the output of a tokenbeam run"):
        plan_input([in_store(tmp_path)], ReadOptions())
    record.write_text('{"text": "of another program"}')
    assert len(plan_input([str(tmp_path)], ReadOptions()).files) == 2


def test_a_missing_parquet_column_names_those_there_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"content": ["a"], "url": ["b"]}), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r'a.parquet: no column "text"; it has: content, url; name one with --text-field'
    ):
        plan(tmp_path)
    with pytest.raises(InputError, match=r'no column "lang"; it has: content, url; name one with --group-by'):
        plan(tmp_path, text_field="content", group_by=("lang",))


def test_a_parquet_column_whose_name_is_there_twice(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["text", "url", "text"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r'a.parquet: two columns are named "text": rename one of them'):
        plan(tmp_path)
    with pytest.raises(InputError, match=r'a.parquet: two columns are named "text"'):
        plan(tmp_path, text_field="url", group_by=("text",))
    assert read(tmp_path / "a.parquet", text_field="url").texts == [b"b"]
    inner = pa.StructArray.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["t", "t"])
    pq.write_table(pa.table({"x": inner}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r'a.parquet: two columns are named "x.t"'):
        plan(tmp_path, text_field="x.t")
    twice = pa.Table.from_arrays([pa.array([{"t": "a"}]), pa.array([{"t": "b"}])], names=["x", "x"])
    pq.write_table(twice, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r'a.parquet: two columns are named "x"'):
        plan(tmp_path, text_field="x.t")


def test_a_parquet_column_that_is_no_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1], "tags": [["a"]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r'a.parquet: column "text" is int64, not text'):
        plan(tmp_path)


@pytest.mark.parametrize("content", [b"PAR1 but no more PAR1", b"plain text"])
def test_a_parquet_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    (tmp_path / "b.txt").write_bytes(b"text")
    with pytest.raises(InputError, match=r"a.parquet: not a Parquet file that can be read: "):
        plan(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "csv"}, "--format csv: must be one of auto, text, jsonl, parquet"),
        ({"on_bad_record": "drop"}, "--on-bad-record drop: must be one of fail, skip, replace"),
        ({"document": "file", "format": "jsonl"}, "--document file reads files as text; leave out --format jsonl"),
        ({"max_document_bytes": 0}, "--max-document-bytes 0: must be at least 1"),
        ({"text_field": ""}, "--text-field is empty: name a field"),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ReadOptions(**options)


def test_a_file_that_several_paths_lead_to_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (tmp_path / "link.txt").symlink_to(folder / "a.txt")
    names = [str(folder / "a.txt"), f"{folder}/../folder/a.txt", str(tmp_path / "link.txt")]
    assert [file.path for file in plan_input(names, ReadOptions()).files] == [min(names)]
    assert list(plan_input(names[:2], ReadOptions()).warnings()) == []
    [warning] = plan_input(names, ReadOptions()).warnings()
    assert warning == (
        f"{min(names)} and {tmp_path}/link.txt are one file, over a link, and are read once; for two documents, copy it"
    )


def test_files_over_links_are_named_and_hard_links_are_a_file_each(tmp_path: Path) -> None:
    write(tmp_path, "real.txt", "hard.txt", "in/other.txt")
    (tmp_path / "in/a.txt").symlink_to("../real.txt")
    (tmp_path / "in/b.txt").symlink_to("../real.txt")
    (tmp_path / "in/c.txt").symlink_to("../real.txt")
    found = plan(tmp_path / "in")
    assert names(found, tmp_path) == ["in/a.txt", "in/other.txt"]
    [warning] = found.warnings()
    assert warning.startswith(f"{tmp_path}/in/a.txt and {tmp_path}/in/b.txt are one file, over a link, and are read ")
    assert "once (and 1 more such names)" in warning
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice/1.txt").hardlink_to(tmp_path / "hard.txt")
    (tmp_path / "twice/2.txt").hardlink_to(tmp_path / "hard.txt")
    found = plan(tmp_path / "twice")
    assert (names(found, tmp_path), list(found.warnings())) == (["twice/1.txt", "twice/2.txt"], [])


@pytest.mark.parametrize("pattern", ["", " ", "\t\n"])
def test_an_empty_pattern_is_not_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    write(tmp_path, "a.txt")
    monkeypatch.chdir(tmp_path)
    for patterns in ([pattern], ["a.txt", pattern]):
        with pytest.raises(OptionError, match=r"^INPUT is empty: name a file, a directory or a glob$"):
            plan(*patterns)


def test_a_name_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    write(tmp_path, "d/a.txt", "ខ្មែរ/é.txt")
    assert names(plan(tmp_path / "ខ្មែរ"), tmp_path) == ["ខ្មែរ/é.txt"]
    raw = os.fsdecode(b"inv\xff.txt")
    (tmp_path / "d" / raw).write_text("b\n")
    message = re.escape(f"{tmp_path}/d/inv\\xff.txt: this name is not UTF-8 (its bytes are shown as \\xNN): rename the")
    for pattern in (tmp_path / "d", tmp_path / "d/*.txt", tmp_path / "d" / raw):
        with pytest.raises(InputError, match=message) as caught:
            plan(pattern)
        assert str(caught.value).encode()
    with pytest.raises(InputError, match=re.escape("none\\xff: no such file or directory")):
        plan(os.fsdecode(b"none\xff"))
