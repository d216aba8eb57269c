import hashlib
import pickle
import resource
import subprocess
import sys
import types
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.localfilesystem import LocalFileSystem

import pipelines.run_files
from pipelines.run_files import RunFiles, WrittenFile
from schemas.columns import column, table_schema
from tokenize_lib.errors import OutputError

SCHEMA = table_schema(
    "words",
    [
        column("word", pa.large_binary(), meaning="A word.", unit="bytes"),
        column("count", pa.int64(), meaning="How often.", unit="occurrences"),
    ],
    meaning="A row is a word.",
)


def words(start, end):
    rows = range(start, end)
    return pa.record_batch([pa.array([b"w%06d" % n for n in rows], pa.large_binary()), pa.array(rows)], schema=SCHEMA)


@pytest.fixture
def files(tmp_path):
    return RunFiles(str(tmp_path / "out"))


def test_a_table_comes_back_with_its_schema(files):
    written = files.write_parquet("pretokens/part-0.parquet", [words(0, 3), words(3, 5)], SCHEMA)
    with files.open_parquet("pretokens/part-0.parquet") as found:
        assert found.schema_arrow.equals(SCHEMA, check_metadata=True)
        assert found.read().equals(pa.Table.from_batches([words(0, 5)]))
        assert found.metadata.row_group(0).column(0).compression == "ZSTD"
    content = files.read_bytes("pretokens/part-0.parquet")
    assert written == WrittenFile("pretokens/part-0.parquet", len(content), hashlib.sha256(content).hexdigest(), 5)


def test_the_bytes_do_not_depend_on_the_batches(files):
    one = files.write_parquet("one.parquet", [words(0, 300_000)], SCHEMA)
    many = files.write_parquet("many.parquet", [words(n, n + 1000) for n in range(0, 300_000, 1000)], SCHEMA)
    assert one.sha256 == many.sha256
    assert pq.ParquetFile(files.path("one.parquet")).num_row_groups == 3


def test_a_table_without_rows_is_a_file(files):
    assert files.write_parquet("empty.parquet", [], SCHEMA).rows == 0
    with files.open_parquet("empty.parquet") as found:
        assert found.read().num_rows == 0


def test_nothing_is_seen_of_a_file_that_fails(files):
    def break_off():
        yield words(0, 200_000)
        raise KeyError("broken")

    with pytest.raises(KeyError):
        files.write_parquet("pretokens/part-0.parquet", break_off(), SCHEMA)
    assert files.list() == []


def test_what_stood_there_stays_until_the_new_file_is_whole(files):
    files.write_bytes("vocab.txt", b"old")

    def break_off():
        yield words(0, 10)
        assert files.read_bytes("vocab.txt") == b"old"
        raise KeyError("broken")

    with pytest.raises(KeyError):
        files.write_parquet("vocab.txt", break_off(), SCHEMA)
    assert files.read_bytes("vocab.txt") == b"old"
    files.write_bytes("vocab.txt", b"new")
    assert files.read_bytes("vocab.txt") == b"new"


def test_size_and_hash_are_noted_or_read(files):
    written = files.write_parquet("words.parquet", [words(0, 5)], SCHEMA)
    assert files.list() == [".work/written/words.parquet.json", "words.parquet"]
    assert files.describe("words.parquet") == written
    files.remove([".work/written/words.parquet.json"])
    assert files.describe("words.parquet") == written


def test_json_and_absence(files):
    assert files.read_json(".work/round.json") is None
    assert not files.exists(".work/round.json")
    files.write_json(".work/round.json", {"merges": 3, "ខ": None})
    assert files.read_json(".work/round.json") == {"merges": 3, "ខ": None}
    assert files.list() == [".work/round.json"]


def test_workers_get_the_names_alone(files):
    assert pickle.loads(pickle.dumps(files)) == files  # noqa: S301


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"file/out/a.txt cannot be written: .*Not a directory"):
        RunFiles(str(tmp_path / "file" / "out")).write_bytes("a.txt", b"x")
    with pytest.raises(OutputError, match=r"^nowhere://x/a.txt cannot be written: Unable to get filesystem"):
        RunFiles("nowhere://x").write_bytes("a.txt", b"x")


