"""The naive twin of reading: a whole file in memory, Python's own splitting and `json`."""

import dataclasses
import json
import re
from dataclasses import dataclass, field
from typing import Any

from pipelines.splits import ReadOptions

_MISSING = object()


@dataclass
class Reading:
    documents: list[tuple[int, bytes, list[str | None]]] = field(default_factory=list)  # position, text, kept fields
    bad: list[tuple[int, int]] = field(default_factory=list)  # position, row in the file from 0
    rows: int = 0
    mended: int = 0


class BadRecordError(Exception):
    pass


class Pairs(list):
    """A JSON object with its keys in order, repeated ones too."""


def read_file(data: bytes, file_format: str, options: ReadOptions) -> Reading:
    position = 0
    if data.startswith(b"\xef\xbb\xbf"):
        position, data = 3, data[3:]
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    reading = Reading(rows=len(lines))
    for row, line in enumerate(lines):
        try:
            record = read_line(line, file_format, options)
            if record is not None:
                reading.documents.append((position, record[0].encode(), record[1]))
                reading.mended += is_bad(line, file_format, dataclasses.replace(options, on_bad_record="skip"))
        except BadRecordError:
            reading.bad.append((position, row))
        position += len(line) + 1
    return reading


def read_line(line: bytes, file_format: str, options: ReadOptions) -> tuple[str, list[str | None]] | None:
    text = decode(line, options)
    if file_format == "text":
        return text, [None] * len(options.kept_fields)
    return json_record(text, options) if text.strip(" \t\r") else None


def is_bad(line: bytes, file_format: str, options: ReadOptions) -> bool:
    try:
        read_line(line, file_format, options)
    except BadRecordError:
        return True
    return False


def decode(line: bytes, options: ReadOptions) -> str:
    if len(line) > options.max_document_bytes:
        raise BadRecordError
    if options.on_bad_record == "replace":
        return line.decode("utf-8", "replace")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRecordError from None


def refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are no JSON (RFC 8259)


def json_record(line: str, options: ReadOptions) -> tuple[str, list[str | None]]:
    try:
        value = json.loads(
            line, object_pairs_hook=Pairs, parse_constant=refuse_constant,
            parse_int=lambda digits: ("number", digits), parse_float=lambda digits: ("number", digits),
        )  # fmt: skip
    except ValueError:
        raise BadRecordError from None
    if not isinstance(value, Pairs):
        raise BadRecordError
    text = look_up(value, options.text_field)
    if text is None and options.null == "empty":
        text = ""
    if not isinstance(text, str):
        raise BadRecordError
    return whole_text(text, options), [as_label(look_up(value, name), options) for name in options.kept_fields]


def look_up(value: Pairs, path: str) -> Any:
    found = _MISSING
    for key, inner in value:
        if key == path:
            found = inner
        elif path.startswith(f"{key}."):
            found = _MISSING
            if isinstance(inner, Pairs):
                found = look_up(inner, path[len(key) + 1 :])
            elif inner is None:
                found = None
    return found


def as_label(value: Any, options: ReadOptions) -> str | None:
    if value is None or value is _MISSING:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return value[1]
    if isinstance(value, str):
        return whole_text(value, options)
    raise BadRecordError


def whole_text(text: str, options: ReadOptions) -> str:
    if re.search("[\ud800-\udfff]", text):
        if options.on_bad_record != "replace":
            raise BadRecordError
        return re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text
