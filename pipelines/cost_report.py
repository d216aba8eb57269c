"""Costs for people and for programs: a table of aligned columns, CSV, JSON."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

MOST_GROUPS = 20
"""Groups of a model that the table for people shows."""

_WHOLE = "whole dataset"
_CENTS = Decimal("0.01")


def table_lines(costs: pa.Table) -> Iterator[str]:
    """Give the table for people: dearest first, groups above the whole dataset.

    Args:
        costs: Rows by `schemas.dataset_costs`.
    """
    names = costs.schema.names
    groups = names[names.index("whole") + 1 : names.index("requests")]
    rows = sorted(costs.to_pylist(), key=lambda row: -Decimal(row["total_cost"]))
    whole = [row for row in rows if row["whole"]]
    if groups:
        for model in whole:
            # A model at a time, as the groups of two models do not add up.
            found = [row for row in rows if row["model"] == model["model"] and not row["whole"]]
            yield from _table([*found[:MOST_GROUPS], model], groups)
            if len(found) > MOST_GROUPS:
                yield f"{len(found) - MOST_GROUPS:,} more groups of {model['model']} are in the file."
            yield ""
    if not groups or len(whole) > 1:
        yield from _table(whole, ())
        yield ""
    yield from _tier_lines(whole)
    sources = ", ".join(dict.fromkeys(row["price_source"] for row in whole))
    yield f"US dollars; prices of {_date(whole[0]['price_date'])} by {sources}"
    estimated = [row["model"] for row in whole if row["estimate"]]
    if estimated:
        yield f"Estimates, as the tokens counted are not known to be the model's own: {', '.join(estimated)}"


def csv_lines(costs: pa.Table) -> Iterator[str]:
    """Give CSV with a heading; the tiers of a row are JSON in their cell."""
    yield _csv_line(costs.schema.names)
    for row in _plain_rows(costs):
        yield _csv_line([json.dumps(value) if isinstance(value, (list, bool)) else value for value in row.values()])


def json_lines(costs: pa.Table) -> Iterator[str]:
    """Give a JSON list with an object a row. Amounts are strings, as JSON's numbers would not keep them exact."""
    yield "["
    last = costs.num_rows - 1
    for place, row in enumerate(_plain_rows(costs)):
        yield json.dumps(row, ensure_ascii=False) + ("" if place == last else ",")
    yield "]"


def format_dollars(amount: Decimal) -> str:
    """Give an amount for people: cents from a dollar on, four places below, more where that shows no two digits."""
    if amount == 0 or amount >= 1:
        return f"{amount.quantize(_CENTS):,}"
    return f"{amount.quantize(Decimal(1).scaleb(min(-4, amount.adjusted() - 1))):f}"


def format_price(price: Decimal | None) -> str:
    """Give a price with all its digits, cents at least."""
    if price is None:
        return "-"
    plain = price.normalize()
    return f"{plain if int(plain.as_tuple().exponent) < -2 else plain.quantize(_CENTS):,f}"


def _table(rows: Sequence[dict[str, Any]], groups: Sequence[str]) -> Iterator[str]:
    amounts = ["requests", "input", "cached", "output", "in $/M", "out $/M", "in $", "out $", "total $"]
    table = [["model", *groups, "tokenizer", "count", *amounts], *(_cells(row, groups) for row in rows)]
    if not any(row["cached_tokens"] for row in rows):
        cached = table[0].index("cached")
        table = [[*row[:cached], *row[cached + 1 :]] for row in table]
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    texts = len(groups) + 3
    for row in table:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(cell.ljust(width) if place < texts else cell.rjust(width) for place, (cell, width) in cells)


def _cells(row: dict[str, Any], groups: Sequence[str]) -> list[str]:
    names = [_WHOLE if row["whole"] and place == 0 else row[name] for place, name in enumerate(groups)]
    return [
        row["model"],
        *("-" if name is None else name for name in names),
        row["tokenizer"],
        "estimate" if row["estimate"] else "exact",
        *(f"{row[name]:,}" for name in ("requests", "input_tokens", "cached_tokens", "output_tokens")),
        *(_price_range(row, name) for name in ("input_price", "output_price")),
        format_dollars(row["input_cost"] + row["cached_cost"]),
        format_dollars(row["output_cost"]),
        format_dollars(row["total_cost"]),
    ]


def _price_range(row: dict[str, Any], name: str) -> str:
    """Give the prices of the tiers that a row has requests in, else of the first."""
    used = [tier[name] for tier in row["tiers"] if tier["requests"]] or [row[name]]
    return "/".join(dict.fromkeys(format_price(price) for price in used))


def _tier_lines(whole: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in whole:
        for tier in row["tiers"][1:]:
            if tier["requests"]:
                yield (
                    f"{row['model']}: {tier['requests']:,} of the requests have more than {tier['over']:,} tokens of "
                    f"input and cost {format_dollars(tier['total_cost'])} at {format_price(tier['input_price'])} / "
                    f"{format_price(tier['output_price'])}"
                )


def _plain_rows(costs: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in costs.to_batches(max_chunksize=1024):
        yield from map(_plain, batch.to_pylist())


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case Decimal():
            return f"{value.normalize():f}"
        case dt.datetime():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}"
        case _:
            return value


def _date(date: dt.datetime) -> str:
    return f"{date:%Y-%m-%d}" if (date.hour, date.minute) == (12, 0) else f"{date:%Y-%m-%d %H:%M} UTC"


def _csv_line(values: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()
