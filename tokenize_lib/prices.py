"""What a model costs: the price source, the user's own table, and the arithmetic of requests.

The source is the package ``genai-prices`` (https://github.com/pydantic/genai-prices), as it was installed: dated prices
for each model and tiers by the length of a request. Its update over the network is never started. Its rule for tiers is
kept to the letter: a request whose input is longer than a tier's start pays that tier's price for *all* its tokens,
input and output, so a dataset cannot be priced by its totals; each request has its tier.

Prices are US dollars per million tokens, `decimal.Decimal` throughout; costs come out exact, without rounding.
"""

import dataclasses
import datetime as dt
import decimal
import difflib
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import genai_prices
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from tokenize_lib.errors import OptionError
from tokenize_lib.price_tables import PRICE_DECIMALS, OwnModel, PriceTable

_BATCH = {"processing": "batch"}
_MAKERS = ("openai", "anthropic", "google", "mistral", "cohere", "x-ai", "deepseek", "voyageai", "moonshotai")


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnitPrices:
    """Prices in US dollars: of a million tokens, and of a thousand requests.

    Attributes:
        input: Of input that no cache held.
        cached_input: Of input read from the provider's cache; the same as `input` where it gives no discount.
        output: Of output; None for a model that is not sold by output, as one for embeddings.
        requests: Of a thousand requests, besides their tokens.
    """

    input: Decimal
    cached_input: Decimal
    output: Decimal | None
    requests: Decimal = Decimal(0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriceTier:
    """What requests pay whose input has more than `over` tokens, and not more than the next tier's; 0 for the first."""

    over: int
    prices: UnitPrices


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelPrices:
    """What a model costs at a date.

    Attributes:
        model: The name that was asked for.
        priced_as: Provider and model of the source: ``openai/gpt-4o``; for a price table, the name in it.
        source: The price source with its version.
        date: The moment that the prices hold for, in UTC.
        tiers: The first one's `over` is 0; ascending.
        batch: ``provider``: the source's batch prices; ``discount 0.5``: others, less that share; None: no batch.
        varies_by_hour: The provider has other prices at other hours of the day.
        undated: The source does not say since when these prices hold, nor whether there was such a model then.
        tokenizer: The model's own tokenizer where a price table names it.
    """

    model: str
    priced_as: str
    source: str
    date: dt.datetime
    tiers: tuple[PriceTier, ...]
    batch: str | None
    varies_by_hour: bool = False
    undated: bool = False
    tokenizer: str | None = None

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The input tokens beyond which each tier but the first begins."""
        return tuple(tier.over for tier in self.tiers[1:])


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriceQuery:
    """Which prices are wanted.

    Attributes:
        date: The moment of the requests; without a time zone it is UTC.
        batch: Prices of the provider's batch API.
        batch_discount: For models whose batch price is unknown: the share that it is less, over 0 and under 1.

    Raises:
        OptionError: The discount is no such share, or `batch` is not asked for.
    """

    date: dt.datetime
    batch: bool = False
    batch_discount: Decimal | None = None

    def __post_init__(self) -> None:
        date = self.date.replace(tzinfo=dt.UTC) if self.date.tzinfo is None else self.date.astimezone(dt.UTC)
        object.__setattr__(self, "date", date)
        if self.batch_discount is None:
            return
        if not self.batch:
            raise OptionError(f"--batch-discount {self.batch_discount} needs --batch")
        if not 0 < self.batch_discount < 1:
            raise OptionError(f"--batch-discount {self.batch_discount} is not over 0 and under 1 (0.5 is usual)")


def source_version() -> str:
    """Name the price source and its version: what its data is dated by."""
    return f"genai-prices {genai_prices.__version__}"


def find_prices(model: str, query: PriceQuery, table: PriceTable | None = None) -> ModelPrices:
    """Find what a model costs.

    Args:
        model: A name as the provider's API takes it, aliases as the source knows them; ``azure:gpt-4o`` and
            ``azure/gpt-4o`` name the provider, too. Case does not matter.
        query: At what date, and by which API.
        table: The user's own prices; a model in it is priced by it alone.

    Raises:
        OptionError: Nobody knows the model; or it is not sold by tokens; or its batch price is unknown and no discount
            given.
    """
    own = table.models.get(model.strip().lower()) if table else None
    if table and own:
        return _own_prices(model, own, table, query)
    provider, info = _find_model(model, table)
    return _source_prices(model, provider, info, query)


def _own_prices(model: str, own: OwnModel, table: PriceTable, query: PriceQuery) -> ModelPrices:
    has_batch = "batch_input" in own.tiers[0].prices
    kind = "batch_" if query.batch and has_batch else ""
    discount = _discount(model, query, known=has_batch)
    tiers = []
    for tier in own.tiers:
        given = tier.prices
        prices = UnitPrices(
            input=given[f"{kind}input"],
            cached_input=given.get(f"{kind}cached_input", given[f"{kind}input"]),
            output=given.get(f"{kind}output"),
            requests=given.get("request", Decimal(0)),
        )
        tiers.append(PriceTier(over=tier.over, prices=_less(prices, discount)))
    return ModelPrices(
        model=model,
        priced_as=model,
        source=table.name,
        date=query.date,
        tiers=tuple(tiers),
        batch=_batch_name(query, discount),
        tokenizer=own.tokenizer,
    )


def _source_prices(model: str, provider: Provider, info: ModelInfo, query: PriceQuery) -> ModelPrices:
    # The source passes over a batch price, without a word, of a model that a provider sells for another one.
    sold_by_itself = any(info is other for other in provider.models)
    variants = [v for v in (info.price_variants or ()) if sold_by_itself and v.when == _BATCH]
    has_batch = any(_active(variant, query.date) for variant in variants)
    discount = _discount(model, query, known=has_batch)
    found = info.get_prices(query.date, _BATCH if query.batch and has_batch else None)
    priced_as = f"{provider.id}/{info.id}"
    if found.input_mtok is None:
        keys = ", ".join(key for key, value in found.__dict__.items() if value is not None) or "no price at all"
        raise OptionError(
            f"--model {model}: {source_version()} has no price by input tokens of {priced_as} (it has {keys}): "
            "price it with --price-table"
        )
    return ModelPrices(
        model=model,
        priced_as=priced_as,
        source=source_version(),
        date=query.date,
        tiers=tuple(PriceTier(over=t.over, prices=_less(t.prices, discount)) for t in _tiers(found)),
        batch=_batch_name(query, discount),
        varies_by_hour=_varies_by_hour(info),
        undated=not _is_dated(info, query.date),
    )


def _tiers(found: ModelPrice) -> Iterator[PriceTier]:
    units: dict[str, Any] = {
        "input": found.input_mtok,
        "cached_input": found.input_mtok if found.cache_read_mtok is None else found.cache_read_mtok,
        "output": found.output_mtok,
        "requests": found.requests_kcount or Decimal(0),
    }
    starts = {tier.start for price in units.values() if isinstance(price, TieredPrices) for tier in price.tiers}
    yield PriceTier(over=0, prices=UnitPrices(**{unit: _at(price, None) for unit, price in units.items()}))
    for start in sorted(starts):
        yield PriceTier(over=start, prices=UnitPrices(**{unit: _at(price, start) for unit, price in units.items()}))


def _at(price: Any, start: int | None) -> Any:
    """Give a price in the tier that begins at `start`, which may be another unit's; None for the base."""
    if price is None:
        return None
    if not isinstance(price, TieredPrices):
        return _rounded(price)
    reached = [tier for tier in price.tiers if start is not None and tier.start <= start]
    return _rounded(reached[-1].price if reached else price.base)


def _active(variant: PriceVariant, date: dt.datetime) -> bool:
    return variant.constraint is None or variant.constraint.active(date)


def _is_dated(info: ModelInfo, date: dt.datetime) -> bool:
    """Tell whether the source says since when the prices of a date hold."""
    conditional = [] if isinstance(info.prices, ModelPrice) else info.prices
    starts = (price.constraint for price in conditional if isinstance(price.constraint, StartDateConstraint))
    return any(start.active(date) for start in starts)


def _varies_by_hour(info: ModelInfo) -> bool:
    if isinstance(info.prices, ModelPrice):
        return False
    return any(isinstance(price.constraint, TimeOfDateConstraint) for price in info.prices)


def _discount(model: str, query: PriceQuery, *, known: bool) -> Decimal | None:
    """Give the share to take off; None when the prices are the right ones already."""
    if not query.batch or known:
        return None
    if query.batch_discount is None:
        raise OptionError(
            f"--batch: the batch price of {model} at {query.date:%Y-%m-%d} is not known: "
            "say with --batch-discount by what share it is less, as 0.5"
        )
    return query.batch_discount


def _batch_name(query: PriceQuery, discount: Decimal | None) -> str | None:
    if not query.batch:
        return None
    return "provider" if discount is None else f"discount {discount}"


def _less(prices: UnitPrices, discount: Decimal | None) -> UnitPrices:
    """Take a share off every price, to 18 decimal places."""
    if discount is None:
        return prices

    def less(price: Decimal) -> Decimal:
        with decimal.localcontext(prec=100):
            return _rounded(price * (1 - discount))

    return UnitPrices(
        input=less(prices.input),
        cached_input=less(prices.cached_input),
        output=None if prices.output is None else less(prices.output),
        requests=less(prices.requests),
    )


def _rounded(price: Decimal) -> Decimal:
    """Give a price in no more decimal places than a cost is exact for; none that is known has more."""
    with decimal.localcontext(prec=100):
        return round(price, PRICE_DECIMALS) if -int(price.as_tuple().exponent) > PRICE_DECIMALS else price


def _find_model(model: str, table: PriceTable | None) -> tuple[Provider, ModelInfo]:
    snapshot = get_snapshot()
    name = model.strip()
    before, separator, after = _split_provider(name)
    if separator and any(provider.id == before for provider in snapshot.providers):
        try:
            return snapshot.find_provider_model(after, None, before, None)
        except LookupError:
            raise _unknown(model, after, [p for p in snapshot.providers if p.id == before], table) from None
    try:
        return snapshot.find_provider_model(name, None, None, None)
    except LookupError:
        pass
    # Names that do not tell their provider, as text-embedding-3-small.
    sellers = [(p, info) for p in snapshot.providers if name and (info := p.find_model(name))]
    first = [found for found in sellers if found[0].id == "openai"] or sellers
    if len(first) == 1:
        return first[0]
    if sellers:
        ids = ", ".join(provider.id for provider, _ in sellers)
        raise OptionError(f"--model {model} is sold by {ids}: say by whom, as {sellers[0][0].id}:{name}")
    raise _unknown(model, name, snapshot.providers, table)


def _split_provider(name: str) -> tuple[str, str, str]:
    parts = re.split(r"([:/])", name, maxsplit=1)
    return (parts[0].lower(), parts[1], parts[2]) if len(parts) == 3 else (name, "", "")


def _unknown(model: str, name: str, providers: Sequence[Provider], table: PriceTable | None) -> OptionError:
    names = [*(table.models if table else ())]
    one = len(providers) == 1
    for provider in sorted(providers, key=lambda p: _MAKERS.index(p.id) if p.id in _MAKERS else len(_MAKERS)):
        names += [info.id if one or provider.id in _MAKERS else f"{provider.id}:{info.id}" for info in provider.models]
    near = difflib.get_close_matches(name.lower(), dict.fromkeys(names), n=4, cutoff=0.6)
    before = f"{providers[0].id}:" if one else ""
    near = [other if table and other in table.models else f"{before}{other}" for other in near]
    if table:  # a table is short, and its names may be like no other
        near += [own for own in difflib.get_close_matches(name.lower(), table.models, n=3, cutoff=0) if own not in near]
    hint = f"did you mean {', '.join(near)}? " if near else ""
    return OptionError(
        f"--model {model}: {source_version()} does not know it: {hint}--price-table FILE adds models of your own"
    )
