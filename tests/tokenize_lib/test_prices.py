import datetime as dt
import decimal
from decimal import Decimal
from types import SimpleNamespace

import genai_prices
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenize_lib.costs import added_costs, as_costs, costs_of_tier
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.price_tables import parse_price_table
from tokenize_lib.prices import PriceQuery, find_prices
from tokenize_lib.request_tokens import RequestShape, RequestSums, tokens_of_requests

NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
MARCH_2025 = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)
NOW, BATCH = PriceQuery(date=NOON), PriceQuery(date=NOON, batch=True)
TIERED = ["claude-sonnet-4-5", "gemini-2.5-pro"]


def D(text):  # noqa: N802
    return Decimal(text)


def dataset_costs(prices, documents, shape, output=None):
    """What the documents cost together, by the way that datasets are priced."""
    requests = tokens_of_requests(np.array(documents, dtype=np.int64), shape, output)
    sums = RequestSums(prices.thresholds)
    sums.add(requests, np.zeros(len(documents), dtype=np.int64), 1)
    tiers = [costs_of_tier(tier, sums.values[:, place]) for place, tier in enumerate(prices.tiers)]
    costs = added_costs(tiers)
    return SimpleNamespace(**{name: as_costs(amounts).to_pylist()[0] for name, amounts in vars(costs).items()})


def exact_sum(amounts):
    with decimal.localcontext(prec=100, traps=[decimal.Inexact]):
        return sum(amounts, Decimal(0))


def library_costs(model, requests, query):
    """Each request by the library's own function, added up: input, output, all."""
    *provider, name = model.split(":")
    provider = provider[0] if provider else None
    found = [
        genai_prices.calc_price(
            genai_prices.Usage(input_tokens=tokens, cache_read_tokens=cached, output_tokens=output),
            name,
            provider_id=provider,
            genai_request_timestamp=query.date,
            price_context={"processing": "batch"} if query.batch else None,
        )
        for tokens, cached, output in requests
    ]
    return tuple(exact_sum([getattr(c, f"{kind}_price") for c in found]) for kind in ("input", "output", "total"))


# Lengths around the tier of 200,000 tokens, and any others.
lengths = st.one_of(
    st.integers(0, 3_000_000), st.integers(199_990, 200_010), st.sampled_from([0, 1, 199_999, 200_000, 200_001])
)


@pytest.mark.parametrize("query", [NOW, BATCH], ids=["standard", "batch"])
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini", "gpt-5.4", *TIERED])
@given(
    documents=st.lists(lengths, min_size=1, max_size=30),
    prompt=st.integers(0, 300),
    output=st.integers(0, 70_000),
    share=st.decimals(0, 1, places=3),
)
def test_a_dataset_costs_what_calc_price_says_of_its_documents(  # noqa: PLR0917
    model, query, documents, prompt, output, share
):
    shape = RequestShape(prompt_tokens=prompt, output_tokens=output, cached_share=share)
    ours = dataset_costs(find_prices(model, query), documents, shape)
    requests = [(n + prompt, int((n + prompt) * share), output) for n in documents]
    theirs = library_costs(model, requests, query)
    assert (exact_sum([ours.input, ours.cached]), ours.output, ours.total) == theirs


@pytest.mark.parametrize(
    "model", ["perplexity:sonar", "deepseek-chat", "claude-haiku-5-5", "gemini-1.5-pro", "mistral-large-latest"]
)
@pytest.mark.parametrize("date", [NOON, MARCH_2025, NOON.replace(hour=20)])
def test_models_by_request_by_hour_and_by_date_too(model, date):
    documents = [0, 5, 1_000, 100_000, 128_001, 200_000, 200_001, 1_500_000]
    query = PriceQuery(date=date)
    ours = dataset_costs(find_prices(model, query), documents, RequestShape(output_tokens=70))
    assert ours.total == library_costs(model, [(n, 0, 70) for n in documents], query)[2]
    assert ours.total > 0


def test_the_lesson_on_cost():
    table = parse_price_table("lesson.toml", b'["chat"]\ninput = 1.00\noutput = 4.00\n')
    prices = find_prices("chat", NOW, table)
    assert dataset_costs(prices, [2_000], RequestShape(output_tokens=500)).total == D("0.0040")
    assert dataset_costs(prices, [2_000] * 10_000, RequestShape(output_tokens=500)).total == D("40.00")


@pytest.mark.parametrize(("model", "costs"), [("gpt-4o", ("2.50", "10.00")), ("gpt-4o-mini", ("0.15", "0.60"))])
def test_the_lessons_prices_of_march_2025(model, costs):
    [tier] = find_prices(model, PriceQuery(date=MARCH_2025)).tiers
    assert (tier.prices.input, tier.prices.output) == tuple(map(D, costs))


@pytest.mark.parametrize(("model", "one", "many"), [("claude-sonnet-4-5", "6", "3"), ("gemini-2.5-pro", "2.5", "1.25")])
def test_a_million_tokens_in_a_thousand_documents_are_not_one_request(model, one, many):
    prices = find_prices(model, NOW)
    assert prices.thresholds == (200_000,)
    assert dataset_costs(prices, [1_000_000], RequestShape()).total == D(one)
    assert dataset_costs(prices, [1_000] * 1_000, RequestShape()).total == D(many)


