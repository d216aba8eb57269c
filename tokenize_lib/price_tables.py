"""A price table of the user's own, in TOML or CSV: for models the price source does not know, or priced by contract.

The same fields in both: ``input``, ``cached_input``, ``output`` and their ``batch_`` forms in US dollars per million
tokens, ``request`` in US dollars per thousand requests, and ``tokenizer``. In TOML a model is a table, and higher tiers
are its ``tiers``; in CSV a model is a row, and a further row of the same model with ``over`` is a higher tier:

    ["gpt-4o"]                                           model,over,input,output,tokenizer
    input = 2.00                                         gpt-4o,,2.00,8.00,o200k_base
    output = 8.00                                        gpt-4o,200000,4.00,12.00,
    tokenizer = "o200k_base"
    tiers = [{ over = 200000, input = 4.00, output = 12.00 }]

A model that stands here is priced by this table alone: what it leaves out is not filled in from elsewhere.
"""

import csv
import dataclasses
import hashlib
import io
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from tokenize_lib.errors import InputError, OptionError

PRICE_DECIMALS = 18
"""Most decimal places of a price; with them a cost is exact to 24 places."""

_MOST_DOLLARS = 10**9
_NUMBERS = ("input", "cached_input", "output", "batch_input", "batch_cached_input", "batch_output", "request")
_FIELDS = ("model", "over", *_NUMBERS, "tokenizer")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnTier:
    """The prices of requests with more than `over` input tokens; `over` 0 for all others.

    Attributes:
        over: Input tokens.
        prices: US dollars by field, those given.
    """

    over: int
    prices: Mapping[str, Decimal]


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnModel:
    """What a price table says about a model.

    Attributes:
        tiers: The base tier, then those for longer requests, ascending.
        tokenizer: The model's tokenizer; None where the table does not say it.
    """

    tiers: tuple[OwnTier, ...]
    tokenizer: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriceTable:
    """A price table.

    Attributes:
        name: Its file name and the first digits of its sha256, for the record.
        models: By name in lower case.
    """

    name: str
    models: Mapping[str, OwnModel]


def parse_price_table(path: str, content: bytes) -> PriceTable:
    """Parse a price table.

    Args:
        path: Where it lies; the suffix says what it is.
        content: Its bytes.

    Raises:
        OptionError: The suffix is neither ``.toml`` nor ``.csv``.
        InputError: The file is not such a table. The message names the model and the field.
    """
    readers = {".toml": _read_toml, ".csv": _read_csv}
    suffix = next((suffix for suffix in readers if path.lower().endswith(suffix)), None)
    if suffix is None:
        raise OptionError(f"--price-table {path}: the name ends neither in .toml nor in .csv")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8: save the price table as UTF-8") from None
    models = readers[suffix](path, text)
    if not models:
        raise InputError(f"{path} prices no model: give one a table or a row with input and output")
    return PriceTable(name=f"{_base_name(path)} sha256:{hashlib.sha256(content).hexdigest()[:12]}", models=models)


def _base_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _read_toml(path: str, text: str) -> dict[str, OwnModel]:
    try:
        tables = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    models: dict[str, OwnModel] = {}
    for name, table in tables.items():
        where = f"{path}: model {name!r}"
        if not isinstance(table, dict):
            raise InputError(f'{path}: {name!r} stands outside of a model: write it under a line ["MODEL"]')
        if inner := next((key for key, value in table.items() if isinstance(value, dict)), None):
            raise InputError(f'{where} has a table {inner!r}: write a name with dots in quotes, as ["{name}.{inner}"]')
        higher = table.get("tiers", [])
        if not isinstance(higher, list) or not all(isinstance(tier, dict) for tier in higher):
            raise InputError(f"{where}: tiers is not a list of tables: write [{{ over = 200000, input = 4.00 }}]")
        base = {field: value for field, value in table.items() if field != "tiers"}
        _add(models, name, [base, *higher], where)
    return models


