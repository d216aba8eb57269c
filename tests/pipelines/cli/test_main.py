import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.cli.main import run


def refusal(capsys, *argv):
    """The exit code and the one line that a command line gives."""
    code = run(argv)
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


def test_help_names_the_commands_with_an_example(capsys):
    assert run(["--help"]) == 0
    out, err = capsys.readouterr()
    assert "tokenbeam train 'corpus/*.jsonl.zst' -o tokenizer --vocab-size 32000" in out
    assert "count tokens document by document, and price whole datasets." in " ".join(out.split())
    assert "tokenbeam cost counts --model gpt-4o" in out
    assert "  train   Train a tokenizer on text files and write it to a directory." in out
    assert err == ""


@pytest.mark.parametrize("command", ["train", "count"])
def test_help_names_the_exit_codes_of_signals(capsys, command):
    assert run([command, "--help"]) == 0
    assert "130 stopped by Ctrl-C, 143 by SIGTERM." in " ".join(capsys.readouterr().out.split())


def test_help_of_train_is_grouped(capsys):
    assert run(["train", "-h"]) == 0
    out = capsys.readouterr().out
    headings = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Output:", "Vocabulary:", "Pretokens:", "Variants of BPE:", "Reading:", "Running:", "Talking:",
    ]  # fmt: skip
    assert "tokenbeam train corpus.txt -o tokenizer\n" in out


def test_help_and_version_load_neither_beam_nor_arrow_nor_the_kernel():
    code = (
        "import sys\n"
        "from pipelines.cli.main import run\n"
        "codes = [run(['train', '--help']), run(['--version'])]\n"
        "print(codes, {'apache_beam', 'pyarrow', 'tokenize_lib._native'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[0, 0] set()"


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tokenbeam ")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train"], "Missing argument 'INPUT...' (tokenbeam train --help)"),
        (["train", "a.txt"], "Missing option '-o' / '--output' (tokenbeam train --help)"),
        (
            ["train", "a.txt", "-o", "out", "--vocab-size", "many"],
            "Invalid value for '--vocab-size': 'many' is not a valid integer (tokenbeam train --help)",
        ),
        (
            ["train", "a.txt", "-o", "out", "--memory", "lots"],
            "Invalid value for '--memory': 'lots' is not a size: write it as 512M or 4GiB (tokenbeam train --help)",
        ),
        (
            ["train", "a.txt", "-o", "out", "--vocab"],
            "No such option '--vocab'. Did you mean '--vocab-size'? (tokenbeam train --help)",
        ),
        (
            ["train", "a.txt", "-o", "out", "--vocab_size", "300"],
            "No such option '--vocab_size': did you mean '--vocab-size'? (tokenbeam train --help)",
        ),
        (["count", "a.txt", "--format"], "Option '--format' requires an argument (tokenbeam count --help)"),
        (
            ["count", "a.txt", "-o", "out", "--runner", "FlinkRunner"],
            "--runner is no option of count: those of Beam stand after -- (tokenbeam count --help)",
        ),
        (
            ["train", "a.txt", "-o", "out", "--flink_master=x"],
            "--flink_master is no option of train: those of Beam stand after -- (tokenbeam train --help)",
        ),
        (["encode", "--runner", "x"], "No such option '--runner' (tokenbeam encode --help)"),
        (["trian", "a.txt"], "No such command 'trian': did you mean 'train'? (tokenbeam --help)"),
        (
            ["xyz"],
            "No such command 'xyz': give train, count, cost, plan, encode, decode or show (tokenbeam --help)",
        ),
        (["--nope"], "No such option '--nope' (tokenbeam --help)"),
    ],
)
def test_wrong_usage_is_one_line(capsys, argv, message):
    code, err = refusal(capsys, *argv)
    assert (code, err) == (2, f"Error: {message}\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--vocab-size", "10"], "--vocab-size 10 has no room for the 256 bytes: give at least 256"),
        (["--normalize", "NFC"], "--normalize 'NFC' is not one of none, nfc, nfd, nfkc, nfkd"),
        (
            ["--resume", "--replace"],
            "--resume keeps an earlier run and --replace removes it: give one of them",
        ),
        (["--partitions", "0"], "--partitions 0 is too small: give at least 1"),
        (["--workers", "0"], "--workers 0 is too small: give at least 1"),
        (["--format", "csv"], "--format csv: must be one of auto, text, jsonl, parquet, chat"),
        (["--", "--nope", "3"], "Beam does not know --nope 3 (after --)"),
    ],
)
def test_options_that_cannot_be_are_one_line_and_exit_2(capsys, argv, message):
    code, err = refusal(capsys, "train", "a.txt", "-o", "out", *argv)
    assert (code, err) == (2, f"Error: {message}\n")


