"""Pricing: the counts of a finished run, a batch at a time, to ``costs.parquet``. The corpus is not read again."""

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cost_output import cost_output
from pipelines.count_columns import ESTIMATE, CountColumns
from pipelines.progress import Talk
from pipelines.run_files import RunFiles, open_for_reading, output_errors
from pipelines.words import number_of
from schemas.dataset_costs import dataset_costs, group_columns
from schemas.document_tokens import tokens_column
from tokenize_lib.chat_rules import CountedAs
from tokenize_lib.costs import added_costs, as_costs, costs_of_tier, tier_split
from tokenize_lib.encodings import encoding_for_model
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.group_ids import GroupIds
from tokenize_lib.model_tokenizers import ModelTokenizer, counts_chats_by, tokenizer_of
from tokenize_lib.price_tables import PriceTable, parse_price_table
from tokenize_lib.prices import ModelPrices, PriceQuery, find_prices
from tokenize_lib.request_tokens import Counts, Marks, RequestShape, RequestSums, tokens_of_requests

_ROWS_AT_ONCE = 1 << 17
_GROUPS_AT_ONCE = 1 << 14
_STEP = "cost"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CostOptions:
    """What is priced, and how.

    Attributes:
        models: Names of models; one that is given twice is priced once.
        stand_ins: A tokenizer for a model whose own one is not known, by model.
        shape: What a document becomes when it is sent.
        query: Which prices.
        price_table: Path of the user's own prices.
    """

    models: tuple[str, ...]
    stand_ins: Mapping[str, str] = dataclasses.field(default_factory=dict)
    shape: RequestShape
    query: PriceQuery
    price_table: str | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise OptionError("name a model, as --model gpt-4o")
        object.__setattr__(self, "models", tuple(dict.fromkeys(self.models)))
        if strange := next((model for model in self.stand_ins if model not in self.models), None):
            raise OptionError(f"--tokenizer-for {strange}={self.stand_ins[strange]}: --model {strange} is not given")


@dataclasses.dataclass(frozen=True)
class PricedModel:
    """A model with all that is needed to price a count.

    Attributes:
        prices: What it costs.
        tokenizer: Whose counts stand for its tokens.
    """

    prices: ModelPrices
    tokenizer: ModelTokenizer

    @property
    def count_with(self) -> str:
        """What to count with: the model itself where it can be, as that says by which rule chats are counted."""
        return (
            self.tokenizer.name if self.tokenizer.name != encoding_for_model(self.prices.model) else self.prices.model
        )


def find_models(options: CostOptions) -> list[PricedModel]:
    """Find prices and tokenizers of all models, before anything is counted or read.

    Raises:
        OptionError: A model, its batch price or its tokenizer is not known; the message says what to give.
        InputError: The price table cannot be read.
    """
    table = _read_price_table(options.price_table) if options.price_table else None
    found = []
    for model in options.models:
        prices = find_prices(model, options.query, table)
        found.append(PricedModel(prices, tokenizer_of(prices, options.stand_ins.get(model))))
    return found


def price_dataset(counts: str, options: CostOptions, talk: Talk, *, output: str | None = None) -> str:
    """Price what ``tokenbeam count`` has counted, and write it down.

    Args:
        counts: The directory of the count.
        options: What is priced, and how.
        talk: Where progress is told.
        output: The file for the costs; by default ``costs.parquet`` in `counts`. What stood there is replaced.

    Returns:
        The path of the file, of rows by `schemas.dataset_costs`.

    Raises:
        TokenbeamError: An option, the counts or the output cannot be used; see its class.
    """
    models = find_models(options)
    files = RunFiles(counts.rstrip("/") or "/")
    path = cost_output(files, output)
    columns = CountColumns.read(files, options.shape.output_field)
    priced = [_Sums.of(model, columns, options.shape) for model in models]
    groups = GroupIds(len(columns.groups))
    notes = _Notes()
    with talk.step("Pricing documents", step=_STEP, total=columns.rows, unit="documents") as progress:
        for batch in _batches(files, columns, priced):
            ids = groups.of([batch.column(name) for name in columns.groups], batch.num_rows)
            notes.see(batch)
            output_tokens = columns.output_tokens(batch)
            for sums in priced:
                sums.add(batch, ids, groups.count, output_tokens)
            progress.advance(documents=batch.num_rows)
    schema = dataset_costs(group_columns(columns.groups))
    _write(path, _rows(priced, groups, schema), schema)
    notes.tell(options, models, talk)
    talk.say(f"Costs of {number_of(columns.rows, 'document')}: {path}")
    return path


