# ruff: noqa: E501
import csv
import json
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from pipelines.cost_report import csv_lines, format_dollars, format_price, json_lines, table_lines
from tests.pipelines.counted import counted
from tests.pipelines.test_dataset_costs import CLAUDE, options, price


def costs(directory, the_options, rows=4_096):
    price(directory, the_options)
    return pq.read_table(f"{directory}/costs.parquet").to_batches(max_chunksize=rows)


def test_a_table_of_models_dearest_first(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": 2_000}] * 3, [{"tokens": 250_000}]])
    shape = {"output_tokens": 500, "cached_share": Decimal("0.5")}
    table = costs(directory, options("gpt-4o-mini", "claude-sonnet-4-5", "gpt-4o", stand_ins=CLAUDE, **shape))
    *lines, note, last, estimates = table_lines(table)
    assert lines == [
        "model              tokenizer   count     requests    input   cached  output     in $/M      out $/M    in $   out $  total $",
        "claude-sonnet-4-5  o200k_base  estimate         4  256,000  128,000   2,000  3.00/6.00  15.00/22.50  0.8349  0.0338   0.8686",
        "gpt-4o             o200k_base  exact            4  256,000  128,000   2,000       2.50        10.00  0.4800  0.0200   0.5000",
        "gpt-4o-mini        o200k_base  exact            4  256,000  128,000   2,000       0.15         0.60  0.0288  0.0012   0.0300",
        "",
    ]  # fmt: skip
    assert note == (
        "claude-sonnet-4-5: 1 of the requests have more than 200,000 tokens of input and cost 0.8362 at 6.00 / 22.50"
    )
    assert last.startswith("US dollars; prices of 2026-11-30 by genai-prices ")
    assert estimates == "Estimates, as the tokens counted are not known to be the model's own: claude-sonnet-4-5"


def test_groups_dearest_first_above_the_whole(tmp_path):
    rows = [{"lang": lang, "tokens": n} for lang, n in [("en", 1_000_000), ("km", 4_000_000), (None, 2_000_000)]]
    directory = counted(tmp_path / "c", [rows], groups=("lang",))
    lines = list(table_lines(costs(directory, options("gpt-4o"))))
    assert lines[:5] == [
        "model   lang           tokenizer   count  requests      input  output  in $/M  out $/M   in $  out $  total $",
        "gpt-4o  km             o200k_base  exact         1  4,000,000       0    2.50    10.00  10.00   0.00    10.00",
        "gpt-4o  -              o200k_base  exact         1  2,000,000       0    2.50    10.00   5.00   0.00     5.00",
        "gpt-4o  en             o200k_base  exact         1  1,000,000       0    2.50    10.00   2.50   0.00     2.50",
        "gpt-4o  whole dataset  o200k_base  exact         3  7,000,000       0    2.50    10.00  17.50   0.00    17.50",
    ]  # fmt: skip
    assert len(lines) == 7


@pytest.mark.parametrize("batch", [1, 7, 31, 100])
def test_of_many_groups_the_dearest_are_shown(tmp_path, batch):
    rows = [{"g": f"{number:03}", "tokens": 1_000 * number} for number in range(30)]
    directory = counted(tmp_path / "c", [rows], groups=("g",))
    lines = list(table_lines(costs(directory, options("gpt-4o", "gpt-4o-mini"), batch)))
    assert [line.split()[1] for line in lines[1:21]] == [f"{number:03}" for number in range(29, 9, -1)]
    assert lines[22] == "10 more groups of gpt-4o are in the file."
    assert [line.split()[0] for line in lines[-5:-2]] == ["model", "gpt-4o", "gpt-4o-mini"]


def test_csv_and_json_keep_every_digit(tmp_path):
    directory = counted(tmp_path / "c", [[{"g": 'a,"b"', "tokens": 7}]], groups=("g",))
    table = costs(directory, options("gpt-4o-mini", output_tokens=1))
    rows = list(csv.DictReader(csv_lines(table)))
    assert list(rows[0]) == table[0].schema.names
    assert [(row["g"], row["whole"], row["total_cost"]) for row in rows] == [
        ("", "true", "0.00000165"), ('a,"b"', "false", "0.00000165"),
    ]  # fmt: skip
    found = json.loads("\n".join(json_lines(table)))
    assert [(row["g"], row["whole"], row["total_cost"]) for row in found] == [
        (None, True, "0.00000165"), ('a,"b"', False, "0.00000165"),
    ]  # fmt: skip
    assert found[0]["tiers"] == json.loads(rows[0]["tiers"])
    assert (found[0]["input_price"], found[0]["price_date"]) == ("0.15", "2026-11-30T12:00:00Z")


def test_csv_tells_null_from_an_empty_text(tmp_path):
    directory = counted(tmp_path / "c", [[{"g": group, "tokens": 7} for group in (None, "", "a")]], groups=("g",))
    table = costs(directory, options("gpt-4o-mini"))
    place = table[0].schema.names.index("g")
    assert [line.split(",")[place] for line in list(csv_lines(table))[1:]] == ["", "", '""', "a"]


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0", "0.00"), ("0.0040", "0.0040"), ("40", "40.00"), ("1234567.891", "1,234,567.89"), ("0.5", "0.5000"),
        ("0.00000165", "0.0000016"), ("1", "1.00"), ("0.99999", "1.0000"),
    ],
)  # fmt: skip
def test_dollars_for_people(amount, said):
    assert format_dollars(Decimal(amount)) == said


@pytest.mark.parametrize(
    ("price_", "said"),
    [("2.500000000000000000", "2.50"), ("0.075", "0.075"), ("10", "10.00"), ("1000", "1,000.00"), ("0", "0.00")],
)
def test_prices_for_people(price_, said):
    assert format_price(Decimal(price_)) == said


def test_no_price_for_people():
    assert format_price(None) == "-"


def test_control_characters_of_groups_are_escaped(tmp_path):
    directory = counted(
        tmp_path / "c", [[{"g": "a\nb", "tokens": 1}, {"g": "\x1b[31mred", "tokens": 1}]], groups=("g",)
    )
    lines = list(table_lines(costs(directory, options("gpt-4o"))))
    assert sorted(line.split()[1] for line in lines[1:3]) == [r"\x1b[31mred", r"a\nb"]
