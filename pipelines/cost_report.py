"""Costs for people and for programs: a table of aligned columns, CSV, JSON."""

import csv
import dataclasses
import datetime as dt
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.run_files import RunFiles

MOST_GROUPS = 20
"""Groups of a model that the table for people shows."""

_WHOLE = "whole dataset"
_ROWS_AT_ONCE = 1 << 12
_CENTS = Decimal("0.01")


def read_costs(path: str) -> Iterator[pa.RecordBatch]:
    """Give the rows of a file of costs, some thousands at a time."""
    directory, _, name = path.rpartition("/")
    files = RunFiles(directory or ("/" if path.startswith("/") else "."))
    with files.open_parquet(name) as table:
        yield from table.iter_batches(batch_size=_ROWS_AT_ONCE)


def table_lines(costs: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Give the table for people: dearest first, groups above the whole dataset.

    Args:
        costs: Rows by `schemas.dataset_costs`.
    """
    models = list(_models(costs))
    groups = models[0].groups
    models.sort(key=lambda model: -Decimal(model.whole["total_cost"]))
    if groups:
        for model in models:
            # A model at a time, as the groups of two models do not add up.
            yield from _table([*model.dearest, model.whole], groups)
            if model.count > len(model.dearest):
                yield f"{model.count - len(model.dearest):,} more groups of {model.whole['model']} are in the file."
            yield ""
    whole = [model.whole for model in models]
    if not groups or len(whole) > 1:
        yield from _table(whole, ())
        yield ""
    yield from _tier_lines(whole)
    sources = ", ".join(dict.fromkeys(row["price_source"] for row in whole))
    yield f"US dollars; prices of {_date(whole[0]['price_date'])} by {sources}"
    estimated = [row["model"] for row in whole if row["estimate"]]
    if estimated:
        yield f"Estimates, as the tokens counted are not known to be the model's own: {', '.join(estimated)}"


@dataclasses.dataclass
class _Model:
    """The rows of one model that the table shows, and how many groups there are."""

    whole: dict[str, Any]
    groups: list[str]
    dearest: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    count: int = 0

    def see(self, groups: pa.RecordBatch) -> None:
        """Look at some of the groups."""
        self.count += groups.num_rows
        dearest: Any = pc.sort_indices(groups.column("total_cost"), sort_keys=[("", "descending")])
        rows = [*self.dearest, *groups.take(dearest[:MOST_GROUPS]).to_pylist()]
        self.dearest = sorted(rows, key=lambda row: -Decimal(row["total_cost"]))[:MOST_GROUPS]


def _models(costs: Iterable[pa.RecordBatch]) -> Iterator[_Model]:
    found: list[_Model] = []
    for batch in costs:
        names = batch.schema.names
        groups = names[names.index("whole") + 1 : names.index("requests")]
        starts = np.flatnonzero(batch.column("whole").to_numpy(zero_copy_only=False)).tolist()
        for start, end in pairwise([*sorted({0, *starts}), batch.num_rows]):
            rows = batch.slice(start, end - start)
            if start in starts:
                found.append(_Model(rows.slice(0, 1).to_pylist()[0], groups))
                rows = rows.slice(1)
            found[-1].see(rows)
    yield from found


def csv_lines(costs: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Give CSV with a heading; the tiers of a row are JSON in their cell. Null is ``,,`` and an empty text ``,"",``."""
    for number, row in enumerate(_plain_rows(costs)):
        if number == 0:
            yield _csv_line(list(row))
        yield _csv_line([json.dumps(value) if isinstance(value, (list, bool)) else value for value in row.values()])


def json_lines(costs: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Give a JSON list with an object a row. Amounts are strings, as JSON's numbers would not keep them exact."""
    before = "["
    for row in _plain_rows(costs):
        yield before + json.dumps(row, ensure_ascii=False)
        before = ","
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
    amounts = ["requests", "input", "cached", "output", "in $/M", "out $/M", "in $", "out $", "request $", "total $"]
    table = [
        ["model", *map(_printable, groups), "tokenizer", "count", *amounts],
        *(_cells(row, groups) for row in rows),
    ]
    for column, field in (("cached", "cached_tokens"), ("request $", "request_cost")):
        if not any(row[field] for row in rows):
            place = len(groups) + 3 + amounts.index(column)
            amounts.remove(column)
            table = [[*row[:place], *row[place + 1 :]] for row in table]
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    texts = len(groups) + 3
    for row in table:
        cells = enumerate(zip(row, widths, strict=True))
        yield "  ".join(cell.ljust(width) if place < texts else cell.rjust(width) for place, (cell, width) in cells)


def _cells(row: dict[str, Any], groups: Sequence[str]) -> list[str]:
    names = [_WHOLE if row["whole"] and place == 0 else row[name] for place, name in enumerate(groups)]
    return [
        row["model"],
        *("-" if name is None else _printable(name) for name in names),
        row["tokenizer"],
        "estimate" if row["estimate"] else "exact",
        *(f"{row[name]:,}" for name in ("requests", "input_tokens", "cached_tokens", "output_tokens")),
        *(_price_range(row, name) for name in ("input_price", "output_price")),
        format_dollars(row["input_cost"] + row["cached_cost"]),
        format_dollars(row["output_cost"]),
        format_dollars(row["request_cost"]),
        format_dollars(row["total_cost"]),
    ]


def _printable(text: str) -> str:
    """Give a text from the data with its control characters escaped: it may break lines or command a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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


def _plain_rows(costs: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in costs:
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
    """Give a line of CSV. Null is nothing at all, and an empty text is quoted, so that the two can be told apart."""
    return ",".join("" if value is None else _csv_cell(value) for value in values)


def _csv_cell(value: object) -> str:
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow([value])
    return cell.getvalue()
