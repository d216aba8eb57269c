import datetime as dt
import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cost_report import read_costs
from pipelines.dataset_costs import CostOptions, price_dataset
from pipelines.progress import Talk
from schemas.dataset_costs import dataset_costs
from tests.pipelines import object_store
from tests.pipelines.counted import CL100K, O200K, counted
from tokenize_lib.errors import InputError, OptionError, TokenbeamError
from tokenize_lib.prices import PriceQuery
from tokenize_lib.request_tokens import RequestShape

NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
CLAUDE = {"claude-sonnet-4-5": "o200k_base"}


def D(text):  # noqa: N802
    return Decimal(text)


def options(*models, stand_ins=None, price_table=None, batch=False, batch_discount=None, **shape):
    return CostOptions(
        models=models,
        stand_ins=stand_ins or {},
        shape=RequestShape(**shape),
        query=PriceQuery(date=NOON, batch=batch, batch_discount=batch_discount),
        price_table=price_table,
    )


def price(directory, the_options, output=None):
    """The rows, and what was said."""
    said = io.StringIO()
    path = price_dataset(directory, the_options, Talk(said, terminal=False), output=output)
    assert path == (output or f"{directory}/costs.parquet")
    return [row for batch in read_costs(path) for row in batch.to_pylist()], said.getvalue()


def test_the_lesson_on_cost_as_a_dataset(tmp_path):
    (tmp_path / "p.toml").write_text('["chat"]\ninput = 1.00\noutput = 4.00\ntokenizer = "o200k_base"\n')
    directory = counted(tmp_path / "c", [[{"tokens": 2_000}] * 4_000, [{"tokens": 2_000}] * 6_000])
    [row], _ = price(directory, options("chat", output_tokens=500, price_table=str(tmp_path / "p.toml")))
    assert row["total_cost"] == D("40")
    assert (row["input_cost"], row["output_cost"]) == (D("20"), D("20"))
    assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (10_000, 20_000_000, 5_000_000)
    assert row["price_source"].startswith("p.toml sha256:")


def test_every_column(tmp_path):
    parts = [[{"tokens": 200_000}, {"tokens": 300_000}], [{"tokens": 0}]]
    directory = counted(tmp_path / "c", parts)
    shape = {"prompt_tokens": 1, "output_tokens": 1_000, "cached_share": D("0.1")}
    [row], said = price(directory, options("claude-sonnet-4-5", stand_ins=CLAUDE, **shape))
    low = {
        "over": 0, "requests": 1, "input_tokens": 1, "cached_tokens": 0, "output_tokens": 1_000,
        "input_price": D(3), "cached_price": D("0.3"), "output_price": D(15), "total_cost": D("0.015003"),
    }  # fmt: skip
    high = {
        "over": 200_000, "requests": 2, "input_tokens": 500_002, "cached_tokens": 50_000, "output_tokens": 2_000,
        "input_price": D(6), "cached_price": D("0.6"), "output_price": D("22.5"), "total_cost": D("2.775012"),
    }  # fmt: skip
    assert row == {
        "model": "claude-sonnet-4-5", "priced_as": "anthropic/claude-sonnet-4-5", "tokenizer": "o200k_base",
        "estimate": True, "whole": True,
        "requests": 3, "input_tokens": 500_003, "cached_tokens": 50_000, "output_tokens": 3_000,
        "input_price": D(3), "cached_price": D("0.3"), "output_price": D(15), "request_price": D(0),
        "input_cost": D("2.700015"), "cached_cost": D("0.03"), "output_cost": D("0.06"), "request_cost": D(0),
        "total_cost": D("2.790015"), "tiers": [low, high], "batch": None,
        "price_source": row["price_source"], "price_date": NOON,
    }  # fmt: skip
    assert row["price_source"].startswith("genai-prices ")
    assert "Costs of 3 documents: " in said


