import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.run_directory import Begun, RunDirectory, RunPlan
from pipelines.run_files import RunFiles
from pipelines.run_mode import RunMode
from tests.pipelines import object_store
from tokenize_lib.errors import OutputError

NEW, RESUME, REPLACE = RunMode(), RunMode(resume=True), RunMode(replace=True)
OPTIONS = {"vocab_size": 300, "pretokenize": {"normalize": "none", "special_tokens": ["<s>"]}}
INPUTS = [{"path": "corpus/a.txt", "bytes": 10}, {"path": "corpus/b.txt", "bytes": 20}]
PLAN = RunPlan(command="train", options=OPTIONS, inputs=INPUTS)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def plan(**options):
    return RunPlan(command="train", options={**OPTIONS, **options}, inputs=INPUTS)


def stop_after_some_work(out):
    """A run that wrote one output and a checkpoint, and ended there."""
    with RunDirectory.open(str(out), PLAN, NEW) as run:
        run.files.write_bytes("merges.parquet", b"merges")
        run.files.write_json(".work/round-1.json", {"merges": 3})
        return run.files


def finish(out, mode=NEW):
    with RunDirectory.open(str(out), PLAN, mode) as run:
        run.files.write_bytes("pretokens/part-0.parquet.json", b"{}")
        run.files.write_bytes("tokenizer.json", b"{}")
        run.files.remove(["pretokens/part-0.parquet.json"])
        run.finish(
            records={"read": 5, "kept": 5, "empty": 0, "bad": 0}, results={"merges": 3}, seconds={"count": 1.23456}
        )


def refusal(out, the_plan=PLAN, mode=NEW):
    with pytest.raises(OutputError) as caught:
        RunDirectory.open(str(out), the_plan, mode)
    return str(caught.value)


def names(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("mode", [NEW, RESUME, REPLACE])
@pytest.mark.parametrize("there", [False, True])
def test_a_run_starts_in_a_new_or_empty_directory(out, mode, there):
    if there:
        out.mkdir()
    with RunDirectory.open(f"{out}/", PLAN, mode) as run:
        assert run.begun is Begun.NEW
        assert run.files.root == str(out)
        run.files.write_bytes("tokenizer.json", b"{}")
    assert "tokenizer.json" in names(out)


def test_a_finished_run_holds_outputs_and_its_record_alone(out):
    finish(out)
    assert names(out) == ["run.json", "tokenizer.json"]
    assert sorted(path.name for path in out.iterdir()) == ["pretokens", "run.json", "tokenizer.json"]
    record = json.loads((out / "run.json").read_text())
    assert {
        key: record[key] for key in ("command", "options", "inputs", "records", "results", "seconds", "outputs")
    } == {
        "command": "train",
        "options": OPTIONS,
        "inputs": INPUTS,
        "records": {"read": 5, "kept": 5, "empty": 0, "bad": 0},
        "results": {"merges": 3},
        "seconds": {"count": 1.235},
        "outputs": [{"name": "tokenizer.json", "bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}],
    }
    assert set(record["versions"]) == {"tokenbeam", "python", "apache-beam", "pyarrow", "unicode"}
    assert record["started"] <= record["finished"]


def test_a_finished_run_is_kept(out):
    finish(out)
    assert refusal(out) == f"{out} holds a finished run: give --replace to remove it, or another directory"
    before = {name: (out / name).stat().st_mtime_ns for name in names(out)}
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.FINISHED
        assert run.record()["results"] == {"merges": 3}
    assert {name: (out / name).stat().st_mtime_ns for name in names(out)} == before


def test_what_reading_showed_of_the_inputs_is_recorded(out):
    seen = [{**file, "sha256": "00"} for file in INPUTS]
    with RunDirectory.open(str(out), PLAN, NEW) as run:
        assert run.finish(records={}, results={}, seconds={}, inputs=seen)["inputs"] == seen
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.FINISHED


def test_an_unfinished_run_is_kept_and_resumed(out):
    stop_after_some_work(out)
    assert refusal(out) == (
        f"{out} holds an unfinished run: give --resume to go on with it, or --replace to start anew"
    )
    (out / ".work" / "unfinished").mkdir(exist_ok=True)
    (out / ".work" / "unfinished" / "merges.parquet-1").write_bytes(b"half")
    started = json.loads((out / ".work" / "run-state.json").read_text())["started"]
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.RESUMED
        assert run.files.read_bytes("merges.parquet") == b"merges"
        assert run.files.read_json(".work/round-1.json") == {"merges": 3}
        assert not run.files.exists(".work/unfinished/merges.parquet-1")
        record = run.finish(records={}, results={}, seconds={})
    assert record["started"] == started
    assert names(out) == ["merges.parquet", "run.json"]


@pytest.mark.parametrize("begin", [stop_after_some_work, finish])
def test_replace_removes_what_a_run_wrote(out, begin):
    begin(out)
    with RunDirectory.open(str(out), PLAN, REPLACE) as run:
        assert run.begun is Begun.NEW
        assert names(out) == [".work/lock", ".work/run-state.json"]


@pytest.mark.parametrize("begin", [stop_after_some_work, finish])
@pytest.mark.parametrize("mode", [NEW, RESUME, REPLACE])
def test_foreign_files_are_never_touched(out, begin, mode):
    begin(out)
    (out / "notes.txt").write_text("mine")
    (out / "pretokens" / "mine").mkdir(parents=True, exist_ok=True)
    before = names(out)
    assert refusal(out, mode=mode) == (
        f"{out} holds notes.txt, which tokenbeam did not write: name a new or empty directory"
    )
    assert names(out) == before


@pytest.mark.parametrize("mode", [NEW, RESUME, REPLACE])
def test_known_names_without_a_runs_mark_are_foreign(out, mode):
    out.mkdir()
    (out / "merges.parquet").write_text("of another program")
    (out / "vocab.parquet").write_text("of another program")
    assert refusal(out, mode=mode) == (
        f"{out} holds merges.parquet and 1 more files, which tokenbeam did not write: name a new or empty directory"
    )
    assert names(out) == ["merges.parquet", "vocab.parquet"]


def test_a_run_that_did_nothing_leaves_nothing(out):
    with pytest.raises(KeyError), RunDirectory.open(str(out), PLAN, NEW):
        raise KeyError("no documents")
    assert not out.exists()
    with RunDirectory.open(str(out), PLAN, NEW):
        pass  # as if killed before any work
    with RunDirectory.open(str(out), plan(vocab_size=400), NEW) as run:
        assert run.begun is Begun.NEW


def test_a_run_that_failed_after_some_work_can_go_on(out):
    run = RunDirectory.open(str(out), PLAN, NEW)
    run.files.write_bytes("merges.parquet", b"merges")
    with pytest.raises(KeyError), run:
        raise KeyError("broken")
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.RESUMED


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (plan(vocab_size=400), "has --vocab-size 300, not 400"),
        (plan(pretokenize={"normalize": "nfc", "special_tokens": ["<s>"]}), "has --normalize none, not nfc"),
        (plan(pretokenize={"normalize": "none", "special_tokens": []}), "has --special-token <s>, not none"),
        (RunPlan(command="count", options=OPTIONS, inputs=INPUTS), "is of tokenbeam train, not count"),
        (
            RunPlan(command="train", options=OPTIONS, inputs=INPUTS[:1]),
            "read corpus/b.txt, which is not among the inputs now",
        ),
        (
            RunPlan(command="train", options=OPTIONS, inputs=[*INPUTS, {"path": "corpus/c.txt", "bytes": 1}]),
            "did not read corpus/c.txt, which is among the inputs now",
        ),
        (
            RunPlan(command="train", options=OPTIONS, inputs=[INPUTS[0], {"path": "corpus/b.txt", "bytes": 21}]),
            "read another version of corpus/b.txt",
        ),
    ],
)
@pytest.mark.parametrize("begin", [stop_after_some_work, finish])
def test_resume_wants_the_same_run(out, begin, other, difference):
    begin(out)
    before = names(out)
    assert refusal(out, other, RESUME) == (
        f"--resume: the run in {out} {difference}: give what it was started with, or --replace to start anew"
    )
    assert names(out) == before


def test_resume_wants_the_same_version_while_unfinished(out):
    stop_after_some_work(out)
    state = out / ".work" / "run-state.json"
    state.write_text(state.read_text().replace('"tokenbeam": "', '"tokenbeam": "0.0.1+'))
    assert "was started by tokenbeam 0.0.1+" in refusal(out, mode=RESUME)


def test_options_given_as_tuples_are_the_same(out):
    stop_after_some_work(out)
    same = plan(pretokenize={"normalize": "none", "special_tokens": ("<s>",)})
    with RunDirectory.open(str(out), same, RESUME) as run:
        assert run.begun is Begun.RESUMED


ANOTHER_PROCESS = """
import sys
from pipelines.run_directory import RunDirectory
from tests.pipelines.test_run_directory import PLAN, RESUME
from tokenize_lib.errors import OutputError

try:
    RunDirectory.open(sys.argv[1], PLAN, RESUME)
except OutputError as error:
    print(error)
"""


def test_two_processes_do_not_write_to_one_directory(out):
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(out)]
    with RunDirectory.open(str(out), PLAN, NEW) as run:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        run.files.write_bytes("merges.parquet", b"merges")
    assert found.stdout == f"another process is writing to {out}: wait for it, or name another directory\n"
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.RESUMED


