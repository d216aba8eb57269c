"""Chats, a line of a fine-tuning file or of a batch file each, into the texts that are counted.

Formats: https://platform.openai.com/docs/guides/supervised-fine-tuning (``messages`` at the top) and
https://platform.openai.com/docs/guides/batch (``custom_id``, and the request in ``body``).
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import msgspec

FRAME, CONTENT, TOOL_LINES, TOOL_JSON, OTHER_JSON = range(5)
"""Kinds of text: roles and names; what was said; function definitions as lines, and as JSON; other JSON."""

_FUNCTION_KEYS = {"name", "description", "parameters", "strict"}
_PARAMETER_KEYS = {"type", "properties", "required", "additionalProperties"}
_PROPERTY_KEYS = {"type", "description", "enum"}
_NO_TEXT = {"image_url", "input_image", "image", "input_audio", "audio", "file", "input_file"}

ToolUnits = tuple[int, int, int, int, int]


class BadChatError(ValueError):
    """A record holds no chat that can be counted; says why."""


class _Message(msgspec.Struct, gc=False):
    role: str
    content: str | list[Any] | None = None
    name: str | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    audio: Any = None

    @property
    def has_calls(self) -> bool:
        return self.tool_calls is not None or self.function_call is not None

    @property
    def is_more_than_content(self) -> bool:
        return (
            self.tool_call_id is not None
            or self.refusal is not None
            or self.audio is not None
            or self.tool_calls is not None
            or self.function_call is not None
        )


class _Request(msgspec.Struct, gc=False):
    messages: list[_Message] | None = None
    model: str | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: Any = None


class _Record(_Request, gc=False):
    body: msgspec.Raw = msgspec.Raw()
    custom_id: Any = None


# An escape of a high surrogate without a low one behind it, or of a low one without a high one before it.
_LONE_SURROGATE = re.compile(
    rb"(?i)(?<!\\)(?:\\\\)*(?:\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2})"
)

_record_decoder = msgspec.json.Decoder(_Record)
_request_decoder = msgspec.json.Decoder(_Request)


@dataclasses.dataclass(slots=True)
class ParsedChats:
    """Chats that were parsed, as lists: a value a text, or a chat.

    They are flat, as Python would look through millions of small objects again and again to see what can go.

    Attributes:
        texts: The texts of all chats, one chat after another.
        kinds: The kind of each text.
        lengths: How many texts each chat has; one at least, as a message has a role.
        models: The model that each names.
        custom_ids: Of a batch file.
        messages: How many messages each has.
        names: How many of them have a name.
        images: Parts without text: images, audio, files. They are not counted.
        estimates: Whether something is counted by no published rule.
        tools: Of the chats with tools, by number: how many functions, functions with parameters, parameters,
            enumerations and values; None for tools that the published rule does not know.
    """

    texts: list[str] = dataclasses.field(default_factory=list)
    kinds: bytearray = dataclasses.field(default_factory=bytearray)
    lengths: list[int] = dataclasses.field(default_factory=list)
    models: list[str | None] = dataclasses.field(default_factory=list)
    custom_ids: list[str | None] = dataclasses.field(default_factory=list)
    messages: list[int] = dataclasses.field(default_factory=list)
    names: list[int] = dataclasses.field(default_factory=list)
    images: list[int] = dataclasses.field(default_factory=list)
    estimates: list[bool] = dataclasses.field(default_factory=list)
    tools: dict[int, ToolUnits | None] = dataclasses.field(default_factory=dict)

    def add(self, record: bytes) -> None:
        """Parse a record and put it behind the others.

        Args:
            record: JSON in UTF-8.

        Raises:
            BadChatError: It is not JSON, or no chat. Then nothing is added.
        """
        found, request, messages = _decode(record)
        start = len(self.texts)
        try:
            names, images, estimate = self._add_messages(messages)
        except BadChatError:
            del self.texts[start:], self.kinds[start:]
            raise
        if request.tools or request.functions:
            self.tools[len(self.lengths)] = self._add_tools(request.tools or [], request.functions or [])
        if isinstance(request.response_format, dict) and request.response_format.get("type") == "json_schema":
            self._add_json(OTHER_JSON, request.response_format)
            estimate = True
        self.lengths.append(len(self.texts) - start)
        self.models.append(request.model)
        self.custom_ids.append(None if found.custom_id is None else str(found.custom_id))
        self.messages.append(len(messages))
        self.names.append(names)
        self.images.append(images)
        self.estimates.append(estimate)

    def _add(self, kind: int, text: str) -> None:
        self.kinds.append(kind)
        self.texts.append(text)

    def _add_json(self, kind: int, value: Any) -> None:
        self._add(kind, msgspec.json.encode(value).decode())

    def _add_messages(self, messages: list[_Message]) -> tuple[int, int, bool]:
        """Add messages; give how many names and images they have, and whether they count as an estimate."""
        names = images = 0
        estimate = False
        for place, message in enumerate(messages):
            self._add(FRAME, message.role)
            if message.name is not None:
                names += 1
                self._add(FRAME, message.name)
            content = message.content
            if isinstance(content, str):
                self._add(CONTENT, content)
            elif content is not None:
                found = self._add_parts(content, place)
                images += found
                # How the API joins parts is published nowhere: of one text alone it is sure.
                estimate |= found > 0 or len(content) != 1
            if content is None or message.is_more_than_content:
                found = self._add_rest(message, place)
                images += found
                estimate |= found > 0 or message.has_calls
        return names, images, estimate

    def _add_parts(self, parts: list[Any], place: int) -> int:
        """Add content that is a list; give how many parts have no text."""
        images = 0
        for number, part in enumerate(parts):
            where = f"messages[{place}].content[{number}]"
            if not isinstance(part, dict):
                raise BadChatError(f"no chat: {where} is no object")
            kind = part.get("type")
            if kind in _NO_TEXT:
                images += 1
                continue
            text = part.get("refusal" if kind == "refusal" else "text")
            if not isinstance(text, str):
                raise BadChatError(f"no chat: {where}, of type {kind!r}, has no text")
            self._add(CONTENT, text)
        return images

    def _add_rest(self, message: _Message, place: int) -> int:
        """Add what few messages have; give how many parts have no text."""
        if message.content is None and not message.is_more_than_content:
            raise BadChatError(f"no chat: messages[{place}] has no content")
        if message.tool_call_id is not None:
            self._add(FRAME, message.tool_call_id)
        if message.refusal is not None:
            self._add(CONTENT, message.refusal)
        for call in (message.tool_calls, message.function_call):
            if call is not None:
                self._add_json(OTHER_JSON, call)
        return int(message.audio is not None)

    def _add_tools(self, tools: list[Any], functions: list[Any]) -> ToolUnits | None:
        """Add function definitions both as lines and as JSON; give what the rule counts of them."""
        self._add_json(TOOL_JSON, [*tools, *functions])
        try:
            all_functions = [*map(_function_of_tool, tools), *functions]
            lines = [line for function in all_functions for line in _function_lines(function)]
        except _UnknownToolError:
            return None
        for line in lines:
            self._add(TOOL_LINES, line)
        properties = [function["parameters"].get("properties", {}) for function in all_functions]
        enumerations = [each["enum"] for all_of in properties for each in all_of.values() if "enum" in each]
        return (
            len(all_functions),
            sum(bool(all_of) for all_of in properties),
            sum(map(len, properties)),
            len(enumerations),
            sum(map(len, enumerations)),
        )


def _decode(record: bytes) -> tuple[_Record, _Request, list[_Message]]:
    """Give a record, the request in it, which may be itself, and its messages."""
    try:
        found = _record_decoder.decode(record)
        request: _Request = found
        if found.messages is None and memoryview(found.body):
            request = _request_decoder.decode(found.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # A field of another type is a DecodeError, too, and says where.
        if _LONE_SURROGATE.search(record):
            raise BadChatError("no chat: it has a lone surrogate") from None
        raise BadChatError(f"no chat: {error}") from None
    if request.messages is None:
        raise BadChatError("no chat: it has neither messages nor body.messages")
    if not request.messages:
        raise BadChatError("no chat: messages is empty")
    return found, request, request.messages


class _UnknownToolError(ValueError):
    """A tool that the published rule does not know."""


def _function_of_tool(tool: Any) -> Any:
    return tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None


def _function_lines(function: Any) -> Iterator[str]:
    """Give the texts of a function as the rule joins them: ``name:description``, ``name:type:description``, values."""
    given = _known(function, _FUNCTION_KEYS)
    yield f"{_text(given, 'name')}:{_text(given, 'description').removesuffix('.')}"
    parameters = _known(given.get("parameters"), _PARAMETER_KEYS)
    for name, described in _mapping(parameters.get("properties", {})).items():
        each = _known(described, _PROPERTY_KEYS)
        values = each.get("enum", [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise _UnknownToolError
        yield from values
        yield f"{name}:{_text(each, 'type')}:{_text(each, 'description').removesuffix('.')}"


def _known(value: Any, keys: set[str]) -> dict[str, Any]:
    """Give an object that has no other keys: what the rule passes over would go uncounted."""
    found = _mapping(value)
    if found.keys() - keys:
        raise _UnknownToolError
    return found


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _UnknownToolError
    return value


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise _UnknownToolError
    return value
