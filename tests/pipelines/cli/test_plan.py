"""``tokenbeam plan`` as a person runs it."""

import json
from pathlib import Path

import pytest

from pipelines.cli.main import run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one line\nanother\n" * 1000)
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["plan", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_it_lists_what_a_dry_run_lists(capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path) -> None:
    assert run(["train", str(corpus), "-o", str(tmp_path / "out"), "--dry-run"]) == 0
    dry = capsys.readouterr().out.splitlines()
    planned = shown(capsys, str(corpus)).splitlines()
    assert planned[:3] == dry[:3] == ["Would read 2 files, 17 kB", *dry[1:3]]


def test_the_table_has_a_row_a_step_and_says_how(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    out = shown(capsys, str(corpus), "--workers", "8", "--worker-memory", "2GiB", "--tokenizer", "o200k_base")
    rows = [line.split("  ")[0] for line in out.splitlines()]
    assert [row for row in rows if row in {"train", "count", "in all"}] == ["train", "in all", "count", "in all"]
    for step in ("count pretokens", "merge tables", "rounds: pairs and segments", "rounds: driver merging"):
        assert step in rows
        assert f"  {step}: " in out
    assert "count tokens: o200k_base" in rows


def test_json_has_all_figures(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    found = json.loads(shown(capsys, str(corpus), "--output-format", "json", "--workers", "3", "--sample", "1MB"))
    assert found["inputs"][1] == {"format": "text", "files": 1, "bytes": 17_000, "splits": 1}
    assert found["setting"]["workers"] == 3
    assert found["distinct_pretokens"] == 4  # "one", " line", "another", "b"
    assert found["count"] == []
    assert len(found["train"]) == 4
    assert {step["basis"] for step in found["train"]} <= {"measured", "extrapolated"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "0"], "--workers 0 is too small"),
        (["--partitions", "0"], "--partitions 0 is too small"),
        (["--job-seconds", "-1"], "--job-seconds -1.0 is negative"),
        (["--format", "chat"], "--format chat is for count alone"),
        (["--worker-memory", "1KB"], "--worker-memory 1KB is less than the program itself takes"),
        (["--tokenizer", "no-such"], "no-such"),
    ],
)
def test_wrong_options_are_one_line(
    capsys: pytest.CaptureFixture[str], corpus: Path, arguments: list[str], said: str
) -> None:
    assert run(["plan", str(corpus), *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_small_corpus_is_not_said_to_be_extrapolated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c d\n")
    for sample in ([], ["--sample", "1MB"]):
        out = shown(capsys, str(tmp_path), "--tokenizer", "o200k_base", *sample)
        assert "xtrapolated" not in out
        assert "runs low" not in out
    found = json.loads(shown(capsys, str(tmp_path), "--output-format", "json"))
    assert found["distinct_pretokens"] <= 8
    assert {step["why"] for step in found["train"]} == {""}


def test_a_corpus_larger_than_its_sample_says_so_and_that_samples_run_low(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number} of many\n" for number in range(400_000)))
    lines = shown(capsys, str(tmp_path), "--sample", "100kB").splitlines()
    [reason] = [line for line in lines if line.startswith("Extrapolated: ")]
    assert reason.startswith("Extrapolated: the growth of the table is taken from a sample of ")
    assert "larger" not in reason
    assert "  A small sample runs low: on the measured mix by 33% with 4 MiB, 20% with 16 MiB, 3% with 64 MiB." in lines


def test_what_is_larger_than_all_that_was_measured_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(2_000_000_000)  # a hole, as nothing is read
    lines = shown(capsys, str(tmp_path)).splitlines()
    assert "Extrapolated: this corpus is larger than those measured." in lines


def test_chats_are_planned_by_their_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chats = tmp_path / "chat.jsonl"
    chats.write_text('{"messages": [{"role": "user", "content": "hello"}]}\n' * 100)
    arguments = [str(chats), "--format", "chat", "--tokenizer", "o200k_base"]
    lines = shown(capsys, *arguments).splitlines()
    assert "Extrapolated: counting chats was not measured." in lines
    assert not [line for line in lines if line.startswith("train")]
    assert run(["plan", *arguments, "--sample", "1MB"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == lines
    assert err == "Warning: --sample is left out: chats are planned by the bytes of their files, and not read\n"
