"""Counting chats: fine-tuning files (JSON Lines with ``messages``) and request files of the batch API.

A chat is counted text by text, each role, name and content for itself, and the marks that a model puts around them are
added by its rule, from `tokenize_lib.chat_rules`. So a batch of records becomes one flat array of texts, which a
tokenizer counts in one go, and sums by record:

    reader = ChatReader([CountedAs.of("gpt-4o"), CountedAs.of("cl100k_base")])  # one each column of counts; picklable
    chats = reader.read(records)                       # Arrow array of JSON records: binary or string
    for column, tokenizer in enumerate(tokenizers):
        counts = tokenizer.count(chats.texts)          # int64, one a text
        tokens = chats.tokens(column, counts)          # int64, one a chat
        estimated = chats.estimated(column)            # bool, one a chat
    chats.rows                                         # which records are chats: their indices
    chats.bad                                          # and which are not, with the reason; blank ones are in neither

Columns of ``documents/`` behind the counts: ``model``, ``messages``, ``images``, and ``estimate_NAME`` (bool) for each
``tokens_NAME``, by which `tokenbeam cost` marks what it prices; sizes in bytes, characters and words are
`content_sizes` of what `text_sizes` gives for `texts`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenize_lib.chat_records import CONTENT, TOOL_JSON, TOOL_LINES, BadChatError, ParsedChats
from tokenize_lib.chat_rules import ChatRule, CountedAs
from tokenize_lib.request_tokens import Counts

__all__ = ["ChatReader", "Chats", "CountedAs"]

Marks = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class ChatReader:
    """Reads records as chats. Immutable and picklable.

    Attributes:
        counted_as: The rule of each column of counts.
    """

    counted_as: Sequence[CountedAs]

    def read(self, records: "pa.Array[Any]") -> "Chats":
        """Read records.

        Args:
            records: JSON, a record a value: binary or string, large ones too, without nulls. White space alone is
                passed over.

        Returns:
            The chats among them. Records that are none are in `Chats.bad`; nothing is raised.
        """
        rows, bad, parsed = [], [], ParsedChats()
        for row, record in enumerate(records.cast(pa.large_binary()).to_pylist()):
            if not record or record.isspace():
                continue
            try:
                parsed.add(record)
                rows.append(row)
            except BadChatError as error:
                bad.append((row, str(error)))
        return Chats(self.counted_as, np.array(rows, dtype=np.int64), parsed, bad)


class Chats:
    """The chats of a batch of records.

    Attributes:
        rows: The index of each chat's record, int64, ascending.
        bad: Index and reason of each record that is no chat.
        texts: All texts of all chats, large_string, without nulls.
        models: The model that each chat names, string with nulls.
        custom_ids: The ``custom_id`` of each, string with nulls.
        messages: Messages of each, int64.
        images: Parts of each that have no text (images, audio, files) and are not counted, int64.
    """

    def __init__(
        self, counted_as: Sequence[CountedAs], rows: Counts, parsed: ParsedChats, bad: Sequence[tuple[int, str]]
    ) -> None:
        """For `ChatReader.read`."""
        self.rows = rows
        self.bad = bad
        self.texts = pa.array(parsed.texts, pa.large_string())
        self.models = pa.array(parsed.models, pa.string())
        self.custom_ids = pa.array(parsed.custom_ids, pa.string())
        self.messages = np.array(parsed.messages, dtype=np.int64)
        self.images = np.array(parsed.images, dtype=np.int64)
        self._counted_as = counted_as
        self._names = np.array(parsed.names, dtype=np.int64)
        self._kinds = np.frombuffer(parsed.kinds, dtype=np.uint8)
        lengths = np.array(parsed.lengths, dtype=np.int64)
        self._starts = np.cumsum(lengths) - lengths
        self._chat_of_text = np.repeat(np.arange(len(lengths)), lengths)
        self._estimates = np.array(parsed.estimates, dtype=np.bool_)
        with_tools = np.array(list(parsed.tools), dtype=np.intp)
        self._has_tools = np.zeros(len(lengths), dtype=np.bool_)
        self._has_tools[with_tools] = True
        self._known_tools = self._has_tools.copy()
        self._known_tools[with_tools] = [units is not None for units in parsed.tools.values()]
        self._tool_units = np.zeros((len(lengths), 5), dtype=np.int64)
        self._tool_units[with_tools] = [units or (0,) * 5 for units in parsed.tools.values()] or np.zeros((0, 5))
        self._rules: dict[int, tuple[list[ChatRule], npt.NDArray[np.intp]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, column: int, counts: "pa.Array[Any] | Counts") -> Counts:
        """Give the tokens of each chat, int64: those of its texts and of the marks around them.

        Args:
            column: Which of the rules.
            counts: Tokens of each of `texts`, int64.
        """
        by_lines = self._tools_by_lines(column)[self._chat_of_text]
        left_out = ((self._kinds == TOOL_LINES) & ~by_lines) | ((self._kinds == TOOL_JSON) & by_lines)
        return self._sums(np.where(left_out, 0, _numpy(counts))) + self._marks(column)

    def estimated(self, column: int) -> Marks:
        """Tell which chats have tokens that no published rule counts.

        Args:
            column: Which of the rules.
        """
        rules, of_chat = self._rules_of(column)
        published = np.array([rule.published for rule in rules], dtype=np.bool_)[of_chat]
        return ~published | self._estimates | (self._has_tools & ~self._tools_by_lines(column))

    def content_sizes(self, sizes: "pa.Array[Any] | Counts") -> Counts:
        """Give what each chat's contents come to, int64: roles, names and tools aside.

        Args:
            sizes: A size of each of `texts`, int64.
        """
        return self._sums(np.where(self._kinds == CONTENT, _numpy(sizes), 0))

    def _marks(self, column: int) -> Counts:
        rules, of_chat = self._rules_of(column)
        message, name, reply = (
            _int64(getattr(rule, field) for rule in rules)[of_chat] for field in ("message", "name", "reply")
        )
        figures = np.array([rule.tools.as_tuple() if rule.tools else (0,) * 6 for rule in rules], np.int64)[of_chat]
        units = np.column_stack([self._tool_units, self._has_tools])
        tools = np.where(self._tools_by_lines(column), (units * figures).sum(axis=1), 0)
        marks: Counts = message * self.messages + name * self._names + reply + tools
        return marks

    def _tools_by_lines(self, column: int) -> Marks:
        """Tell which chats' tools are counted by the published rule, and not as JSON."""
        rules, of_chat = self._rules_of(column)
        return np.array([rule.tools is not None for rule in rules], dtype=np.bool_)[of_chat] & self._known_tools

    def _rules_of(self, column: int) -> tuple[list[ChatRule], npt.NDArray[np.intp]]:
        if column not in self._rules:
            # Few models in a batch: a rule is looked up once for each.
            found: Any = self.models.dictionary_encode("encode")
            names = found.dictionary.to_pylist() or [None]
            rules = [self._counted_as[column].rule_for(name) for name in names]
            self._rules[column] = rules, found.indices.to_numpy().astype(np.intp)
        return self._rules[column]

    def _sums(self, values: Counts) -> Counts:
        if not len(self._starts):
            return np.zeros(0, dtype=np.int64)
        sums: Counts = np.add.reduceat(values, self._starts)
        return sums


def _int64(values: Any) -> Counts:
    return np.fromiter(values, dtype=np.int64)


def _numpy(values: "pa.Array[Any] | Counts") -> Counts:
    return values if isinstance(values, np.ndarray) else values.to_numpy()
