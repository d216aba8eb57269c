"""Sums of tokens times prices, as exact decimals, for any number of groups at once."""

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.dataset_costs import COST, TIER
from tokenize_lib.errors import InputError
from tokenize_lib.prices import PriceTier
from tokenize_lib.request_tokens import Counts

Amounts: TypeAlias = "pa.Array[Any]"

# Wide enough that no product and no sum here can overflow; what is written down is checked to fit `COST`.
_FACTOR = pa.decimal256(38, COST.scale)
_COUNT = pa.decimal256(19, 0)


@dataclasses.dataclass(frozen=True)
class Costs:
    """What groups cost in US dollars, an Arrow array each, a value a group.

    Attributes:
        input: Of input that no cache held.
        cached: Of cached input.
        output: Of output.
        requests: Of the requests themselves.
        total: All of them.
    """

    input: Amounts
    cached: Amounts
    output: Amounts
    requests: Amounts
    total: Amounts


def costs_of_tier(tier: PriceTier, sums: Counts) -> Costs:
    """Price requests of one tier. Equal to ``genai_prices.calc_price`` of each of them, added up.

    Args:
        tier: The tier.
        sums: int64, groups by `tokenize_lib.request_tokens.SUMS`.

    Returns:
        decimal256 arrays.
    """
    prices = tier.prices
    requests, tokens, cached, output = np.ascontiguousarray(sums.T)
    parts = (
        _times(tokens - cached, prices.input, 6),
        _times(cached, prices.cached_input, 6),
        _times(output, prices.output or Decimal(0), 6),
        _times(requests, prices.requests, 3),
    )
    return Costs(*parts, total=_added(parts))


def added_costs(costs: Sequence[Costs]) -> Costs:
    """Add tiers up, each kind of cost for itself."""
    return Costs(*(_added([getattr(each, field.name) for each in costs]) for field in dataclasses.fields(Costs)))


def as_costs(amounts: Amounts) -> Amounts:
    """Give amounts in the type of the tables.

    Raises:
        InputError: One is more than the type holds.
    """
    try:
        return amounts.cast(COST)
    except pa.ArrowInvalid:
        most = 10 ** (COST.precision - COST.scale)
        raise InputError(f"the dataset costs more than {most:,} US dollars: look at its prices and counts") from None


def tier_split(tiers: Sequence[PriceTier], sums: Counts, costs: Sequence[Costs]) -> Amounts:
    """Give the column ``tiers``: for each group a list of `schemas.dataset_costs.TIER`, a struct a tier.

    Args:
        tiers: The tiers.
        sums: int64, groups by tiers by `tokenize_lib.request_tokens.SUMS`.
        costs: Of each tier.
    """
    groups = len(sums)
    by_tier = [_structs(*each, groups) for each in zip(tiers, np.moveaxis(sums, 1, 0), costs, strict=True)]
    one_group_after_another: Any = pa.array(np.arange(groups * len(tiers)).reshape(len(tiers), groups).T.ravel())
    values: Any = pa.concat_arrays(by_tier).take(one_group_after_another)
    offsets: Any = pa.array(np.arange(groups + 1, dtype=np.int32) * len(tiers))
    element = pa.field("element", TIER, nullable=False)
    lists: Amounts = pa.ListArray.from_arrays(offsets, values, type=pa.list_(element))
    return lists


def _structs(tier: PriceTier, sums: Counts, costs: Costs, groups: int) -> Amounts:
    columns: list[Any] = [np.full(groups, tier.over, dtype=np.int64), *np.ascontiguousarray(sums.T)]
    prices: list[Any] = [tier.prices.input, tier.prices.cached_input, tier.prices.output]
    names = ("input_price", "cached_price", "output_price")
    columns += [pa.repeat(pa.scalar(p, TIER.field(name).type), groups) for p, name in zip(prices, names, strict=True)]
    arrays: Any = [*map(pa.array, columns[:5]), *columns[5:], as_costs(costs.total)]
    structs: Amounts = pa.StructArray.from_arrays(arrays, fields=list(TIER))
    return structs


def _times(counts: Counts, price: Decimal, per: int) -> Amounts:
    """Multiply counts by a price of ten to the power `per` of them."""
    factor = pa.scalar(price.scaleb(-per), _FACTOR)
    product: Amounts = pc.multiply(pa.array(counts).cast(_COUNT), factor)
    return product


def _added(amounts: Sequence[Amounts]) -> Amounts:
    total = amounts[0]
    for more in amounts[1:]:
        total = pc.add(total, more)
    return total