TRAIN = ["train", "a.txt", "-o", "out"]
COUNT = ["count", "a.txt", "-o", "out", "--tokenizer", "bytes"]


@pytest.mark.parametrize(
    ("code", "argv", "message"),
    [
        # Wrong whatever lies on the disk.
        (2, ["train", "a.txt", "-o", ""], "--output is empty: name a new or empty directory"),
        (2, [*TRAIN, "--text-field", ""], "--text-field is empty: name a field of JSON Lines or a column of Parquet"),
        (2, [*COUNT, "--id-field", ""], "--id-field is empty: name a field of JSON Lines or a column of Parquet"),
        (2, [*COUNT, "--group-by", ""], "--group-by is empty: name a field of JSON Lines or a column of Parquet"),
        (2, [*TRAIN, "--partitions", "4097"], "--partitions 4097 is too large: each is a file; give at most 4096"),
        (
            2,
            [*TRAIN, "--vocab-size", "4000000000"],
            "--vocab-size 4000000000 is too large: give at most 2147483647 (",
        ),
        (2, [*TRAIN, "--min-frequency", "0"], "--min-frequency 0 is too small: give at least 1"),
        (2, [*TRAIN, "--max-token-length", "0"], "--max-token-length 0 is too small: give at least 1"),
        (2, [*TRAIN, "--character-coverage", "0"], "--character-coverage 0.0 is not over 0 and at most 1 (0.9995 is"),
        (2, [*TRAIN, "--special-token", ""], "--special-token is empty: give the text of the token"),
        (2, [*TRAIN, "--special-token", "a", "--special-token", "a"], "--special-token 'a' is given twice: leave one"),
        (2, [*TRAIN, "--unk-token", "?"], "--unk-token '?' needs --alphabet characters; the alphabet is bytes"),
        (2, [*TRAIN, "--model", "unigram"], "--model unigram: only bpe is trained in this version; "),
        (2, [*TRAIN, "--tie-break", "random"], "--tie-break 'random' is not one of ids, first-seen"),
        (2, [*TRAIN, "--pretokenizer", "regex:("], "--pretokenizer: the pattern ( cannot be run: "),
        (2, [*TRAIN, "--on-bad-record", "drop"], "--on-bad-record drop: must be one of fail, skip, replace"),
        (2, [*TRAIN, "--null", "x"], "--null x: must be one of bad, empty"),
        (2, [*TRAIN, "--document", "file", "--format", "jsonl"], "--document file reads files as text; leave out --f"),
        (2, [*TRAIN, "--", "--runner", "DaskRunner"], "-- --runner DaskRunner silently loses records"),
        (
            2,
            [*TRAIN, "--", "--direct_num_workers", "two"],
            "Beam: argument --direct_num_workers: invalid int value: 'two'",
        ),
        # Might be right with other files, another directory, or more packages.
        (1, ["train", "no.txt", "-o", "out"], "no.txt: no such file or directory; give a file, a directory or a glob"),
        (1, ["train", "no*.txt", "-o", "out"], "no*.txt: no file matches this pattern; check it, and quote it so tha"),
        (1, ["train", "-", "-o", "out"], "standard input cannot be read in parts: write it to a file first"),
        (1, ["train", "hollow", "-o", "out"], "hollow: a directory with no files to read (names that start with '.'"),
        (1, ["train", "empty.txt", "-o", "out"], "empty.txt: no document, all input is empty; give files with text"),
        (1, ["train", "https://x.org/a", "-o", "out"], "https://x.org/a is a web address, which no filesystem of Beam"),
        (1, ["train", "a.txt", "-o", "https://x.org/a"], "https://x.org/a is a web address, which no filesystem of Be"),
        (1, ["train", "x://a", "-o", "out"], "x://a: no filesystem opens x://: give a local path, or one of s3://, "),
        (1, ["train", "a.txt", "-o", "a.txt"], "a.txt is a file: name a new or empty directory"),
        (1, ["train", "a.txt", "-o", "full"], "full holds x, which tokenbeam did not write: name a new or empty dire"),
        (1, ["train", "bad.jsonl", "-o", "out"], 'bad.jsonl: row 1 (at byte 0): no field "text"; --on-bad-record sk'),
        (1, [*TRAIN, "--format", "parquet"], "a.txt: not a Parquet file that can be read: "),
        (2, ["train", "", "-o", "out"], "INPUT is empty: name a file, a directory or a glob"),
        (2, ["count", "a.txt", " ", "-o", "out", "--tokenizer", "bytes"], "INPUT is empty: name a file, a directory"),
        (2, ["train", "a.txt", "-o", " "], "--output is empty: name a new or empty directory"),
        (2, ["train", "a.txt", "-o", "o\udcff"], "--output o\\xff: this name is not UTF-8 (its bytes are shown as "),
        (
            2,
            ["count", "a.txt", "-o", "out", "--tokenizer", ""],
            "--tokenizer is empty: give a name such as o200k_base, or a path",
        ),
        (
            2,
            ["count", "a.txt", "-o", "out", "--tokenizer", "bytes", "--incremental", ""],
            "--incremental is empty: name ",
        ),
        (2, ["cost", "", "--model", "gpt-4o"], "COUNTS_DIR is empty: give a path"),
        (2, ["cost", "full", "--model", "gpt-4o", "-o", ""], "--output is empty: give a path"),
        (2, ["encode", "-t", "bytes", "-i", ""], "--input is empty: name a file, or give - for standard input"),
        (1, ["train", "blank.jsonl", "-o", "out"], "blank.jsonl: no document: the input has no record; check --format"),
        (2, ["plan", ""], "INPUT is empty: name a file, a directory or a glob"),
        (1, ["train", "run", "-o", "out"], "run holds the output of a tokenbeam run, which is no corpus: move it els"),
    ],
)
def test_exit_codes(capsys, tmp_path, monkeypatch, code, argv, message):  # noqa: PLR0917 - two of them fixtures
    """The rule: `tokenize_lib.errors`."""
    monkeypatch.chdir(tmp_path)
    for name in ("hollow", "full", "run"):
        Path(name).mkdir()
    Path("a.txt").write_text("some text\n")
    Path("empty.txt").touch()
    Path("blank.jsonl").write_text("\n")
    Path("full", "x").touch()
    Path("bad.jsonl").write_text("{}\n")
    Path("run", "run.json").write_text('{"command": "train", "versions": {}, "outputs": []}')
    found, err = refusal(capsys, *argv)
    assert err.startswith(f"Error: {message}")
    assert len(err.splitlines()) == 1
    assert found == code
    assert not Path("out").exists()


def test_an_input_that_is_not_there_is_one_line_and_exit_1(capsys, tmp_path):
    missing = tmp_path / "missing.txt"
    code, err = refusal(capsys, "train", str(missing), "-o", str(tmp_path / "out"))
    assert (code, err) == (1, f"Error: {missing}: no such file or directory; give a file, a directory or a glob\n")
    assert not (tmp_path / "out").exists()


def test_debug_shows_where(capsys, tmp_path):
    assert run(["train", str(tmp_path / "missing.txt"), "-o", str(tmp_path / "out"), "--debug"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert "Error: " in err.splitlines()[-1]


WAIT_IN_C = """
import hashlib
from pipelines.cli.process import end_on_interrupt

end_on_interrupt()
print("ready", flush=True)
hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2**31 - 1)  # many minutes in one call, as a merge round in the kernel
"""


def test_ctrl_c_ends_at_once_with_one_line():
    command = [sys.executable, "-c", WAIT_IN_C]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "\nStopped. The same command with --resume goes on from here.\n"
