"""The options of pricing, for ``tokenbeam cost`` and for ``tokenbeam count --model``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.amounts import Amount, Moment, noon
from pipelines.cli.grouped_help import Decorated, option_group
from tokenize_lib.errors import OptionError

if TYPE_CHECKING:
    from pipelines.dataset_costs import CostOptions

_requests = option_group("Requests")
_prices = option_group("Prices")

_OPTIONS = (
    _requests("--prompt-tokens", type=int, default=0, show_default=True, metavar="N", help="Sent with each document."),
    _requests("--output-tokens", type=int, metavar="N", help="Output of each request."),
    _requests("--output-ratio", type=Amount(), metavar="R", help="Output tokens a token of the document: 0.5, or 50%."),
    _requests("--output-field", metavar="F", help="Field that count kept (--group-by F) with the output's tokens."),
    _requests(
        "--cached-share", type=Amount(), default="0", show_default=True, metavar="SHARE",
        help="Share of each request's input that the provider's cache holds; rounded down to whole tokens.",
    ),
    _prices("--batch", is_flag=True, help="Prices of the provider's batch API."),
    _prices(
        "--batch-discount", type=Amount(), metavar="SHARE", help="How much less a batch is where that is not known."
    ),
    _prices("--price-table", metavar="FILE", help="Prices of your own, .toml or .csv; they go before the others."),
    _prices("--price-date", type=Moment(), metavar="DATE", help="Prices as of then, in UTC. Default: today."),
    _prices(
        "--tokenizer-for", "stand_ins", multiple=True, metavar="MODEL=NAME",
        help="Counted tokenizer that stands in for one that is not public. The costs are then an estimate.",
    ),
)  # fmt: skip


def pricing_options(command: Decorated) -> Decorated:
    """Give a click command the options of pricing, all but ``--model``."""
    decorate: Callable[[Decorated], Decorated]
    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


def refuse_without_model(ctx: click.Context) -> None:
    """Refuse options of pricing where no model is named, rather than let them do nothing.

    Raises:
        OptionError: There is such an option.
    """
    if ctx.params["models"]:
        return
    for param in ctx.command.params:
        group = getattr(param, "group", None)
        source = ctx.get_parameter_source(param.name or "")
        if group in {"Requests", "Prices"} and source is not click.core.ParameterSource.DEFAULT:
            raise OptionError(f"{param.opts[0]} is for pricing: name a model, as --model gpt-4o")


def cost_options(given: dict[str, Any]) -> CostOptions:
    """Make one value of the options that `pricing_options` declares, and ``models``."""
    # Only now, as they load Arrow and the price source.
    from pipelines.dataset_costs import CostOptions  # noqa: PLC0415
    from tokenize_lib.prices import PriceQuery  # noqa: PLC0415
    from tokenize_lib.request_tokens import RequestShape  # noqa: PLC0415

    shape = RequestShape(
        **{name: given[name] for name in ("prompt_tokens", "output_tokens", "output_ratio", "output_field")},
        cached_share=Decimal(given["cached_share"]),
    )
    date = given["price_date"] or noon(dt.datetime.now(dt.UTC).date())
    return CostOptions(
        models=tuple(name.strip() for names in given["models"] for name in names.split(",") if name.strip()),
        stand_ins=_stand_ins(given["stand_ins"]),
        shape=shape,
        query=PriceQuery(date=date, batch=given["batch"], batch_discount=given["batch_discount"]),
        price_table=given["price_table"],
    )


def _stand_ins(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        model, separator, tokenizer = (part.strip() for part in text.rpartition("="))
        if not (model and separator and tokenizer):
            raise OptionError(f"--tokenizer-for {text!r} is not MODEL=NAME, as claude-sonnet-4-5=o200k_base")
        if found.setdefault(model, tokenizer) != tokenizer:
            raise OptionError(f"--tokenizer-for names two tokenizers for {model}: leave one out")
    return found
