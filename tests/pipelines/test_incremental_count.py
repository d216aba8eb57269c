"""A count that takes what it can from an earlier one: the bytes of a full count."""

import io
import json
import shutil

import pytest

import pipelines.count_parts
import pipelines.earlier_count
from pipelines import token_counts
from pipelines.inputs import ReadOptions
from pipelines.progress import Talk
from tests.pipelines import object_store
from tests.pipelines.test_count import READ, result_hashes, rows_of, run, write_corpus
from tokenize_lib.errors import InputError, OptionError


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pipelines.count_parts, "_LEAST_PART_BYTES", 1 << 10)
    monkeypatch.setattr(pipelines.count_parts, "_FILE_COST", 100)


@pytest.fixture
def read_paths(monkeypatch):
    """Paths of the files that are really read."""
    paths = set()
    read_splits = token_counts.read_splits

    def noting(splits, *args, **more):
        paths.update(split.file.path.rpartition("/")[2] for split in splits)
        return read_splits(splits, *args, **more)

    monkeypatch.setattr(token_counts, "read_splits", noting)
    return paths


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "shards"
    write_corpus(folder)
    (folder / "1b.txt").write_text("Vie\u0302\u0323t\nsecond\n", encoding="utf-8")
    return folder


def change_nothing(folder):
    del folder


def add_file(folder):
    (folder / "0b.jsonl").write_text('{"text": "one two"}\nno JSON\n')


def remove_file(folder):
    (folder / "1.jsonl.gz").unlink()


def change_file_of_one_size(folder):
    path = folder / "3.txt"
    path.write_bytes(path.read_bytes().replace(b"newest", b"ne est"))


@pytest.mark.parametrize(
    ("change", "read_again"),
    [
        (change_nothing, set()),
        (add_file, {"0b.jsonl"}),
        (remove_file, set()),
        (change_file_of_one_size, {"3.txt"}),
    ],
)
def test_the_bytes_of_a_full_count(corpus, tmp_path, read_paths, change, read_again):
    run([str(corpus)], tmp_path / "earlier")
    change(corpus)
    run([str(corpus)], tmp_path / "full")
    read_paths.clear()
    run([str(corpus)], tmp_path / "out", incremental=tmp_path / "earlier", workers=2)
    assert read_paths == read_again
    assert result_hashes(tmp_path / "out") == result_hashes(tmp_path / "full")
    found, full = (json.loads((tmp_path / name / "run.json").read_text()) for name in ("out", "full"))
    assert full["records"]["not_nfc"] == 1
    for part in ("records", "results", "inputs", "outputs", "options"):
        assert found[part] == full[part]