def test_places_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("x")
    assert refusal(tmp_path / "file") == f"{tmp_path}/file is a file: name a new or empty directory"
    assert refusal("/") == "'/' cannot be an output directory: name a new or empty one"
    inside = RunPlan(command="train", options={}, inputs=[{"path": f"{tmp_path}/corpus/a.txt"}])
    assert refusal(tmp_path / "corpus", inside) == (
        f"the input {tmp_path}/corpus/a.txt lies in the output directory: name another one"
    )
    assert not Path(tmp_path / "corpus").exists()


def test_a_run_on_an_object_store(out):
    root = object_store.in_store(out)
    files = stop_after_some_work(root)
    assert files.list() == [
        ".work/round-1.json",
        ".work/run-state.json",
        ".work/written/merges.parquet.json",
        "merges.parquet",
    ]
    assert refusal(root).startswith(f"{root} holds an unfinished run")
    with RunDirectory.open(root, PLAN, RESUME) as run:
        assert run.begun is Begun.RESUMED
        assert run.files.read_bytes("merges.parquet") == b"merges"
        run.finish(records={}, results={}, seconds={})
    assert names(out) == ["merges.parquet", "run.json"]
    finish(root, REPLACE)
    assert names(out) == ["run.json", "tokenizer.json"]


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file/out") == (
        f"the output directory {tmp_path}/file/out cannot be written: Not a directory"
    )
    assert (
        refusal("/proc/tokenbeam")
        == "the output directory /proc/tokenbeam cannot be written: No such file or directory"
    )


def test_what_a_late_worker_wrote_behind_the_end_goes(out):
    finish(out)
    RunFiles(str(out)).write_json(".work/parts/part-00000.json", {})
    with RunDirectory.open(str(out), PLAN, RESUME) as run:
        assert run.begun is Begun.FINISHED
    assert names(out) == ["run.json", "tokenizer.json"]
