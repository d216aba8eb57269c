"""What a chat costs beside its texts: the marks around messages and function definitions, by model.

Source: OpenAI, "How to count tokens with tiktoken", parts 6 and 7
(https://github.com/openai/openai-cookbook/blob/main/examples/How_to_count_tokens_with_tiktoken.ipynb): a message has 3
tokens around it, a name 1 more, the reply begins with 3; ``gpt-3.5-turbo-0301`` had 4 around a message, and 1 less with
a name. OpenAI publishes figures for gpt-3.5-turbo, gpt-4 and gpt-4o with their minis and dated versions. For other
models the same figures are used, and what they count is an estimate.
"""

import dataclasses
import re

from tokenize_lib.encodings import encoding_for_model

UNITS = ("chars", "words", "bytes")


@dataclasses.dataclass(frozen=True)
class ToolFigures:
    """Tokens that function definitions take beside their texts; part 7 of the source.

    Attributes:
        function: At each function.
        properties: At each function that has parameters.
        property: At each parameter.
        enumeration: At each parameter with an enumeration of values.
        value: At each value of one.
        end: Behind all of them, if there are any.
    """

    function: int
    properties: int
    property: int
    enumeration: int
    value: int
    end: int

    def as_tuple(self) -> tuple[int, ...]:
        """Give the figures in their order."""
        return dataclasses.astuple(self)


@dataclasses.dataclass(frozen=True)
class ChatRule:
    """How a model counts chats.

    Attributes:
        message: Tokens around each message.
        name: More of them for a message with a name.
        reply: Tokens with which the reply begins.
        tools: The figures of function definitions; None: there are none published.
        published: OpenAI has published these figures for the model.
    """

    message: int
    name: int
    reply: int
    tools: ToolFigures | None
    published: bool


_TOOLS_OF_GPT_4O = ToolFigures(7, 3, 3, -3, 3, 12)
_TOOLS_OF_GPT_4 = ToolFigures(10, 3, 3, -3, 3, 12)

GPT_4O = ChatRule(3, 1, 3, _TOOLS_OF_GPT_4O, published=True)
GPT_4 = ChatRule(3, 1, 3, _TOOLS_OF_GPT_4, published=True)
GPT_35_0301 = ChatRule(4, -1, 3, None, published=True)
OTHER = ChatRule(3, 1, 3, None, published=False)
NO_MARKS = ChatRule(0, 0, 0, None, published=True)
"""Characters, words and bytes are of the texts alone."""

_MODELS = (
    (re.compile(r"gpt-3\.5-turbo-0301"), GPT_35_0301),
    (re.compile(r"(gpt-3\.5-turbo|gpt-35-turbo|gpt-4)([-:].*)?"), GPT_4),
    (re.compile(r"(chatgpt-4o|gpt-4o)([-:].*)?"), GPT_4O),
)
_ENCODINGS = {"o200k_base": GPT_4O, "cl100k_base": GPT_4}


def rule_of_model(model: str) -> ChatRule | None:
    """Give the published rule of a model, dated and fine-tuned versions too; None if there is none."""
    name = model.strip().lower().removeprefix("ft:")
    return next((rule for pattern, rule in _MODELS if pattern.fullmatch(name)), None)


@dataclasses.dataclass(frozen=True)
class CountedAs:
    """By which rule chats are counted for one tokenizer.

    Attributes:
        rule: Of a chat that names no model, or one that counts otherwise.
        encoding: Chats whose own model uses this encoding are counted by that model's rule; None: all by `rule`.
    """

    rule: ChatRule
    encoding: str | None = None

    @classmethod
    def of(cls, spec: str) -> "CountedAs":
        """Find out by what was asked for.

        Args:
            spec: A model, whose rule then holds for all chats, whatever model they name: what they would cost there.
                An encoding: each chat's own model has a say. Any other tokenizer: the usual figures, as an estimate.
        """
        if rule := rule_of_model(spec):
            return cls(rule)
        if spec in UNITS:
            return cls(NO_MARKS)
        if spec in _ENCODINGS:
            return cls(_ENCODINGS[spec], spec)
        return cls(OTHER)

    def rule_for(self, model: str | None) -> ChatRule:
        """Give the rule of one chat.

        Args:
            model: The model that it names.
        """
        if model is None or self.encoding is None or encoding_for_model(model) != self.encoding:
            return self.rule
        return rule_of_model(model) or OTHER
