"""Finished runs that are no longer as they were written: told by name, never taken for whole."""

import shutil

import pyarrow.parquet as pq
import pytest

from pipelines.cli.main import run

PART = "documents/part-00000.parquet"


def lose_rows(path):
    pq.write_table(pq.read_table(path).slice(0, 5), path)


def lose_bytes(path):
    path.write_bytes(path.read_bytes()[:-7])


def lose_it(path):
    path.unlink()


DAMAGES = [
    (lose_rows, "has 5 rows in {bytes:,} bytes and was written with 12 rows in {before:,} bytes: the run is damaged: "),
    (lose_bytes, "is no whole table ({bytes:,} bytes) and was written with 12 rows in {before:,} bytes: the run is "),
    (lose_it, "is missing, which was written with 12 rows in {before:,} bytes: the run is damaged: "),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A corpus of 12 documents, a count and a training of it."""
    place = tmp_path_factory.mktemp("runs")
    (place / "corpus").mkdir()
    (place / "corpus" / "a.txt").write_text("low lower lowest\n" * 12)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for argv in (count_of(place), train_of(place)):
            assert run(argv) == 0
    return place


@pytest.fixture
def place(runs, tmp_path, monkeypatch):
    """The same, for a test to damage. Times of files are copied with them: they tell versions apart."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def count_of(place, *more, output="counts"):
    return [
        "count", "corpus", "-o", str(place / output), "--tokenizer", "gpt-4o", "--quiet", *more,
    ]  # fmt: skip


def train_of(place, *more):
    return [
        "train", "corpus", "-o", str(place / "tokenizer"), "--vocab-size", "260", "--quiet", *more,
    ]  # fmt: skip


def cost_of(place):
    return ["cost", str(place / "counts"), "--model", "gpt-4o"]


def incremental(place):
    return count_of(place, "--incremental", str(place / "counts"), output="new")


@pytest.mark.parametrize("damaged", DAMAGES)
@pytest.mark.parametrize(
    ("command", "todo"),
    [
        (cost_of, "count the corpus anew, with tokenbeam count --replace\n"),
        (incremental, "leave it out to count all files, or name another run\n"),
        (lambda place: count_of(place, "--resume"), "give --replace to start anew\n"),
    ],
)
def test_a_count_that_lost_rows_is_not_used(place, capsys, command, todo, damaged):
    damage, said = damaged
    path = place / "counts" / PART
    before = path.stat().st_size
    damage(path)
    size = path.stat().st_size if path.exists() else None
    assert run(command(place)) == 1
    err = capsys.readouterr().err
    assert f"{path} {said.format(bytes=size or 0, before=before)}" in err
    assert err.endswith(todo)
    assert not (place / "counts" / "costs.parquet").exists()
    assert not (place / "new").exists()


def test_whole_runs_are_used(place):
    assert run(count_of(place, "--resume")) == 0
    assert run(train_of(place, "--resume")) == 0
    assert run(cost_of(place)) == 0
    assert run(count_of(place, "--resume")) == 0
    assert run(incremental(place)) == 0
    assert pq.read_metadata(place / "new" / PART).num_rows == 12


@pytest.mark.parametrize("name", ["merges.parquet", "tokenizer.json", "pretokens/part-00000.parquet"])
def test_a_training_that_lost_a_file_is_not_finished(place, capsys, name):
    [path] = [*(place / "tokenizer").glob(name)] or [next((place / "tokenizer" / "pretokens").iterdir())]
    path.unlink()
    assert run(train_of(place, "--resume")) == 1
    assert f"{path} is missing, which was written with " in capsys.readouterr().err
    assert run(train_of(place, "--replace")) == 0
    assert path.exists()


BROKEN = [
    ("{", "run.json is damaged, no JSON ("),
    ("", "run.json is damaged, no JSON ("),
    ("\udcff", "run.json is damaged, no JSON ("),
    ("[]", "run.json is no record of a finished run of tokenbeam: "),
    ('{"name": "another tool\'s"}', "run.json is no record of a finished run of tokenbeam: "),
]


@pytest.mark.parametrize(("content", "said"), BROKEN)
def test_a_broken_record_is_named(place, capsys, content, said):
    commands = [
        (cost_of(place), "counts"),
        (incremental(place), "counts"),
        *((count_of(place, *more), "counts") for more in ([], ["--resume"], ["--replace"])),
        *((train_of(place, *more), "tokenizer") for more in ([], ["--resume"], ["--replace"])),
    ]
    for name in ("counts", "tokenizer"):
        (place / name / "run.json").write_text(content, errors="surrogateescape")
    before = {path for path in place.rglob("*") if path.is_file()}
    for argv, directory in commands:
        assert run(argv) == 1, argv
        err = capsys.readouterr().err
        assert f"{place / directory}/{said}" in err, argv
        assert err.endswith("nother directory, or remove this one\n" if "no JSON" in said else "another directory\n")
        assert err.count("\n") == 1
    assert {path for path in place.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("content", ["{", "[]", '{"options": 3}'])
def test_a_broken_record_of_a_tokenizer_is_named(place, capsys, content):
    (place / "tokenizer" / "run.json").write_text(content)
    for argv in (["encode", "low", "--tokenizer", "tokenizer"], ["show", "-t", "tokenizer", "low"]):
        assert run(argv) == 1
        assert "tokenizer/run.json is damaged, or not of a training run (" in capsys.readouterr().err


def test_a_broken_mark_of_an_unfinished_run_is_named(place, capsys):
    (place / "counts" / "run.json").unlink()
    (place / "counts" / ".work").mkdir()
    state = place / "counts" / ".work" / "run-state.json"
    for content, said in (("{", "is damaged, no JSON ("), ("{}", "is missing or damaged: what was begun there")):
        state.write_text(content)
        assert run(count_of(place, "--resume")) == 1
        assert f"{state} {said}" in capsys.readouterr().err
    assert run(count_of(place, "--replace")) == 0
