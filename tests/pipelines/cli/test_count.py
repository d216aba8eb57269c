"""The command as a user has it: its words and exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.cli.main import run

COMMAND = [sys.executable, "-m", "pipelines.cli.main", "count"]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    records = [{"text": text, "lang": lang} for text, lang in [("Hello world", "en"), ("", "en"), ("ភាសា", "km")]]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"txt": 1}\n')
    return path


def count(corpus, out, *options):
    return run(["count", str(corpus), "-o", str(out), "--on-bad-record", "skip", *options])


def results(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.parquet"))}


def test_the_summary_goes_to_standard_error(corpus, tmp_path, capsys):
    out = tmp_path / "out"
    given = ["--tokenizer", "o200k_base", "--tokenizer", "words", "--group-by", "lang", "--context-limit", "2"]
    assert count(corpus, out, *given) == 0
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err[found.err.index("  documents") :].splitlines() == [
        "  documents   3 (23 B of text), 1 of them empty; bad records: 1, listed in bad_records/",
        "  characters  15",
        "  words       3",
        "  groups      2, a row each in summary.parquet",
        "",
        "  tokenizer   tokens  mean  p50  p90  p99  max  bytes/token  over 2",
        "  o200k_base       5   1.7    2    3    3    3         4.60       1",
        "  words            3   1.0    1    2    2    2         7.67       0",
    ]
    assert [path.name for path in sorted(out.iterdir())] == ["bad_records", "documents", "run.json", "summary.parquet"]


def test_quiet_says_nothing(corpus, tmp_path, capfd):
    assert count(corpus, tmp_path / "out", "--tokenizer", "words", "--quiet") == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("most", "code"), [("0", 3), ("1", 0)])
def test_more_bad_records_than_allowed(corpus, tmp_path, capsys, most, code):
    out = tmp_path / "out"
    assert count(corpus, out, "--tokenizer", "words", "--quiet", "--max-bad-records", most) == code
    assert capsys.readouterr().err == ("Warning: 1 bad record is more than --max-bad-records 0\n" if code else "")
    assert (out / "run.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "name a tokenizer, as --tokenizer o200k_base, or a model, as --model gpt-4o"),
        (["--tokenizer", "o200k_bas"], "--tokenizer 'o200k_bas': no such tokenizer or file; did you mean o200k_base"),
        (["--tokenizer", "words", "--max-bad-records", "-1"], "--max-bad-records -1 is negative"),
        (["--tokenizer", "words", "--context-limit", "-1"], "--context-limit -1 is negative"),
        (["--model", "gpt-5000"], ""),
        (
            ["--tokenizer", "words", *["--group-by", "lang"] * 2],
            "--group-by lang --group-by lang: these give one column",
        ),
    ],
)
def test_wrong_usage(corpus, tmp_path, capsys, options, message):
    assert count(corpus, tmp_path / "out", *options) == 2
    assert f"Error: {message}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_dry_run_reads_nothing(corpus, tmp_path, capsys):
    assert count(corpus, tmp_path / "out", "--tokenizer", "o200k_base", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "Would read 1 file, 127 B" in out
    assert "  tokenizers            o200k_base (sha256 446a9538cb6c348e)" in out
    assert not (tmp_path / "out").exists()


def test_a_model_is_counted_and_priced(corpus, tmp_path, capsys):
    out = tmp_path / "out"
    assert count(corpus, out, "--model", "gpt-4o", "--output-tokens", "10", "--quiet") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:6] == ["gpt-4o", "o200k_base", "exact", "3", "5", "30"]
    [row] = pq.read_table(out / "costs.parquet").to_pylist()
    assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (3, 5, 30)
    assert count(corpus, out, "--model", "gpt-4o", "--output-tokens", "20", "--quiet", "--resume") == 0
    assert pq.read_table(out / "costs.parquet")["output_tokens"].to_pylist() == [60]


def test_a_tokenizer_by_path_reaches_other_processes(corpus, tmp_path):
    training = tmp_path / "training"
    (tmp_path / "train.txt").write_text("hello world " * 50)
    assert run(["train", str(tmp_path / "train.txt"), "-o", str(training), "--vocab-size", "270", "--quiet"]) == 0
    given = ["--tokenizer", str(training), "--tokenizer", str(training / "tokenizer.json"), "--quiet"]
    assert count(corpus, tmp_path / "here", *given) == 0
    assert count(corpus, tmp_path / "there", *given, "--", "--direct_running_mode=multi_processing") == 0
    assert results(tmp_path / "here") == results(tmp_path / "there")
    names = pq.read_schema(tmp_path / "here" / "documents" / "part-00000.parquet").names
    assert names[-2:] == ["tokens_training", "tokens_training_2"]


def test_killed_and_resumed(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(12):
        lines = (json.dumps({"text": f"document {number} {line} " + "word " * 20}) + "\n" for line in range(40_000))
        (corpus / f"{number:02}.jsonl").write_text("".join(lines))
    given = [str(corpus), "--tokenizer", "o200k_base", "--workers", "1", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert subprocess.run([*COMMAND, *given, "-o", str(whole)], env=environment, check=False).returncode == 0
    process = subprocess.Popen([*COMMAND, *given, "-o", str(stopped)], env=environment)
    ended = time.monotonic() + 60
    while len(list(stopped.glob(".work/parts/*.json"))) < 2 and time.monotonic() < ended:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (stopped / "run.json").exists()
    assert run(["count", *given, "-o", str(stopped)]) == 1
    assert run(["count", *given, "-o", str(stopped), "--resume"]) == 0
    assert results(stopped) == results(whole)
    assert not (stopped / ".work").exists()


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_fields_that_no_record_has_are_told(tmp_path, capsys, kind):
    (tmp_path / "corpus.jsonl").write_text('{"text": "a", "lang": null}\n{"text": "b", "lang": "km"}\n')
    if kind == "parquet":
        # A column that is not there is refused before; one that holds nothing is told.
        pq.write_table(pa.table({"text": ["a"], "lang": ["x"], "nosuch": pa.nulls(1, pa.string()),
                                 "idd": pa.nulls(1, pa.string())}), tmp_path / "corpus.parquet")  # fmt: skip
    given = ["--tokenizer", "bytes", "--group-by", "lang", "--group-by", "nosuch", "--id-field", "idd"]
    assert count(tmp_path / f"corpus.{kind}", tmp_path / "out", *given) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Warning")]
    assert warnings == [
        "Warning: --group-by nosuch: no record has such a field; all its values are null",
        "Warning: --id-field idd: no record has such a field; all its values are null",
    ]


def test_an_empty_parquet_shard_is_as_any_empty_shard(corpus, tmp_path):
    assert count(corpus, tmp_path / "alone", "--tokenizer", "words") == 0
    (corpus.parent / "data").mkdir()
    corpus.rename(corpus.parent / "data" / corpus.name)
    (corpus.parent / "data" / "empty.parquet").touch()
    assert count(corpus.parent / "data", tmp_path / "both", "--tokenizer", "words") == 0
    summary = "summary.parquet"
    assert (tmp_path / "both" / summary).read_bytes() == (tmp_path / "alone" / summary).read_bytes()
