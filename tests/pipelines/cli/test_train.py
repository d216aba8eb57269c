"""The command as a user has it: real runs, their words and exit codes."""

import json
import random
import re
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from pipelines.cli.main import run

COMMAND = [sys.executable, "-m", "pipelines.cli.main", "train"]
WORDS = ["the", "students", "order", "iced", "coffee", "and", "the", "teachers", "order", "hot", "coffee"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(" ".join(WORDS[n % 5 :]) for n in range(50)) + "\n\n")
    return path


def train(corpus, out, *options):
    return run(["train", str(corpus), "-o", str(out), "--pretokenizer", "gpt2", *options])


def bytes_of(directory):
    """All outputs that do not tell of time."""
    names = sorted(path for path in Path(directory).rglob("*") if path.is_file())
    return {
        str(p.relative_to(directory)): p.read_bytes() for p in names if p.name not in ("run.json", "rounds.parquet")
    }


def test_the_summary_goes_to_standard_error(corpus, tmp_path, capsys):
    assert train(corpus, tmp_path / "out", "--vocab-size", "270") == 0
    out, err = capsys.readouterr()
    assert out == ""
    summary = err[err.index("Done in") :].splitlines()
    assert re.fullmatch(rf"Done in [\d.]+ s: {tmp_path}/out", summary[0])
    assert summary[1:5] == [
        "  documents   51 (2.6 kB of text), 1 of them empty",
        "  pretokens   450 (13 distinct)",
        "  merges      14 in 1 round",
        "  vocabulary  270",
    ]
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["records"] == {"read": 51, "kept": 50, "empty": 1, "bad": 0, "mended": 0, "not_nfc": 0}


def test_what_was_mended_and_what_is_not_nfc_is_told(corpus, tmp_path, capsys):
    with corpus.open("ab") as file:
        file.write(b"caf\xe9\n" + unicodedata.normalize("NFD", "Việt Nam\nphở\n").encode())
    out = tmp_path / "out"
    assert train(corpus, out, "--vocab-size", "270", "--on-bad-record", "replace") == 0
    said = capsys.readouterr().err
    assert "  documents   54 (2.6 kB of text), 1 of them empty; mended with U+FFFD: 1\n" in said
    assert "  not NFC     2 documents are not: --normalize nfc makes equal texts equal tokens\n" in said
    records = json.loads((out / "run.json").read_text())["records"]
    assert records == {"read": 54, "kept": 53, "empty": 1, "bad": 0, "mended": 1, "not_nfc": 2}
    options = ("--on-bad-record", "replace", "--normalize", "nfc", "--replace")
    assert train(corpus, out, "--vocab-size", "270", *options) == 0
    assert "not NFC" not in capsys.readouterr().err
    assert json.loads((out / "run.json").read_text())["records"] == records


def test_what_the_command_line_may_not_mean_is_a_warning(corpus, tmp_path, capsys):
    (tmp_path / "b.txt.gz").touch()
    inputs = [str(corpus), str(tmp_path / "b.txt.gz")]
    options = ["-o", str(tmp_path / "out"), "--vocab-size", "256", "--pretokenizer", "regex:x*", "--quiet"]
    assert run(["train", *inputs, *options]) == 0
    doubts = capsys.readouterr().err.splitlines()
    assert [doubt.partition(": ")[0] for doubt in doubts] == ["Warning", "Warning"]
    assert "--pretokenizer regex:x*: the pattern matches the empty text" in doubts[0]
    assert "b.txt.gz: no bytes at all, which is read as no document" in doubts[1]
    assert run(["train", *inputs, *options, "--dry-run"]) == 0
    assert capsys.readouterr().err.splitlines() == doubts[1:]