def _read_csv(path: str, text: str) -> dict[str, OwnModel]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows_by_model: dict[str, list[tuple[int, dict[str, str]]]] = {}
    try:
        if "model" not in (reader.fieldnames or ()):
            raise InputError(f"{path} has no column model: the first line names the columns, as model,input,output")
        for row in reader:
            if None in row or None in row.values():
                raise InputError(f"{path}: line {reader.line_num} has not {len(reader.fieldnames or ())} fields")
            given = {key.strip(): value.strip() for key, value in row.items() if value.strip()}
            name = given.pop("model", None)
            if name is None:
                raise InputError(f"{path}: line {reader.line_num} names no model")
            rows_by_model.setdefault(name, []).append((reader.line_num, given))
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num} is not CSV: {error}") from None
    models: dict[str, OwnModel] = {}
    for name, rows in rows_by_model.items():
        tiers = [row for _, row in sorted(rows, key=lambda numbered: "over" in numbered[1])]
        _add(models, name, tiers, f"{path}: line {rows[0][0]}, model {name!r}")
    return models


def _add(models: dict[str, OwnModel], name: str, tiers: list[dict[str, Any]], where: str) -> None:
    key = name.strip().lower()
    if key in models:
        raise InputError(f"{where} is priced twice: leave one out")
    models[key] = _model(tiers, where)


def _model(tiers: list[dict[str, Any]], where: str) -> OwnModel:
    base, *higher = tiers
    tokenizer = base.pop("tokenizer", None)
    if tokenizer is not None and (not isinstance(tokenizer, str) or not tokenizer):
        raise InputError(f"{where}: tokenizer {tokenizer!r} is not a name: write o200k_base, or as count was told")
    if "over" in base:
        raise InputError(f"{where}: over stands without prices for shorter requests: give those a row of their own")
    found = [OwnTier(over=0, prices=_prices(base, where))]
    for tier in higher:
        if "over" not in tier:
            raise InputError(
                f"{where} has two prices without over: leave one out, or say over how many tokens it holds"
            )
        over = _over(tier.pop("over"), where)
        if tier.pop("tokenizer", tokenizer) != tokenizer:
            raise InputError(f"{where} has two tokenizers: name it once")
        found.append(OwnTier(over=over, prices=_prices(tier, f"{where}, over {over}")))
    found[1:] = sorted(found[1:], key=lambda tier: tier.over)
    _check_tiers(found, where)
    return OwnModel(tiers=tuple(found), tokenizer=tokenizer)


def _check_tiers(tiers: list[OwnTier], where: str) -> None:
    overs = [tier.over for tier in tiers[1:]]
    if len(set(overs)) < len(overs):
        raise InputError(f"{where} has two prices for requests over the same number of tokens: leave one out")
    for tier in tiers:
        if tier.prices.keys() != tiers[0].prices.keys():
            fields = ", ".join(sorted(tier.prices.keys() ^ tiers[0].prices.keys()))
            raise InputError(f"{where}: some tiers have {fields} and some not: give every tier the same prices")


def _over(value: object, where: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**63:
        raise InputError(f"{where}: over {value!r} is not a number of tokens")
    return int(text)


def _prices(given: Mapping[str, Any], where: str) -> dict[str, Decimal]:
    if unknown := next((field for field in given if field not in _NUMBERS), None):
        raise InputError(f"{where}: there is no field {unknown!r}: the fields are {', '.join(_FIELDS)}")
    prices = dict(_read_prices(given, where))
    for kind in ("", "batch_"):
        needing = next((kind + other for other in ("cached_input", "output") if kind + other in prices), None)
        if needing and f"{kind}input" not in prices:
            raise InputError(f"{where} has {needing} without {kind}input: give both")
    if "batch_input" in prices and ("output" in prices) != ("batch_output" in prices):
        raise InputError(f"{where} has batch_input, but not both of output and batch_output: give both")
    if "input" not in prices:
        raise InputError(f"{where} has no price of input: give input, in US dollars per million tokens")
    return prices


def _read_prices(given: Mapping[str, Any], where: str) -> Iterator[tuple[str, Decimal]]:
    for field, value in given.items():
        try:
            price = Decimal(str(value))
        except InvalidOperation:
            raise InputError(f"{where}: {field} {value!r} is not a price: write US dollars, as 2.50") from None
        if not price.is_finite() or not 0 <= price < _MOST_DOLLARS:
            raise InputError(f"{where}: {field} {value} is not a price: give 0 or more US dollars")
        if -int(price.as_tuple().exponent) > PRICE_DECIMALS:
            raise InputError(f"{where}: {field} {value} has more than {PRICE_DECIMALS} decimal places")
        yield field, price
