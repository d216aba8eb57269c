"""One chat: a line of a fine-tuning file or of a batch file, into the texts that are counted.

Formats: https://platform.openai.com/docs/guides/supervised-fine-tuning (``messages`` at the top) and
https://platform.openai.com/docs/guides/batch (``custom_id``, and the request in ``body``).
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

FRAME, CONTENT, TOOL_LINES, TOOL_JSON, OTHER_JSON = range(5)
"""Kinds of text: roles and names; what was said; function definitions as lines, and as JSON; other JSON."""

_FUNCTION_KEYS = {"name", "description", "parameters", "strict"}
_PARAMETER_KEYS = {"type", "properties", "required", "additionalProperties"}
_PROPERTY_KEYS = {"type", "description", "enum"}
_NO_TEXT = {"image_url", "input_image", "image", "input_audio", "audio", "file", "input_file"}


class BadChatError(ValueError):
    """A record holds no chat that can be counted; says why."""


class _Message(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None
    name: str | None = None
    tool_call_id: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    audio: Any = None


class _Request(msgspec.Struct):
    messages: list[_Message] | msgspec.UnsetType = msgspec.UNSET
    model: str | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: Any = None


class _Record(_Request):
    body: msgspec.Raw = msgspec.Raw()
    custom_id: Any = None


_record_decoder = msgspec.json.Decoder(_Record)
_request_decoder = msgspec.json.Decoder(_Request)


@dataclasses.dataclass(slots=True)
class Chat:
    """What is counted of a chat.

    Attributes:
        texts: With the kind of each.
        model: The model it names.
        custom_id: Of a batch file.
        messages: How many messages.
        names: How many of them have a name.
        images: Parts without text: images, audio, files. They are not counted.
        tool_units: How many functions, functions with parameters, parameters, enumerations and values; None: there are
            tools, but not such as the published rule knows.
        has_tools: Whether tools are defined.
        estimate: Something is counted by no published rule.
    """

    texts: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    model: str | None = None
    custom_id: str | None = None
    messages: int = 0
    names: int = 0
    images: int = 0
    tool_units: tuple[int, int, int, int, int] | None = (0, 0, 0, 0, 0)
    has_tools: bool = False
    estimate: bool = False


def parse_chat(record: bytes) -> Chat:
    """Parse a record.

    Args:
        record: JSON in UTF-8.

    Raises:
        BadChatError: It is not JSON, or no chat.
    """
    try:
        found = _record_decoder.decode(record)
        request: _Request = found
        if found.messages is msgspec.UNSET and memoryview(found.body):
            request = _request_decoder.decode(found.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # ValidationError, for a field of another type, is a DecodeError too, and says where.
        raise BadChatError(f"no chat: {error}") from None
    if request.messages is msgspec.UNSET:
        raise BadChatError("no chat: it has neither messages nor body.messages")
    if not request.messages:
        raise BadChatError("no chat: messages is empty")
    chat = Chat(model=request.model, custom_id=None if found.custom_id is None else str(found.custom_id))
    for place, message in enumerate(request.messages):
        _add_message(chat, message, place)
    _add_tools(chat, request)
    if isinstance(request.response_format, Mapping) and request.response_format.get("type") == "json_schema":
        _add_json(chat, request.response_format)
    return chat


def _add_message(chat: Chat, message: _Message, place: int) -> None:
    texts = chat.texts
    chat.messages += 1
    texts.append((FRAME, message.role))
    if message.name is not None:
        chat.names += 1
        texts.append((FRAME, message.name))
    if message.tool_call_id is not None:
        texts.append((FRAME, message.tool_call_id))
    calls = [call for call in (message.tool_calls, message.function_call) if call is not None]
    if isinstance(message.content, str):
        texts.append((CONTENT, message.content))
    elif message.content is not None:
        _add_parts(chat, message.content, place)
    elif not calls and message.refusal is None and message.audio is None:
        raise BadChatError(f"no chat: messages[{place}] has no content")
    if message.refusal is not None:
        texts.append((CONTENT, message.refusal))
    if message.audio is not None:
        chat.images += 1
        chat.estimate = True
    for call in calls:
        _add_json(chat, call)


def _add_parts(chat: Chat, parts: list[Any], place: int) -> None:
    """Add content that is a list. How the API joins its parts is published nowhere: only one text is sure."""
    for number, part in enumerate(parts):
        where = f"messages[{place}].content[{number}]"
        if not isinstance(part, Mapping):
            raise BadChatError(f"no chat: {where} is no object")
        kind = part.get("type")
        if kind in _NO_TEXT:
            chat.images += 1
            continue
        text = part.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            raise BadChatError(f"no chat: {where}, of type {kind!r}, has no text")
        chat.texts.append((CONTENT, text))
    chat.estimate |= len(parts) != 1 or chat.images > 0


def _add_json(chat: Chat, value: Any) -> None:
    chat.texts.append((OTHER_JSON, msgspec.json.encode(value).decode()))
    chat.estimate = True


def _add_tools(chat: Chat, request: _Request) -> None:
    tools = [*(request.tools or ()), *(request.functions or ())]
    if not tools:
        return
    chat.has_tools = True
    functions = [*map(_function_of_tool, request.tools or ()), *(request.functions or ())]
    try:
        lines = [line for function in functions for line in _function_lines(function)]
    except _UnknownToolError:
        chat.tool_units = None
    else:
        chat.texts += [(TOOL_LINES, line) for line in lines]
        properties = [function["parameters"].get("properties", {}) for function in functions]
        enums = [each["enum"] for all_of in properties for each in all_of.values() if "enum" in each]
        chat.tool_units = (
            len(functions),
            sum(bool(all_of) for all_of in properties),
            sum(map(len, properties)),
            len(enums),
            sum(map(len, enums)),
        )
    chat.texts.append((TOOL_JSON, msgspec.json.encode(tools).decode()))


class _UnknownToolError(ValueError):
    """A tool that the published rule does not know."""


def _function_of_tool(tool: Any) -> Any:
    return tool.get("function") if isinstance(tool, Mapping) and tool.get("type") == "function" else None


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


def _known(value: Any, keys: set[str]) -> Mapping[str, Any]:
    """Give an object that has no other keys: what the rule passes over would go uncounted."""
    found = _mapping(value)
    if found.keys() - keys:
        raise _UnknownToolError
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _UnknownToolError
    return value


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise _UnknownToolError
    return value
