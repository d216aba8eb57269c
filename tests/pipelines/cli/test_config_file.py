import json
from pathlib import Path

import pytest

from pipelines.cli.main import run


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"body": "one two three", "lang": "en"}\n{"body": "ភាសា", "lang": "km"}\n')
    return path


def options_of(out):
    return json.loads((out / "run.json").read_text())["options"]


def test_names_as_flags_or_with_underscores(corpus, tmp_path):
    out = tmp_path / "out"
    config = tmp_path / "count.toml"
    config.write_text(
        f"""
        inputs = ["{corpus}"]
        output = "{out}"
        text-field = "body"
        tokenizer = ["words", "bytes"]
        group_by = "lang"
        context-limit = [2, 10]
        max_document_bytes = "1MiB"
        quiet = true
        beam = ["--direct_running_mode", "in_memory"]
        """
    )
    assert run(["count", "--config", str(config)]) == 0
    found = options_of(out)
    assert found["tokenizers"] == ["words", "bytes"]
    assert (found["text_field"], found["group_by"], found["context_limits"]) == ("body", ["lang"], [2, 10])
    assert found["max_document_bytes"] == 1 << 20


def test_the_command_line_wins(corpus, tmp_path):
    config = tmp_path / "count.toml"
    config.write_text('text-field = "none"\ntokenizer = ["words", "bytes"]\nquiet = true\noutput = "elsewhere"\n')
    out = tmp_path / "out"
    argv = [
        "count",
        str(corpus),
        "-o",
        str(out),
        "--config",
        str(config),
        "--text-field",
        "body",
        "--tokenizer",
        "chars",
    ]
    assert run(argv) == 0
    assert options_of(out)["tokenizers"] == ["chars"]
    assert options_of(out)["text_field"] == "body"


def test_it_is_for_training_too(corpus, tmp_path):
    config = tmp_path / "train.toml"
    config.write_text('text_field = "body"\nvocab-size = 260\nspecial-token = ["<|a|>"]\nquiet = true\n')
    assert run(["train", str(corpus), "-o", str(tmp_path / "out"), "--config", str(config)]) == 0
    assert options_of(tmp_path / "out")["vocab_size"] == 260
    assert options_of(tmp_path / "out")["pretokenize"]["special_tokens"] == ["<|a|>"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text-feild = 'a'", "count has no option 'text-feild': did you mean 'text-field'?"),
        ("vocab_size = 5", "count has no option 'vocab_size'; it has "),
        ("config = 'a'", "count has no option 'config'"),
        ("[reading]\nformat = 'text'", "count has no option 'reading'"),
        ("[format]\nx = 1", "format is a table: options stand at the top"),
        ("format = ['text']", "format is a list, and can be given once only"),
        ("quiet = 'yes'", "quiet is yes: give true or false"),
        ("text-field = true", "text-field is true: give a value"),
        ("beam = '--runner FlinkRunner'", 'beam is no list: write it as beam = ["--runner", "FlinkRunner"]'),
        ("on-bad-record = 'skip'\non_bad_record = 'fail'", "on-bad-record and on_bad_record are one option: give it "),
        ("format = ", "this is not TOML: Invalid value (at end of document)"),
    ],
)
def test_what_a_file_must_not_say(corpus, tmp_path, capsys, content, message):
    config = tmp_path / "c.toml"
    config.write_text(content)
    assert run(["count", str(corpus), "-o", str(tmp_path / "out"), "--config", str(config)]) == 2
    assert capsys.readouterr().err.startswith(f"Error: --config {config}: {message}")


def test_a_value_that_an_option_refuses(corpus, tmp_path, capsys):
    config = tmp_path / "c.toml"
    config.write_text("workers = 'two'\nmemory = '1X'\n")
    assert run(["count", str(corpus), "-o", str(tmp_path / "out"), "--config", str(config)]) == 2
    assert "Invalid value for '--memory': '1X' is not a size" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.toml", "none.toml: no such file"),
        (".", ".: cannot be read: Is a directory"),
        ("latin1.toml", "latin1.toml: this is not UTF-8, at byte 10; TOML is"),
    ],
)
def test_a_file_that_cannot_be_read(corpus, tmp_path, monkeypatch, capsys, name, message):  # noqa: PLR0917
    monkeypatch.chdir(tmp_path)
    Path("latin1.toml").write_bytes(b"output = '\xe9'\n")
    assert run(["count", str(corpus), "-o", "out", "--config", name]) == 2
    assert capsys.readouterr().err == f"Error: --config {message}\n"


def test_an_empty_name_of_a_file(corpus, capsys):
    assert run(["count", str(corpus), "-o", "out", "--config", ""]) == 2
    assert capsys.readouterr().err == "Error: --config is empty: name a file of options\n"
