import datetime as dt
from decimal import Decimal

import pytest

from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.price_tables import parse_price_table
from tokenize_lib.prices import PriceQuery, UnitPrices, find_prices

NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
NOW, BATCH = PriceQuery(date=NOON), PriceQuery(date=NOON, batch=True)

TOML = """
["gpt-4o"]
input = 2.00
cached_input = 0.50
output = 8
batch_input = 1
batch_output = 4
request = 0.5
tokenizer = "o200k_base"
tiers = [
  { over = 500_000, input = 6, cached_input = 2, output = 20, batch_input = 3, batch_output = 9, request = 0.5 },
  { over = 200_000, input = 4, cached_input = 1, output = 12, batch_input = 2, batch_output = 6, request = 0.5 },
]
[embedder]
input = "0.000000000000000001"
"""
CSV = """model,over,input,cached_input,output,batch_input,batch_output,request,tokenizer
gpt-4o,500000,6,2,20,3,9,0.5,
gpt-4o,,2.00,0.50,8,1,4,0.5,o200k_base
embedder,,0.000000000000000001,,,,,,
gpt-4o,200000,4,1,12,2,6,0.5,
"""


def prices(*numbers):
    values = [None if number is None else Decimal(number) for number in numbers]
    return UnitPrices(**dict(zip(("input", "cached_input", "output", "requests"), values, strict=True)))


@pytest.mark.parametrize(("path", "text"), [("own/prices.toml", TOML), ("gs://b/prices.CSV", "\ufeff" + CSV)])
def test_both_forms_say_the_same(path, text):
    table = parse_price_table(path, text.encode())
    found = find_prices("GPT-4o", NOW, table)
    assert [(tier.over, tier.prices) for tier in found.tiers] == [
        (0, prices("2", "0.5", "8", "0.5")),
        (200_000, prices("4", "1", "12", "0.5")),
        (500_000, prices("6", "2", "20", "0.5")),
    ]
    assert (found.tokenizer, found.batch, found.priced_as) == ("o200k_base", None, "GPT-4o")
    assert found.source.startswith(f"{path.rpartition('/')[2]} sha256:")
    batch = find_prices("gpt-4o", BATCH, table)
    assert [tier.prices for tier in batch.tiers] == [
        prices("1", "1", "4", "0.5"), prices("2", "2", "6", "0.5"), prices("3", "3", "9", "0.5"),
    ]  # fmt: skip
    assert batch.batch == "provider"
    assert find_prices("embedder", NOW, table).tiers[0].prices == prices("1e-18", "1e-18", None, "0")


def test_models_that_are_not_in_it_come_from_the_source():
    table = parse_price_table("p.toml", TOML.encode())
    assert find_prices("gpt-4o-mini", NOW, table).priced_as == "openai/gpt-4o-mini"


def test_its_models_are_among_the_near_names():
    table = parse_price_table("p.toml", TOML.encode())
    with pytest.raises(OptionError, match="did you mean embedder"):
        find_prices("embeder", NOW, table)


def test_a_batch_needs_a_discount_where_it_has_no_batch_price():
    table = parse_price_table("p.toml", TOML.encode())
    with pytest.raises(OptionError, match="batch price of embedder at 2026-11-30 is not known"):
        find_prices("embedder", BATCH, table)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\ninput = 1 2", "p.toml is not TOML: "),
        ("[gpt-4.1]\ninput = 1", """model 'gpt-4' has a table '1': write a name with dots in quotes, as ["gpt-4.1"]"""),
        ("input = 1", "'input' stands outside of a model"),
        ("", "prices no model"),
        ("[a]\noutput = 1", "model 'a' has output without input: give both"),
        ("[a]\ninput = 1\nbatch_output = 1", "has batch_output without batch_input: give both"),
        ("[a]\ninput = 1\noutput = 1\nbatch_input = 1", "not both of output and batch_output"),
        ("[a]\ntokenizer = 'x'", "model 'a' has no price of input"),
        ("[a]\ninput = 1\ntokenizer = 3", "tokenizer 3 is not a name"),
        ("[a]\ninput = true", "input True is not a price: write US dollars, as 2.50"),
        ("[a]\ninput = '2,50'", "input '2,50' is not a price"),
        ("[a]\ninput = -1", "input -1 is not a price: give 0 or more"),
        ("[a]\ninput = nan", "input NaN is not a price"),
        ("[a]\ninput = 0.0000000000000000001", "has more than 18 decimal places"),
        ("[a]\ninput = 1\nprompt = 2", "there is no field 'prompt': the fields are model, over, input, "),
        ("[a]\ninput = 1\n[A]\ninput = 2", "model 'A' is priced twice"),
        ("[a]\ninput = 1\ntiers = 3", "tiers is not a list of tables"),
        ("[a]\ninput = 1\ntiers = [{ input = 2 }]", "model 'a' has two prices without over: leave one out"),
        ("[a]\ninput = 1\ntiers = [{ over = 1.5, input = 2 }]", "is not a number of tokens"),
        ("[a]\ninput = 1\noutput = 1\ntiers = [{ over = 5, input = 2 }]", "some tiers have output and some not"),
        ("[a]\ninput = 1\ntiers = [{ over = 5, input = 2 }, { over = 5, input = 3 }]", "over the same number"),
    ],
)
def test_what_is_wrong_with_toml_is_said(text, said):
    with pytest.raises(InputError) as caught:
        parse_price_table("dir/p.toml", text.encode())
    assert said in str(caught.value)
    assert str(caught.value).startswith("dir/p.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column model"),
        ("name,input\na,1", "has no column model"),
        ("model,input\na,1,2", "line 2 has not 2 fields"),
        ("model,input,output\na,1", "line 2 has not 3 fields"),
        ("model,input\n,1", "line 2 names no model"),
        ("model,input\na,1\na,2", "line 2, model 'a' has two prices without over: leave one out"),
        ("model,over,input\na,5,1", "over stands without prices for shorter requests"),
        ("model,input\na,x", "line 2, model 'a': input 'x' is not a price"),
        ("model,input\n", "prices no model"),
        ('model,input\n"a,1', "is not CSV"),
    ],
)
def test_what_is_wrong_with_csv_is_said(text, said):
    with pytest.raises(InputError) as caught:
        parse_price_table("p.csv", text.encode())
    assert said in str(caught.value)


def test_other_files_are_refused():
    with pytest.raises(OptionError, match=r"--price-table p\.json: the name ends neither in \.toml nor in \.csv"):
        parse_price_table("p.json", b"{}")
    with pytest.raises(InputError, match=r"p\.toml: byte 1 is not UTF-8"):
        parse_price_table("p.toml", b"a\xff")