def test_the_file_holds_the_rows_and_is_all_that_is_new(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": 10}]])
    rows, _ = price(directory, options("gpt-4o"))
    table = pq.read_table(tmp_path / "c" / "costs.parquet")
    assert table.to_pylist() == rows
    assert table.schema.equals(dataset_costs(()), check_metadata=True)
    assert table.schema.field("total_cost").type == pa.decimal128(38, 24)
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == ["costs.parquet", "documents", "run.json"]


def test_it_is_replaced_by_another_pricing(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": 10}]])
    price(directory, options("gpt-4o", "gpt-4o-mini"))
    price(directory, options("gpt-4o-mini"))
    assert pq.read_table(tmp_path / "c" / "costs.parquet")["model"].to_pylist() == ["gpt-4o-mini"]


def test_another_file_for_the_costs(tmp_path, monkeypatch):
    directory = counted(tmp_path / "c", [[{"tokens": 10}]])
    monkeypatch.chdir(tmp_path)
    price(directory, options("gpt-4o"), output="mine.parquet")
    price(directory, options("gpt-4o"), output=str(tmp_path / "new" / "mine.parquet"))
    assert pq.read_table("mine.parquet").equals(pq.read_table("new/mine.parquet"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "mine.parquet", "new"]
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["mine.parquet"]
    assert not (tmp_path / "c" / "costs.parquet").exists()


def test_counts_in_an_object_store(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": 10}], [{"tokens": 30}]])
    [row], _ = price(object_store.in_store(directory), options("gpt-4o"))
    assert row["input_tokens"] == 40
    assert sorted(p.name for p in (tmp_path / "c").rglob("*") if p.is_file()) == [
        "costs.parquet", "part-00000.parquet", "part-00001.parquet", "run.json",
    ]  # fmt: skip


def test_groups_in_their_order_and_the_whole_first(tmp_path):
    rows = [
        {"lang": "vi", "site": "a", "tokens": 1_000_000},
        {"lang": "km", "site": None, "tokens": 2_000_000},
        {"lang": None, "site": "a", "tokens": 4_000_000},
        {"lang": "km", "site": "a", "tokens": 8_000_000},
        {"lang": "vi", "site": "a", "tokens": 16_000_000},
    ]
    directory = counted(tmp_path / "c", [rows[:2], rows[2:]], groups=("lang", "site"))
    found, _ = price(directory, options("gpt-4o-mini", "gpt-4o"))
    assert [(r["model"], r["whole"], r["lang"], r["site"], r["total_cost"]) for r in found] == [
        ("gpt-4o-mini", True, None, None, D("4.65")),
        ("gpt-4o-mini", False, None, "a", D("0.6")),
        ("gpt-4o-mini", False, "km", None, D("0.3")),
        ("gpt-4o-mini", False, "km", "a", D("1.2")),
        ("gpt-4o-mini", False, "vi", "a", D("2.55")),
        ("gpt-4o", True, None, None, D("77.5")),
        ("gpt-4o", False, None, "a", D("10")),
        ("gpt-4o", False, "km", None, D("5")),
        ("gpt-4o", False, "km", "a", D("20")),
        ("gpt-4o", False, "vi", "a", D("42.5")),
    ]


def test_a_group_field_named_as_a_column_of_costs(tmp_path):
    directory = counted(tmp_path / "c", [[{"model": "x", "tokens": 5}]], groups=("model",))
    found, _ = price(directory, options("gpt-4o"))
    assert [(row["model"], row["group_model"]) for row in found] == [("gpt-4o", None), ("gpt-4o", "x")]


@given(
    rows=st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 400_000)), min_size=1, max_size=40),
    cut=st.integers(0, 40),
)
def test_groups_and_tiers_add_up_to_the_whole(tmp_path_factory, rows, cut):
    made = [{"g": group, "tokens": tokens} for group, tokens in rows]
    directory = counted(tmp_path_factory.mktemp("counts") / "c", [made[:cut], made[cut:]], groups=("g",))
    ratio = {"output_ratio": D("0.3"), "cached_share": D("0.25")}
    (whole, *groups), _ = price(directory, options("gemini-2.5-pro", stand_ins={"gemini-2.5-pro": "gpt-4o"}, **ratio))
    for name in ("requests", "input_tokens", "cached_tokens", "output_tokens", "input_cost", "total_cost"):
        assert sum(row[name] for row in groups) == whole[name], name
    for row in (whole, *groups):
        assert sum(tier["total_cost"] for tier in row["tiers"]) == row["total_cost"]
        assert sum(tier["requests"] for tier in row["tiers"]) == row["requests"]
    assert whole["requests"] == len(rows)


def test_each_model_is_priced_by_its_own_tokenizer(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": [10, 20]}]], tokenizers=(O200K, CL100K))
    stand_in = {"claude-sonnet-4-5": "cl100k_base"}
    found, _ = price(directory, options("gpt-4o", "gpt-4", "claude-sonnet-4-5", stand_ins=stand_in))
    assert [(row["tokenizer"], row["input_tokens"], row["estimate"]) for row in found] == [
        ("o200k_base", 10, False),
        ("cl100k_base", 20, False),
        ("cl100k_base", 20, True),
    ]


def test_a_stand_in_that_is_the_models_own_is_exact_and_another_an_estimate(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": [10, 20]}]], tokenizers=(O200K, CL100K))
    [row], _ = price(directory, options("gpt-4o", stand_ins={"gpt-4o": "o200k_base"}))
    assert (row["estimate"], row["input_tokens"]) == (False, 10)
    [row], _ = price(directory, options("claude-sonnet-4-5", stand_ins={"claude-sonnet-4-5": "gpt-4"}))
    assert (row["tokenizer"], row["estimate"], row["input_tokens"]) == ("cl100k_base", True, 20)
    [row], _ = price(directory, options("gpt-4o", stand_ins={"gpt-4o": "cl100k_base"}))
    assert (row["estimate"], row["input_tokens"]) == (True, 20)


def test_estimated_documents_make_their_group_an_estimate(tmp_path):
    rows = [
        {"g": "a", "tokens": 1, "estimate_o200k_base": True, "images": 2},
        {"g": "b", "tokens": 1, "estimate_o200k_base": False, "images": 1},
    ]
    more = [pa.field("images", pa.int64()), pa.field("estimate_o200k_base", pa.bool_())]
    directory = counted(tmp_path / "c", [rows], groups=("g",), more=more)
    found, said = price(directory, options("gpt-4o", output_tokens=1))
    assert [(row["g"], row["estimate"]) for row in found] == [(None, True), ("a", True), ("b", False)]
    assert "Warning: images in the requests, which are not priced: 3\n" in said


@pytest.mark.parametrize(
    ("spec", "model", "estimate"),
    [
        ("o200k_base", "gpt-4o", False),
        ("gpt-4o", "azure:gpt-4o-mini", False),
        ("gpt-4o", "gpt-5", True),
        ("o200k_base", "gpt-5", True),
        ("cl100k_base", "gpt-4", False),
        ("cl100k_base", "gpt-3.5-turbo-0301", True),
        ("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0301", False),
        ("gpt-3.5-turbo-0301", "gpt-4", True),
    ],
)
def test_chats_are_an_estimate_for_a_model_that_counts_them_otherwise(tmp_path, spec, model, estimate):
    tokenizer = {**(CL100K if spec in ("cl100k_base", "gpt-3.5-turbo-0301") else O200K), "spec": spec}
    for kind, expected in [("chat", estimate), ("jsonl", False)]:
        said = {"format": kind}
        directory = counted(tmp_path / kind, [[{"tokens": 1}]], tokenizers=(tokenizer,), options=said)
        [row], _ = price(directory, options(model))
        assert row["estimate"] is expected


@pytest.mark.parametrize("kept", ["group", "id", "number"])
def test_output_of_a_field(tmp_path, kept):
    rows = [{"lang": "km", "out": 100_000, "tokens": 1}, {"lang": "km", "out": 300_000, "tokens": 1}]
    groups, field, more, said = ("lang",), "out", [], None
    if kept == "group":
        groups = ("lang", "out")
        rows = [{**row, "out": str(row["out"])} for row in rows]
    elif kept == "id":
        rows = [{"lang": "km", "tokens": 1, "id": str(row["out"])} for row in rows]
        said = {"id_field": "out", "group_by": ["lang"]}
    else:
        more = [pa.field("out", pa.int64())]
    directory = counted(tmp_path / "c", [rows], groups=groups, more=more, options=said)
    found, _ = price(directory, options("gpt-4o", output_field=field))
    assert [(row["lang"], row["output_tokens"], row["output_cost"]) for row in found] == [
        (None, 400_000, D(4)),
        ("km", 400_000, D(4)),
    ]
    assert "out" not in found[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("12.5", "--output-field: a value of out is no whole number: "),
        ("", "--output-field: a value of out is no whole number: "),
        ("-3", "--output-field: out is -3, no number of tokens"),
        (None, "1 document has no out, which --output-field names"),
    ],
)
def test_output_that_is_no_number(tmp_path, value, said):
    directory = counted(tmp_path / "c", [[{"out": value, "tokens": 1}]], groups=("out",))
    with pytest.raises(InputError) as caught:
        price(directory, options("gpt-4o", output_field="out"))
    assert said in str(caught.value)


def refused(directory, the_options):
    with pytest.raises((OptionError, InputError)) as caught:
        price(directory, the_options)
    return str(caught.value)


def test_what_is_not_there_is_said(tmp_path):
    directory = counted(tmp_path / "c", [[{"tokens": 1}]])
    assert refused(directory, options("gpt-4")) == (
        f"--model gpt-4: {directory} has no counts by cl100k_base, only by o200k_base: count with "
        "--tokenizer cl100k_base, or let another stand in: --tokenizer-for gpt-4=o200k_base"
    )
    assert refused(directory, options("claude-sonnet-4-5")) == (
        "--model claude-sonnet-4-5: its tokenizer is not public: name one that was counted to stand in for it, as "
        "--tokenizer-for claude-sonnet-4-5=o200k_base; the costs are then marked as an estimate"
    )
    assert "--model mistral-large-latest: its tokenizer is not known here: " in refused(
        directory, options("mistral-large-latest")
    )
    assert refused(directory, options("gpt-4o", output_field="answer")).startswith(
        f"--output-field answer: {directory} did not keep it (it has source, position, id, bytes, "
    )
    assert "has no run.json" in refused(str(tmp_path), options("gpt-4o"))
    (tmp_path / "run.json").write_text('{"command": "train", "options": {}, "outputs": []}')
    assert "is a run of tokenbeam train" in refused(str(tmp_path), options("gpt-4o"))
    assert "p.toml cannot be read: " in refused(directory, options("gpt-4o", price_table="p.toml"))
    with pytest.raises(OptionError, match="--tokenizer-for gpt-5=x: --model gpt-5 is not given"):
        options("gpt-4o", stand_ins={"gpt-5": "x"})
    with pytest.raises(OptionError, match="name a model, as --model gpt-4o"):
        options()


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda _: b"", lambda _: None])
def test_a_damaged_or_missing_part_is_named(tmp_path, damage):
    directory = counted(tmp_path / "c", [[{"tokens": 1}], [{"tokens": 2}]])
    part = tmp_path / "c" / "documents" / "part-00001.parquet"
    left = damage(part.read_bytes())
    part.unlink() if left is None else part.write_bytes(left)
    with pytest.raises(TokenbeamError) as caught:
        price(directory, options("gpt-4o"))
    assert str(caught.value).startswith(f"{part} ")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "c" / "costs.parquet").exists()


def test_what_the_table_does_not_say_is_said(tmp_path):
    rows = [{"tokens": 1}, {"tokens": 0, "bytes": 0}]
    directory = counted(tmp_path / "c", [rows], tokenizers=(O200K, CL100K))
    stand_in = {"deepseek-chat": "o200k_base"}
    _, said = price(directory, options("text-embedding-3-small", "deepseek-chat", stand_ins=stand_in, output_tokens=1))
    assert "Warning: text-embedding-3-small has no price of output: what it puts out is not priced\n" in said
    assert "Warning: deepseek-chat has other prices at other hours: these are of 12:00 UTC " in said
    assert "requests of empty documents: 1\n" in said
    _, said = price(directory, options("gpt-4o"))
    assert "Input alone is priced: --output-tokens, " in said