class _Sums:
    """The requests of one model, summed up by group and tier."""

    def __init__(self, model: PricedModel, column: str, shape: RequestShape, *, estimate: bool) -> None:
        self.model = model
        self._estimate = estimate
        self.column = column
        self._shape = shape
        self._sums = RequestSums(model.prices.thresholds)
        self._estimates: set[int] = set()

    @classmethod
    def of(cls, model: PricedModel, columns: CountColumns, shape: RequestShape) -> "_Sums":
        """Find the model's counts among those that there are."""
        counted = columns.counted_by(model.prices.model, model.tokenizer)
        otherwise = columns.chats and not counts_chats_by(model.prices, CountedAs.of(counted["spec"]))
        return cls(model, tokens_column(counted["column"]), shape, estimate=model.tokenizer.estimate or otherwise)

    def add(self, batch: pa.RecordBatch, groups: Counts, group_count: int, output: Counts | None) -> None:
        """Add documents."""
        documents = batch.column(self.column).to_numpy()
        self._sums.add(tokens_of_requests(documents, self._shape, output), groups, group_count)
        estimate = ESTIMATE + self.column.removeprefix(tokens_column(""))
        if estimate in batch.schema.names:
            estimated = batch.column(estimate).to_numpy(zero_copy_only=False)
            self._estimates.update(np.unique(groups[estimated]).tolist())

    def whole(self) -> tuple[Counts, Marks]:
        """Give the sums of all documents, and whether they are an estimate, as of one group."""
        estimate = np.array([self._estimate or bool(self._estimates)])
        return self._sums.values.sum(axis=0, keepdims=True), estimate

    def of_groups(self, numbers: Counts) -> tuple[Counts, Marks]:
        """Give the sums of some groups, and which of them are estimates."""
        estimates = [self._estimate or number in self._estimates for number in numbers.tolist()]
        return self._sums.values[numbers], np.array(estimates, dtype=np.bool_)