def test_quiet_says_nothing(corpus, tmp_path, capfd):
    assert train(corpus, tmp_path / "out", "--vocab-size", "270", "--quiet") == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_a_vocabulary_larger_than_the_corpus_gives(corpus, tmp_path, capsys, strict, code):
    out = tmp_path / "out"
    assert train(corpus, out, "--quiet", *strict) == code
    err = capsys.readouterr().err
    head, tail = ("Error", rf" \(--strict\); all is written to {out} even so") if strict else ("Warning", "")
    assert re.fullmatch(
        rf"{head}: the vocabulary has \d{{3}} entries, not 32,000: "
        rf"no pair is left that counts --min-frequency 2{tail}\n",
        err,
    )
    assert (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize(("most", "code"), [("1", 0), ("0", 3), ("-1", 2)])
def test_more_bad_records_than_allowed(corpus, tmp_path, capsys, most, code):
    with corpus.open("ab") as file:
        file.write(b"caf\xe9\n")
    options = ("--vocab-size", "270", "--on-bad-record", "skip", "--max-bad-records", most)
    assert train(corpus, tmp_path / "out", *options) == code
    err = capsys.readouterr().err
    assert ("bad records: 1, listed in bad_records/" in err) == (code != 2)
    assert ("Warning: 1 bad record is more than --max-bad-records 0\n" in err) == (code == 3)
    assert (tmp_path / "out" / "bad_records").exists() == (code != 2)


@pytest.mark.parametrize(
    ("beam", "warning"),
    [
        ((), "--worker-memory is for workers of a cluster, and here are none: --memory is for this process"),
        (
            ("--", "--runner=PrismRunner"),
            (
                "--worker-memory 16MiB is less than the program itself takes in a worker, which then writes many small "
                "tables: 256MiB or more saves time"
            ),
        ),
    ],
)
def test_memory_of_workers_that_does_nothing_is_a_warning(corpus, tmp_path, capsys, beam, warning):
    assert train(corpus, tmp_path / "out", "--worker-memory", "16MiB", "--dry-run", *beam) == 0
    assert capsys.readouterr().err == f"Warning: {warning}\n"


def test_a_second_run_says_what_it_means(corpus, tmp_path, capsys):
    out = tmp_path / "out"
    train(corpus, out, "--vocab-size", "270", "--quiet")
    first = bytes_of(out)
    assert train(corpus, out, "--vocab-size", "270") == 1
    assert capsys.readouterr().err == (
        f"Error: {out} holds a finished run: give --replace to remove it, or another directory\n"
    )
    assert train(corpus, out, "--vocab-size", "270", "--resume") == 0
    assert f"This run is finished already: {out}\n" in capsys.readouterr().err
    assert train(corpus, out, "--vocab-size", "271", "--resume") == 1
    assert "has --vocab-size 270, not 271" in capsys.readouterr().err
    assert bytes_of(out) == first
    assert train(corpus, out, "--vocab-size", "271", "--replace", "--quiet") == 0
    assert json.loads((out / "run.json").read_text())["results"]["vocab_size"] == 271


def test_a_bad_record_is_one_line_that_says_where(corpus, tmp_path, capfd):
    with corpus.open("ab") as file:
        file.write(b"caf\xe9\n")
    assert train(corpus, tmp_path / "out", "--vocab-size", "270", "--quiet") == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"Error: {corpus}")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def start(corpus, out, *options):
    command = [*COMMAND, str(corpus), "-o", str(out), "--vocab-size", "3000", "--quiet", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_stopped_by_a_signal_goes_on_to_the_same_bytes(tmp_path, stop, code):
    letters = random.Random(1)  # noqa: S311
    corpus = tmp_path / "corpus.txt"
    words = ["".join(letters.choices("abcdefgh", k=letters.randint(2, 9))) for _ in range(60_000)]
    corpus.write_text("\n".join(" ".join(letters.choices(words, k=12)) for _ in range(40_000)))
    with start(corpus, tmp_path / "unbroken") as process:
        assert process.communicate(timeout=300) == ("", "")
    out = tmp_path / "out"
    with start(corpus, out) as process:
        while not (out / ".work" / "run-state.json").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(stop)
        said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, ("", "\nStopped. The same command with --resume goes on from here.\n"))
    with start(corpus, out, "--resume") as process:
        assert process.communicate(timeout=300) == ("", "")
    assert bytes_of(out) == bytes_of(tmp_path / "unbroken")
