"""What is counted: validated once, the same for every worker, and written into ``run.json``."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipelines.inputs import ReadOptions
from pipelines.tokenizer_paths import open_tokenizer
from schemas.dataset_summary import dataset_summary, group_columns
from schemas.document_tokens import document_tokens
from tokenize_lib.chat import ChatReader, CountedAs
from tokenize_lib.chat_rules import rule_of_model
from tokenize_lib.encodings import column_name
from tokenize_lib.errors import OptionError
from tokenize_lib.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountOptions:
    """The tokenizers, as they go to workers with all that they are made of.

    Attributes:
        specs: What the user called each; a model and its encoding, or several models, are one tokenizer.
        tokenizers: The tokenizers.
        columns: What each is called in columns; no two alike.
        context_limits: Tokens above which the summary counts documents, ascending.
        pretokenizer: Where texts are cut for files of ranks, which do not say it.
    """

    specs: tuple[tuple[str, ...], ...]
    tokenizers: tuple[Tokenizer, ...]
    columns: tuple[str, ...]
    context_limits: tuple[int, ...] = ()
    pretokenizer: str | None = None

    @classmethod
    def load(
        cls, specs: Sequence[str], *, context_limits: Sequence[int] = (), pretokenizer: str | None = None
    ) -> "CountOptions":
        """Load tokenizers; one that is given twice counts once.

        Args:
            specs: Names and paths.
            context_limits: Tokens above which the summary counts documents.
            pretokenizer: For files of tiktoken ranks, which do not say where text is cut.

        Raises:
            OptionError: No tokenizer is named, one is not known, or a limit is negative.
            InputError: A file holds no tokenizer.
        """
        if not specs:
            raise OptionError("name a tokenizer, as --tokenizer o200k_base, or a model, as --model gpt-4o")
        for limit in context_limits:
            if limit < 0:
                raise OptionError(f"--context-limit {limit} is negative: give a number of tokens")
        loaded: dict[tuple[str, str], tuple[dict[str, None], Tokenizer]] = {}
        for spec in specs:
            tokenizer = open_tokenizer(spec, pretokenizer=pretokenizer)
            names, _ = loaded.setdefault((tokenizer.name, tokenizer.digest), ({}, tokenizer))
            names[spec] = None
        tokenizers = tuple(tokenizer for _, tokenizer in loaded.values())
        return cls(
            # Models first: in a chat they say more than their encoding.
            specs=tuple(
                tuple(sorted(names, key=lambda name: rule_of_model(name) is None)) for names, _ in loaded.values()
            ),
            tokenizers=tokenizers,
            columns=_columns(tokenizers),
            context_limits=tuple(sorted(set(context_limits))),
            pretokenizer=pretokenizer,
        )

    def as_dict(self) -> dict[str, Any]:
        """Give what changes the result, as JSON values; for a tokenizer that is its digest, wherever it lies."""
        named = zip(self.columns, self.tokenizers, strict=True)
        return {
            "tokenizers": [
                column if tokenizer.backend == "units" else f"{column} (sha256 {tokenizer.digest[:16]})"
                for column, tokenizer in named
            ],
            "pretokenizer": self.pretokenizer,
            "context_limits": list(self.context_limits),
        }

    def describe(self) -> list[dict[str, str]]:
        """Give the tokenizers for ``run.json``."""
        return [
            {
                "name": tokenizer.name,
                "column": column,
                "backend": tokenizer.backend,
                "spec": specs[0],
                "digest": tokenizer.digest,
            }
            for specs, tokenizer, column in zip(self.specs, self.tokenizers, self.columns, strict=True)
        ]

    def group_columns(self, read: ReadOptions) -> tuple[str, ...]:
        """Give the column of each group field.

        Raises:
            OptionError: Two fields are one, or would have one column.
        """
        columns = group_columns(read.group_by, self.columns, self.context_limits)
        if len(set(columns)) < len(columns):
            raise OptionError(f"--group-by {' --group-by '.join(read.group_by)}: these give one column twice")
        return columns

    def documents_schema(self, read: ReadOptions) -> pa.Schema:
        """Give the schema of ``documents/``."""
        return document_tokens(self.group_columns(read), self.columns, chat=read.format == "chat")

    def chat_reader(self, read: ReadOptions) -> ChatReader | None:
        """Give what reads the records, if they are chats.

        Raises:
            OptionError: Two models that share a tokenizer count chats by different rules.
        """
        if read.format != "chat":
            return None
        return ChatReader([_one_rule(specs) for specs in self.specs])

    def summary_schema(self, read: ReadOptions) -> pa.Schema:
        """Give the schema of ``summary.parquet``."""
        return dataset_summary(self.group_columns(read), self.columns, self.context_limits)


def _one_rule(specs: Sequence[str]) -> CountedAs:
    rules = {spec: CountedAs.of(spec) for spec in specs}
    first = specs[0]
    if other := next((spec for spec in specs if rule_of_model(spec) and rules[spec] != rules[first]), None):
        raise OptionError(
            f"--format chat: {first} and {other} share a tokenizer and count chats differently: one of them at a time"
        )
    return rules[first]


def _columns(tokenizers: Sequence[Tokenizer]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    columns = []
    for tokenizer in tokenizers:
        name = column_name(tokenizer)
        seen[name] += 1
        columns.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(columns)