def test_rows_of_other_row_groups(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.run_files.row_groups", lambda *args: small_row_groups(*args, most_rows=5))
    small_row_groups = pipelines.row_groups.row_groups
    run([str(corpus)], tmp_path / "earlier")
    monkeypatch.undo()
    full = tmp_path / "full"
    run([str(corpus)], full)
    run([str(corpus)], tmp_path / "out", incremental=tmp_path / "earlier")
    assert result_hashes(tmp_path / "out") == result_hashes(full)


def test_files_that_are_documents(tmp_path, read_paths):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(50):
        (folder / f"{number:02}.txt").write_text("word " * (number % 7))
    read = ReadOptions(document="file")
    run([str(folder)], tmp_path / "earlier", read=read)
    (folder / "33a.txt").write_text("new")
    run([str(folder)], tmp_path / "full", read=read)
    read_paths.clear()
    run([str(folder)], tmp_path / "out", read=read, incremental=tmp_path / "earlier")
    assert read_paths == {"33a.txt"}
    assert result_hashes(tmp_path / "out") == result_hashes(tmp_path / "full")


def test_other_limits_are_no_other_counts(corpus, tmp_path, read_paths):
    run([str(corpus)], tmp_path / "earlier")
    run([str(corpus)], tmp_path / "full", context_limits=[7])
    read_paths.clear()
    run([str(corpus)], tmp_path / "out", context_limits=[7], incremental=tmp_path / "earlier")
    assert read_paths == set()
    assert result_hashes(tmp_path / "out") == result_hashes(tmp_path / "full")


def test_it_says_what_was_taken(corpus, tmp_path):
    run([str(corpus)], tmp_path / "earlier")
    add_file(corpus)
    said = io.StringIO()
    run([str(corpus)], tmp_path / "out", incremental=tmp_path / "earlier", talk=Talk(said))
    assert f"Taken from {tmp_path / 'earlier'}: 5 of 6 files, " in said.getvalue()


def test_another_version_counts_all(corpus, tmp_path, read_paths):
    run([str(corpus)], tmp_path / "earlier")
    record = json.loads((tmp_path / "earlier" / "run.json").read_text())
    record["versions"]["unicode"] = "15.0.0"
    (tmp_path / "earlier" / "run.json").write_text(json.dumps(record))
    read_paths.clear()
    said = io.StringIO()
    run([str(corpus)], tmp_path / "out", incremental=tmp_path / "earlier", talk=Talk(said, quiet=True))
    assert len(read_paths) == 5
    assert f"{tmp_path / 'earlier'} was counted with unicode 15.0.0, and this is 16.0.0" in said.getvalue()


def test_what_cannot_be_taken(corpus, tmp_path):
    earlier = tmp_path / "earlier"
    with pytest.raises(InputError, match=r"earlier: there is no finished run of tokenbeam count$"):
        run([str(corpus)], tmp_path / "out", incremental=earlier)
    run([str(corpus)], earlier)
    with pytest.raises(OptionError, match=r"earlier has --tokenizer words chars bytes, not words: "):
        run([str(corpus)], tmp_path / "out", incremental=earlier, tokenizers=["words"])
    other = ReadOptions(group_by=READ.group_by, on_bad_record="skip")
    with pytest.raises(OptionError, match=r"has --id-field meta\.id, not none"):
        run([str(corpus)], tmp_path / "out", incremental=earlier, read=other)
    with pytest.raises(OptionError, match="is the output directory itself"):
        run([str(corpus)], earlier, incremental=earlier)
    assert not (tmp_path / "out").exists()
    shutil.rmtree(earlier / "documents")
    with pytest.raises(InputError, match=r"part-00000\.parquet is missing, which was written with 12 rows in "):
        run([str(corpus)], tmp_path / "out", incremental=earlier)


def test_a_refused_run_replaces_nothing(corpus, tmp_path):
    run([str(corpus)], tmp_path / "out")
    before = result_hashes(tmp_path / "out")
    with pytest.raises(InputError, match="there is no finished run"):
        run([str(corpus)], tmp_path / "out", replace=True, incremental=tmp_path / "none")
    assert result_hashes(tmp_path / "out") == before


def test_in_an_object_store(corpus, tmp_path, read_paths):
    run([str(corpus)], tmp_path / "local")
    store = object_store.in_store(tmp_path / "earlier")
    run([object_store.in_store(corpus)], store, workers=2)
    assert summary_bytes(tmp_path / "earlier") == summary_bytes(tmp_path / "local")
    local = [{**row, "source": object_store.in_store(row["source"])} for row in rows_of(tmp_path / "local")]
    assert rows_of(tmp_path / "earlier") == local
    add_file(corpus)
    (corpus / "3.txt").write_text("shorter")
    read_paths.clear()
    run([object_store.in_store(corpus)], object_store.in_store(tmp_path / "out"), incremental=store)
    assert read_paths == {"0b.jsonl", "3.txt"}
    run([str(corpus)], tmp_path / "full")
    assert summary_bytes(tmp_path / "out") == summary_bytes(tmp_path / "full")


def summary_bytes(output):
    return (output / "summary.parquet").read_bytes()