FILL_THE_DISK = """
import resource, sys
import pyarrow as pa
from pipelines.run_files import RunFiles
from tests.pipelines.test_run_files import SCHEMA, words
from tokenize_lib.errors import OutputError

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # the system then refuses to write more, as a full disk
try:
    RunFiles(sys.argv[1]).write_parquet("words.parquet", [words(0, 500_000)], SCHEMA)
except OutputError as error:
    print(error)
"""


def test_a_full_disk_is_one_line_and_leaves_nothing(files):
    command = [sys.executable, "-c", FILL_THE_DISK, files.root]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == (f"the disk is full ({files.root}/words.parquet): free some space and go on with --resume\n")
    assert files.list() == []


def test_the_limit_of_the_test_above_is_not_ours():
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_file_that_is_there_is_replaced_where_a_rename_refuses_to(tmp_path, monkeypatch):
    """As HDFS does it."""
    rename = LocalFileSystem.rename

    def refusing(self, sources, destinations):
        if any(Path(path).exists() for path in destinations):
            raise BeamIOError("it is there")
        rename(self, sources, destinations)

    monkeypatch.setattr(LocalFileSystem, "rename", refusing)
    files = RunFiles(str(tmp_path))
    files.write_bytes(".work/a", b"first")
    files.write_bytes(".work/a", b"second")
    assert files.read_bytes(".work/a") == b"second"
    assert files.list() == [".work/a"]


def test_an_error_of_a_store_is_told_in_one_line(tmp_path, monkeypatch):
    class S3ClientError(Exception):
        pass

    messages = types.ModuleType("messages")
    messages.S3ClientError = S3ClientError
    monkeypatch.setitem(sys.modules, "apache_beam.io.aws.clients.s3.messages", messages)

    def refusing(*_):
        raise S3ClientError("Access Denied\n(403)")

    monkeypatch.setattr(FileSystems, "exists", refusing)
    with pytest.raises(OutputError, match=r"/a cannot be looked up: Access Denied \(403\)$"):
        RunFiles(str(tmp_path)).exists("a")


@pytest.mark.parametrize("link", [False, True])
def test_a_directory_is_never_replaced(tmp_path, link):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter").write_text("dear")
    if link:
        (tmp_path / "theirs").rename(tmp_path / "real")
        (tmp_path / "theirs").symlink_to("real")
    files = RunFiles(str(tmp_path))
    if link:
        files.write_bytes("theirs", b"a file")  # takes the place of the link alone
        assert (tmp_path / "real" / "letter").read_text() == "dear"
        return
    with pytest.raises(OutputError, match=r"/theirs is a directory, where a file is to be written: move it away$"):
        files.write_bytes("theirs", b"a file")
    assert (tmp_path / "theirs" / "letter").read_text() == "dear"
    assert files.list() == ["theirs/letter"]


@pytest.mark.parametrize("is_file", [True, False])
def test_elsewhere_only_what_has_a_checksum_is_replaced(tmp_path, monkeypatch, is_file):
    """As on HDFS, whose directories have none."""
    monkeypatch.setattr(pipelines.run_files, "is_local", lambda _: False)

    def checksum(path):
        if not is_file:
            raise BeamIOError(f"Path is not a file: {path}")
        return "MD5-1"

    def refusing(sources, destinations):
        if Path(destinations[0]).exists():
            raise BeamIOError("it is there")
        Path(sources[0]).rename(destinations[0])

    monkeypatch.setattr(FileSystems, "checksum", checksum)
    monkeypatch.setattr(FileSystems, "rename", refusing)
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work" / "a").write_bytes(b"first")
    files = RunFiles(str(tmp_path))
    if is_file:
        files.write_bytes(".work/a", b"second")
    else:
        with pytest.raises(OutputError, match=r"/a cannot be written: it is there"):
            files.write_bytes(".work/a", b"second")
    assert (tmp_path / ".work" / "a").read_bytes() == (b"second" if is_file else b"first")
