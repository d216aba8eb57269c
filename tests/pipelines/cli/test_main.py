import signal
import subprocess
import sys

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
    assert "  train   Train a tokenizer on text files and write it to a directory." in out
    assert err == ""


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
        (["train"], "Missing argument 'INPUT...'."),
        (["train", "a.txt"], "Missing option '-o' / '--output'."),
        (["train", "a.txt", "-o", "out", "--vocab-size", "many"], "'many' is not a valid integer."),
        (["train", "a.txt", "-o", "out", "--memory", "lots"], "'lots' is not a size: write it as 512M or 4GiB"),
        (["train", "a.txt", "-o", "out", "--vocab"], "No such option '--vocab'. Did you mean '--vocab-size'?"),
        (["trian", "a.txt"], "No such command 'trian'."),
    ],
)
def test_wrong_usage(capsys, argv, message):
    code, err = refusal(capsys, *argv)
    assert code == 2
    assert message in err


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
        (["--format", "csv"], "--format csv: must be one of auto, text, jsonl, parquet"),
        (["--", "--nope", "3"], "Beam does not know --nope 3 (after --)"),
    ],
)
def test_options_that_cannot_be_are_one_line_and_exit_2(capsys, argv, message):
    code, err = refusal(capsys, "train", "a.txt", "-o", "out", *argv)
    assert (code, err) == (2, f"Error: {message}\n")


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