def test_a_request_of_just_the_threshold_is_in_the_lower_tier_and_the_prompt_counts():
    prices = find_prices("claude-sonnet-4-5", NOW)
    assert dataset_costs(prices, [200_000], RequestShape()).total == D("0.6")
    assert dataset_costs(prices, [200_001], RequestShape()).total == D("1.200006")
    assert dataset_costs(prices, [199_999], RequestShape(prompt_tokens=2)).total == D("1.200006")


def test_output_pays_the_tier_of_the_input():
    prices = find_prices("claude-sonnet-4-5", NOW)
    costs = dataset_costs(prices, [100_000, 300_000], RequestShape(output_tokens=1_000_000))
    assert costs.output == D("15") + D("22.5")


@pytest.mark.parametrize(
    ("name", "priced_as"),
    [
        ("GPT-4o", "openai/gpt-4o"),
        ("gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("azure:gpt-4o", "azure/gpt-4o"),
        ("azure/gpt-4o", "azure/gpt-4o"),
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("gemini-2.5-pro-preview", "google/gemini-2.5-pro"),
        ("text-embedding-3-small", "openai/text-embedding-3-small"),
    ],
)
def test_aliases_and_providers(name, priced_as):
    assert find_prices(name, NOW).priced_as == priced_as


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt-4o-mni", "did you mean gpt-4o-mini, "),
        ("claude-sonet-4-5", "did you mean claude-sonnet-4-5, "),
        ("gpt4o", "did you mean gpt-4o, "),
        ("groq:llama-3.3-70b", "did you mean groq:llama-3.3-70b-specdec, groq:llama-3.3-70b-versatile"),
        ("qqqqqqqqqq", "does not know it: --price-table FILE adds models of your own"),
        ("", "does not know it"),
        ("whisper-1", "has no price by input tokens of openai/whisper-1 (it has audio_hours, input_audio_hours)"),
    ],
)
def test_an_unknown_model_is_an_error_with_the_nearest_names(name, said):
    with pytest.raises(OptionError) as caught:
        find_prices(name, NOW)
    assert said in str(caught.value)
    assert f"--model {name}" in str(caught.value)


def test_a_model_of_many_sellers_needs_one():
    with pytest.raises(OptionError, match=r"is sold by .*: say by whom, as [a-z_-]+:deepseek-ai/DeepSeek-V3"):
        find_prices("deepseek-ai/DeepSeek-V3", NOW)


def test_batch_prices_are_the_providers_where_the_source_knows_them():
    [tier] = find_prices("gpt-4o", BATCH).tiers
    assert (tier.prices.input, tier.prices.output) == (D("1.25"), D("5"))
    assert find_prices("gpt-4o", BATCH).batch == "provider"


def test_an_unknown_batch_price_asks_for_a_discount():
    early = PriceQuery(date=MARCH_2025, batch=True)
    with pytest.raises(OptionError) as caught:
        find_prices("gpt-4o", early)
    assert str(caught.value) == (
        "--batch: the batch price of gpt-4o at 2025-03-01 is not known: "
        "say with --batch-discount by what share it is less, as 0.5"
    )
    found = find_prices("gpt-4o", PriceQuery(date=MARCH_2025, batch=True, batch_discount=D("0.4")))
    assert found.batch == "discount 0.4"
    assert (found.tiers[0].prices.input, found.tiers[0].prices.output) == (D("1.5"), D("6"))


def test_a_batch_price_of_another_provider_is_not_taken_for_it():
    # azure sells the models of openai, but the source does not say for how much less in a batch.
    with pytest.raises(OptionError, match="the batch price of azure:o3 "):
        find_prices("azure:o3", BATCH)


@pytest.mark.parametrize("discount", ["0", "1", "-0.5", "50"])
def test_a_discount_is_a_share(discount):
    with pytest.raises(OptionError, match=r"is not over 0 and under 1 \(0\.5 is usual\)"):
        PriceQuery(date=NOON, batch=True, batch_discount=D(discount))


def test_a_discount_needs_batch():
    with pytest.raises(OptionError, match=r"--batch-discount 0\.5 needs --batch"):
        PriceQuery(date=NOON, batch_discount=D("0.5"))


def test_prices_by_the_hour_are_known_as_such():
    night = find_prices("deepseek-chat", PriceQuery(date=NOON.replace(hour=20)))
    assert night.varies_by_hour
    assert night.tiers[0].prices.input == D("0.135")
    assert find_prices("deepseek-chat", NOW).tiers[0].prices.input == D("0.27")


def test_costs_of_huge_datasets_keep_every_digit():
    [tier] = find_prices("gpt-4o-mini", NOW).tiers
    costs = costs_of_tier(tier, np.array([[1, 9_007_199_254_740_993_111, 1, 7]], dtype=np.int64))
    [total] = as_costs(costs.total).to_pylist()
    assert total == D("1351079888211.1489665") + D("0.000000075") + D("0.0000042")


def test_costs_beyond_all_money_are_an_error():
    table = parse_price_table("p.toml", b"[dear]\ninput = 999999999\n")
    with pytest.raises(InputError, match="costs more than 100,000,000,000,000 US dollars"):
        dataset_costs(find_prices("dear", NOW, table), [2**60], RequestShape())
