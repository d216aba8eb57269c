import datetime as dt
import json

import pytest

from pipelines.cli.main import run
from tests.pipelines.counted import CL100K, O200K, counted


@pytest.fixture
def counts(tmp_path):
    return counted(tmp_path / "c", [[{"tokens": [2_000, 3_000]}] * 4], tokenizers=(O200K, CL100K))


def json_rows(capsys, *argv):
    assert run(["cost", *argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_is_on_stdout_and_talk_on_stderr(counts, capsys):
    assert run(["cost", counts, "--model", "gpt-4o", "--output-tokens", "500"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split() == [
        "gpt-4o", "o200k_base", "exact", "4", "8,000", "2,000", "2.50", "10.00", "0.0200", "0.0200", "0.0400",
    ]  # fmt: skip
    assert f"Costs of 4 documents: {counts}/costs.parquet\n" in err
    assert run(["cost", counts, "--model", "gpt-4o", "--output-tokens", "500", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_models_and_options(counts, capsys):
    rows = json_rows(
        capsys, counts, "--model", "gpt-4o,gpt-4o-mini", "--model", "claude-sonnet-4-5", "--prompt-tokens", "100",
        "--output-ratio", "50%", "--cached-share", "0.1", "--batch", "--tokenizer-for", "claude-sonnet-4-5=cl100k_base",
    )  # fmt: skip
    assert [(r["model"], r["input_tokens"], r["cached_tokens"], r["output_tokens"], r["batch"]) for r in rows] == [
        ("gpt-4o", 8_400, 840, 4_000, "provider"),
        ("gpt-4o-mini", 8_400, 840, 4_000, "provider"),
        ("claude-sonnet-4-5", 12_400, 1_240, 6_000, "provider"),
    ]
    assert [r["estimate"] for r in rows] == [False, False, True]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2025-03-01", "2025-03-01T12:00:00Z"),
        ("2025-03-01T20:30", "2025-03-01T20:30:00Z"),
        ("2025-03-01T20:30+07:00", "2025-03-01T13:30:00Z"),
    ],
)
def test_the_date_of_prices(counts, capsys, given, found):
    [row] = json_rows(capsys, counts, "--model", "gpt-4o", "--price-date", given)
    assert (row["price_date"], row["input_price"], row["output_price"]) == (found, "2.5", "10")


def test_a_date_that_the_source_does_not_know_is_told(counts, capsys):
    def warnings(*argv):
        assert run(["cost", counts, *argv, "--quiet"]) == 0
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("Warning: ")]

    assert warnings("--model", "gpt-4o") == []
    assert warnings("--model", "gpt-4o", "--price-date", "2999-01-01") == [
        "Warning: --price-date 2999-01-01 is to come: what is known of its prices today is used"
    ]
    [warning] = warnings("--model", "gpt-4o,gpt-4o-mini", "--price-date", "2019-01-01")
    assert warning.startswith("Warning: genai-prices ")
    assert warning.endswith(
        "does not say since when the prices of gpt-4o, gpt-4o-mini hold: they are used for 2019-01-01 even if there "
        "was no such model then"
    )


def test_an_unknown_model_is_told_the_names_of_the_price_table(counts, capsys, tmp_path):
    (tmp_path / "own.csv").write_text("model,input,output\nin-house,1,2\n", encoding="utf-8")
    assert run(["cost", counts, "--model", "claude-sonet-4-5", "--price-table", str(tmp_path / "own.csv")]) == 2
    assert ", in-house? --price-table FILE adds models of your own" in capsys.readouterr().err


def test_one_document_is_told_as_one(tmp_path, capsys):
    counts = counted(tmp_path / "one", [[{"tokens": 5}]])
    assert run(["cost", counts, "--model", "gpt-4o"]) == 0
    assert "Costs of 1 document: " in capsys.readouterr().err


def test_prices_are_of_today_unless_said(counts, capsys):
    before = dt.datetime.now(dt.UTC).date()
    [row] = json_rows(capsys, counts, "--model", "gpt-4o")
    assert row["price_date"] in {f"{day}T12:00:00Z" for day in (before, dt.datetime.now(dt.UTC).date())}


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--model", "gpt-4o-mni"], 2, "does not know it: did you mean gpt-4o-mini"),
        ([], 2, "Missing option '--model'"),
        (["--model", "gpt-4o", "--output-ratio", "half"], 2, "'half' is not a number: write it as 0.5 or 50%"),
        (["--model", "gpt-4o", "--price-date", "yesterday"], 2, "'yesterday' is not a date: write it as 2026-11-30"),
        (["--model", "gpt-4o", "--tokenizer-for", "gpt-4o"], 2, "--tokenizer-for 'gpt-4o' is not MODEL=NAME"),
        (["--model", "gpt-4o", "--batch-discount", "0.5"], 2, "--batch-discount 0.5 needs --batch"),
        (["--model", "gpt-4o", "--batch", "--price-date", "2025-03-01"], 2, "say with --batch-discount"),
        (["--model", "gpt-4o", "--output-field", "id"], 2, "was counted without --id-field, so it has no ids"),
        (["--model", "gpt-4o", "--price-table", "none.toml"], 1, "--price-table none.toml cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(counts, capsys, argv, code, said):
    assert run(["cost", counts, *argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err.splitlines()[-1]


def test_options_from_a_file(counts, capsys, tmp_path):
    config = tmp_path / "cost.toml"
    config.write_text(
        'model = ["gpt-4o", "gpt-4o-mini"]\noutput-ratio = 0.5\nprice-date = 2025-03-01\ncached-share = "10%"\n'
    )
    rows = json_rows(capsys, counts, "--config", str(config))
    assert [(row["model"], row["output_tokens"], row["cached_tokens"]) for row in rows] == [
        ("gpt-4o", 4_000, 800),
        ("gpt-4o-mini", 4_000, 800),
    ]
    assert rows[0]["price_date"] == "2025-03-01T12:00:00Z"
    [row] = json_rows(capsys, counts, "--config", str(config), "--model", "gpt-4o")
    assert row["model"] == "gpt-4o"


def test_a_directory_that_holds_no_count(tmp_path, capsys):
    assert run(["cost", str(tmp_path / "none"), "--model", "gpt-4o"]) == 1
    assert "none is no finished count: it has no run.json; tokenbeam count makes one" in capsys.readouterr().err


def test_count_prices_the_models_that_it_counts_for(tmp_path, capsys):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "Hello, how are you?"}\n{"text": "You are a helpful assistant."}\n')
    out = str(tmp_path / "out")
    asked = ["--model", "gpt-4o", "--model", "claude-sonnet-4-5", "--tokenizer-for", "claude-sonnet-4-5=cl100k_base"]
    assert run(["count", str(corpus), "-o", out, *asked, "--output-tokens", "10"]) == 0
    table, talk = capsys.readouterr()
    assert [line.split()[:6] for line in table.splitlines()[1:3]] == [
        ["claude-sonnet-4-5", "cl100k_base", "estimate", "2", "12", "20"],
        ["gpt-4o", "o200k_base", "exact", "2", "12", "20"],
    ]
    assert f"Costs of 2 documents: {out}/costs.parquet\n" in talk
    [row] = json_rows(capsys, out, "--model", "gpt-4o")
    assert row["input_tokens"] == 12
    assert run(["count", str(corpus), "-o", out, "--model", "gpt-4o", "--replace", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--model", "gpt-4o-mni"], "does not know it: did you mean gpt-4o-mini"),
        (["--model", "claude-sonnet-4-5"], "its tokenizer is not public: name one that was counted to stand in"),
        (["--tokenizer", "chars", "--output-tokens", "5"], "--output-tokens is for pricing: name a model"),
    ],
)
def test_count_knows_before_it_reads_that_it_cannot_price(tmp_path, capsys, argv, said):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("x\n")
    assert run(["count", str(corpus), "-o", str(tmp_path / "out"), *argv]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
