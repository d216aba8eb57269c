"""Pricing: the counts of a finished run, a batch at a time, to ``costs.parquet``. The corpus is not read again."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.count_columns import ESTIMATE, CountColumns
from pipelines.progress import Talk
from pipelines.run_files import RunFiles, open_for_reading, output_errors
from schemas.dataset_costs import dataset_costs, group_columns
from schemas.document_tokens import tokens_column
from tokenize_lib.chat_rules import CountedAs
from tokenize_lib.encodings import encoding_for_model
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.group_ids import GroupIds
from tokenize_lib.model_tokenizers import ModelTokenizer, counts_chats_by, tokenizer_of
from tokenize_lib.price_tables import PriceTable, parse_price_table
from tokenize_lib.prices import Costs, ModelPrices, PriceQuery, PriceTier, TokenSums, cost_of, find_prices
from tokenize_lib.request_tokens import Counts, RequestShape, RequestSums, tokens_of_requests

COSTS = "costs.parquet"
_ROWS_AT_ONCE = 1 << 17
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


def price_dataset(counts: str, options: CostOptions, talk: Talk, *, output: str | None = None) -> pa.Table:
    """Price what ``tokenbeam count`` has counted, and write it down.

    Args:
        counts: The directory of the count.
        options: What is priced, and how.
        talk: Where progress is told.
        output: The file for the costs; by default ``costs.parquet`` in `counts`. What stood there is replaced.

    Returns:
        The rows written, by `schemas.dataset_costs`.

    Raises:
        TokenbeamError: An option, the counts or the output cannot be used; see its class.
    """
    models = find_models(options)
    files = RunFiles(counts.rstrip("/") or "/")
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
    rows = [row for sums in priced for row in sums.rows(columns, groups)]
    schema = dataset_costs(group_columns(columns.groups))
    table = pa.Table.from_pylist(rows, schema=schema)
    path = output or files.path(COSTS)
    _write(path, table, schema)
    notes.tell(options, models, talk)
    talk.say(f"Costs of {columns.rows:,} documents: {path}")
    return table


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

    def rows(self, columns: CountColumns, groups: GroupIds) -> Iterator[dict[str, Any]]:
        """Give the rows of the table: the whole, then the groups."""
        values = self._sums.values[: groups.count]
        names = group_columns(columns.groups)
        nothing = dict.fromkeys(names)
        yield {**self._row(values.sum(axis=0), whole=True, estimate=bool(self._estimates)), **nothing}
        if not names:
            return
        for place, group in groups.sorted():
            row = self._row(values[place], whole=False, estimate=place in self._estimates)
            yield {**row, **dict(zip(names, group, strict=True))}

    def _row(self, tiers: Counts, *, whole: bool, estimate: bool) -> dict[str, Any]:
        prices = self.model.prices
        sums = [TokenSums(*figures) for figures in tiers.tolist()]
        costs = [cost_of(tier.prices, figures) for tier, figures in zip(prices.tiers, sums, strict=True)]
        base, all_costs = prices.tiers[0].prices, Costs.sum(costs)
        return {
            "model": prices.model,
            "priced_as": prices.priced_as,
            "tokenizer": self.model.tokenizer.name,
            "estimate": self._estimate or estimate,
            "whole": whole,
            "requests": sum(tier.requests for tier in sums),
            "input_tokens": sum(tier.input for tier in sums),
            "cached_tokens": sum(tier.cached for tier in sums),
            "output_tokens": sum(tier.output for tier in sums),
            "input_price": base.input,
            "cached_price": base.cached_input,
            "output_price": base.output,
            "request_price": base.requests,
            "input_cost": all_costs.input,
            "cached_cost": all_costs.cached,
            "output_cost": all_costs.output,
            "request_cost": all_costs.requests,
            "total_cost": all_costs.total,
            "tiers": [_tier(*each) for each in zip(prices.tiers, sums, costs, strict=True)],
            "batch": prices.batch,
            "price_source": prices.source,
            "price_date": prices.date,
        }


def _tier(tier: PriceTier, sums: TokenSums, costs: Costs) -> dict[str, Any]:
    return {
        "over": tier.over,
        "requests": sums.requests,
        "input_tokens": sums.input,
        "cached_tokens": sums.cached,
        "output_tokens": sums.output,
        "input_price": tier.prices.input,
        "cached_price": tier.prices.cached_input,
        "output_price": tier.prices.output,
        "total_cost": costs.total,
    }


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
        if self._empty:
            talk.say(f"{self._empty:,} of the requests are empty documents")
        if self._images:
            talk.warn(f"{self._images:,} images are in the requests, and are not priced")


def _batches(files: RunFiles, columns: CountColumns, priced: Sequence[_Sums]) -> Iterator[pa.RecordBatch]:
    wanted = [*columns.groups, *columns.notes, *(sums.column for sums in priced), *columns.output]
    names = list(dict.fromkeys(wanted))
    for part in columns.parts:
        with output_errors(files.path(part), "read"), files.open_parquet(part) as table:
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names):
                for name in {sums.column for sums in priced}:
                    if batch.column(name).null_count or (pc.min(batch.column(name)).as_py() or 0) < 0:
                        raise InputError(f"{files.path(part)}: {name} is null or negative: count the corpus anew")
                yield batch


def _read_price_table(path: str) -> PriceTable:
    try:
        with open_for_reading(path) as file:
            content = bytes(file.read())
    except (OSError, ValueError) as error:  # a ValueError is Beam's word for a scheme without a filesystem
        raise InputError(f"--price-table {path} cannot be read: {' '.join(str(error).split())}") from error
    return parse_price_table(path, content)


def _write(path: str, table: pa.Table, schema: pa.Schema) -> None:
    """Write the costs at once or not at all, and leave nothing else behind."""
    directory, _, name = path.rpartition("/")
    files = RunFiles(directory or ("/" if path.startswith("/") else "."))
    files.write_parquet(name, table, schema)
    files.forget(name)
