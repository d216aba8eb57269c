"""Which tokenizer's counts stand for a model's tokens, and whether they are the model's own."""

import dataclasses
import re
from collections.abc import Iterator

from tokenize_lib.chat_rules import CountedAs, rule_of_model
from tokenize_lib.encodings import encoding_for_model
from tokenize_lib.errors import OptionError
from tokenize_lib.prices import ModelPrices

_NOT_PUBLIC = ("claude", "gemini")


@dataclasses.dataclass(frozen=True)
class ModelTokenizer:
    """A tokenizer for a model.

    Attributes:
        name: What counts by it are called.
        estimate: It stands in for the model's own, so its counts are not the model's.
    """

    name: str
    estimate: bool


def tokenizer_of(prices: ModelPrices, stand_in: str | None = None) -> ModelTokenizer:
    """Find the tokenizer of a model: by the price table, by the table of OpenAI's models, or the stand-in.

    Args:
        prices: The model with what was found about it.
        stand_in: What the user names instead: what was counted, or another model.

    Raises:
        OptionError: Nobody knows it, or it is not public, and no stand-in is named.
    """
    own = prices.tokenizer or _published(prices)
    if stand_in is not None:
        name = encoding_for_model(stand_in) or stand_in
        return ModelTokenizer(name, estimate=name != own)
    if own is not None:
        return ModelTokenizer(own, estimate=False)
    private = any(maker in f"{prices.model} {prices.priced_as}".lower() for maker in _NOT_PUBLIC)
    reason = "is not public" if private else "is not known here"
    raise OptionError(
        f"--model {prices.model}: its tokenizer {reason}: name one that was counted to stand in for it, as "
        f"--tokenizer-for {prices.model}=o200k_base; the costs are then marked as an estimate"
    )


def counts_chats_by(prices: ModelPrices, counted_as: CountedAs) -> bool:
    """Tell whether chats were counted by the rule that is published for a model."""
    rule = next((rule for name in _names_of(prices) if (rule := rule_of_model(name))), None)
    return rule == counted_as.rule


def _published(prices: ModelPrices) -> str | None:
    return next((encoding for name in _names_of(prices) if (encoding := encoding_for_model(name))), None)


def _names_of(prices: ModelPrices) -> Iterator[str]:
    for name in (prices.model, prices.priced_as):
        yield from _names(name)


def _names(name: str) -> Iterator[str]:
    """Give a name, and what is left of it without one provider after another: ``openrouter:openai/gpt-4o``."""
    name = name.strip().lower()
    yield name
    while len(parts := re.split("[:/]", name, maxsplit=1)) == 2:
        name = parts[1]
        yield name