def _rows(priced: Sequence[_Sums], groups: GroupIds, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Give the rows of the table: of each model the whole, then the groups, some thousands at a time."""
    in_order = list(groups.sorted()) if _group_names(schema) else []
    for sums in priced:
        yield _batch(sums.model, *sums.whole(), None, schema)
        for start in range(0, len(in_order), _GROUPS_AT_ONCE):
            some = in_order[start : start + _GROUPS_AT_ONCE]
            numbers = np.array([number for number, _ in some], dtype=np.int64)
            keys: Any = [pa.array(values, pa.string()) for values in zip(*(group for _, group in some), strict=True)]
            yield _batch(sums.model, *sums.of_groups(numbers), keys, schema)


def _group_names(schema: pa.Schema) -> list[str]:
    return schema.names[schema.get_field_index("whole") + 1 : schema.get_field_index("requests")]


def _batch(
    model: PricedModel, values: Counts, estimates: Marks, keys: "Sequence[pa.Array[Any]] | None", schema: pa.Schema
) -> pa.RecordBatch:
    """Give rows.

    Args:
        model: Whose.
        values: int64, groups by tiers by sums.
        estimates: Which of the groups are estimates.
        keys: Columns of the groups' values; None for the whole dataset.
        schema: Of the rows.
    """
    prices, rows = model.prices, len(values)
    costs = [costs_of_tier(tier, values[:, place]) for place, tier in enumerate(prices.tiers)]
    all_costs, base = added_costs(costs), prices.tiers[0].prices
    same_for_all = {
        "model": prices.model,
        "priced_as": prices.priced_as,
        "tokenizer": model.tokenizer.name,
        "whole": keys is None,
        "input_price": base.input,
        "cached_price": base.cached_input,
        "output_price": base.output,
        "request_price": base.requests,
        "batch": prices.batch,
        "price_source": prices.source,
        "price_date": prices.date,
    }
    columns: dict[str, Any] = {
        name: pa.repeat(pa.scalar(value, schema.field(name).type), rows) for name, value in same_for_all.items()
    }
    columns["estimate"] = pa.array(estimates)
    sums = np.ascontiguousarray(values.sum(axis=1).T)
    counted = ("requests", "input_tokens", "cached_tokens", "output_tokens")
    columns |= {name: pa.array(column) for name, column in zip(counted, sums, strict=True)}
    named = {"input": "input_cost", "cached": "cached_cost", "output": "output_cost", "requests": "request_cost"}
    columns |= {column: as_costs(getattr(all_costs, name)) for name, column in named.items()}
    columns["total_cost"] = as_costs(all_costs.total)
    columns["tiers"] = tier_split(prices.tiers, values, costs)
    for place, name in enumerate(_group_names(schema)):
        columns[name] = pa.nulls(rows, pa.string()) if keys is None else keys[place]
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


class _Notes:
    """What a reader of the costs must know, and the table does not say."""

    def __init__(self) -> None:
        self._empty = self._images = 0

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at documents."""
        if "bytes" in batch.schema.names:
            self._empty += int(np.count_nonzero(batch.column("bytes").to_numpy() == 0))
        if "images" in batch.schema.names:
            self._images += pc.sum(batch.column("images")).as_py() or 0

    def tell(self, options: CostOptions, models: Sequence[PricedModel], talk: Talk) -> None:
        """Say what there is to say."""
        if not options.shape.has_output:
            talk.say(
                "Input alone is priced: --output-tokens, --output-ratio or --output-field say how long answers are"
            )
        for model in models:
            prices = model.prices
            if options.shape.has_output and prices.tiers[0].prices.output is None:
                talk.warn(f"{prices.model} has no price of output: what it puts out is not priced")
            if prices.varies_by_hour:
                talk.warn(
                    f"{prices.model} has other prices at other hours: these are of {prices.date:%H:%M} UTC "
                    f"(--price-date {prices.date:%Y-%m-%dT%H:%M} with another hour)"
                )
        for warning in _warnings_of_date(models):
            talk.warn(warning)
        if self._empty:
            talk.say(f"requests of empty documents: {self._empty:,}")
        if self._images:
            talk.warn(f"images in the requests, which are not priced: {self._images:,}")


def _warnings_of_date(models: Sequence[PricedModel]) -> Iterator[str]:
    """Say so where prices are not known to hold at the date they are asked for."""
    now = dt.datetime.now(dt.UTC)
    date = models[0].prices.date
    if date.date() > now.date():
        yield f"--price-date {date:%Y-%m-%d} is to come: what is known of its prices today is used"
    undated = [model.prices for model in models if model.prices.undated]
    if date.date() < now.date() and undated:
        yield (
            f"{undated[0].source} does not say since when the prices of {', '.join(p.model for p in undated)} hold: "
            f"they are used for {date:%Y-%m-%d} even if there was no such model then"
        )


def _batches(files: RunFiles, columns: CountColumns, priced: Sequence[_Sums]) -> Iterator[pa.RecordBatch]:
    wanted = [*columns.groups, *columns.notes, *(sums.column for sums in priced), *columns.output]
    names = list(dict.fromkeys(wanted))
    for part in columns.parts:
        for batch in _batches_of(files, part, names):
            for name in {sums.column for sums in priced}:
                if batch.column(name).null_count or (pc.min(batch.column(name)).as_py() or 0) < 0:
                    raise InputError(f"{files.path(part)}: {name} is null or negative: count the corpus anew")
            yield batch


def _batches_of(files: RunFiles, part: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    path = files.path(part)
    try:
        with output_errors(path, "read"), files.open_parquet(part) as table:
            yield from table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names)
    except pa.ArrowException as error:
        raise InputError(f"{path} is damaged: {' '.join(str(error).split())}; count the corpus anew") from error


def _read_price_table(path: str) -> PriceTable:
    try:
        with open_for_reading(path) as file:
            content = bytes(file.read())
    except (OSError, ValueError) as error:  # a ValueError is Beam's word for a scheme without a filesystem
        raise InputError(f"--price-table {path} cannot be read: {' '.join(str(error).split())}") from error
    return parse_price_table(path, content)


def _write(path: str, rows: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write the costs at once or not at all, and leave nothing else behind."""
    directory, _, name = path.rpartition("/")
    files = RunFiles(directory or ("/" if path.startswith("/") else "."))
    files.write_parquet(name, rows, schema)
    files.forget(name)
