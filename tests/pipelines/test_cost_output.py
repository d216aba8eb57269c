"""What ``-o`` of tokenbeam cost replaces: costs, and nothing else."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.cli.main import run
from tests.pipelines.counted import counted


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with a count and some of a user's own."""
    counted(tmp_path / "counts", [[{"tokens": 10}] * 3])
    (tmp_path / "counts" / "summary.parquet").write_bytes(b"summary")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "thesis.txt").write_text("all of it")
    (tmp_path / "empty").write_bytes(b"")
    pq.write_table(pa.table({"model": ["a"]}), tmp_path / "own.parquet")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in directory.rglob("*")
    }  # fmt: skip


def cost(output):
    return run(["cost", "counts", "--model", "gpt-4o", "-o", output])


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        (".", 2, "-o . is a directory, and the costs are one file: name that, as ./costs.parquet"),
        ("mine", 2, "-o mine is a directory, and the costs are one file: name that, as mine/costs.parquet"),
        ("mine/", 2, "-o mine/ is a directory, and the costs are one file: name that, as mine/costs.parquet"),
        ("mine/..", 2, "-o mine/.. is a directory, "),
        ("new/", 2, "-o new/ is a directory, "),
        ("link", 2, "-o link is a directory, and the costs are one file: name that, as link/costs.parquet"),
        ("link/", 2, "-o link/ is a directory, "),
        ("counts", 2, "-o counts is a directory, and the costs are one file: name that, as counts/costs.parquet"),
        ("", 2, "--output is empty: give a path"),
        ("counts/run.json", 2, "-o counts/run.json belongs to the run that is priced: name another file, as counts/c"),
        ("mine/../counts/summary.parquet", 2, "-o mine/../counts/summary.parquet belongs to the run that is priced"),
        ("counts/documents/part-00000.parquet", 2, "-o counts/documents/part-00000.parquet belongs to the run"),
        ("counts/documents/new.parquet", 2, "-o counts/documents/new.parquet belongs to the run that is priced: "),
        ("counts/bad_records", 2, "-o counts/bad_records belongs to the run that is priced: "),
        ("thesis.txt", 1, "thesis.txt is no Parquet file, not costs that tokenbeam wrote, so it is not replaced: name"),
        ("empty", 1, "empty is no Parquet file, "),
        ("own.parquet", 1, "own.parquet is a Parquet file of something else, not costs that tokenbeam wrote, "),
        ("pipe", 1, "pipe is no ordinary file, "),
        ("thesis.txt/costs.parquet", 1, "thesis.txt/costs.parquet cannot be written: "),
        ("s4://bucket/costs.parquet", 1, "no filesystem opens s4://"),
    ],
)
def test_what_is_refused_and_left_as_it_is(here, capsys, output, code, said):
    before = everything(here)
    assert cost(output) == code
    assert said in capsys.readouterr().err
    assert everything(here) == before


@pytest.mark.parametrize("output", ["mine/costs.parquet", "new/below/costs.parquet", "link/c", "counts/mine.parquet"])
def test_costs_replace_costs_and_leave_nothing_else(here, output):
    before = everything(here)
    assert cost(output) == 0
    first = (here / output).read_bytes()
    assert run(["cost", "counts", "--model", "gpt-4o,gpt-4o-mini", "-o", output]) == 0
    assert (here / output).read_bytes() != first
    assert pq.read_table(here / output)["model"].to_pylist() == ["gpt-4o", "gpt-4o-mini"]
    after = {name: content for name, content in everything(here).items() if not (here / name).samefile(here / output)}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() <= {"new", "new/below"}


def test_the_usual_place_is_no_exception(here, capsys):
    (here / "counts" / "costs.parquet").write_text("mine")
    assert run(["cost", "counts", "--model", "gpt-4o"]) == 1
    assert "counts/costs.parquet is no Parquet file, " in capsys.readouterr().err
    (here / "counts" / "costs.parquet").unlink()
    shutil.copytree(here / "mine", here / "counts" / "costs.parquet")
    assert run(["cost", "counts", "--model", "gpt-4o"]) == 2
    assert (here / "counts" / "costs.parquet" / "letter.txt").read_text() == "dear"
