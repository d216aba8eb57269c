"""A text and its pieces as lines to print."""

import os
import sys
from collections.abc import Sequence

import click

from pipelines.words import number_of
from tokenize_lib.errors import InputError
from tokenize_lib.tokenizer import Special, Token, Tokenizer

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_MOST_SPLITS = 8


def heading_lines(text: bytes) -> list[str]:
    """Give the text, its sizes, its code points in hexadecimal and the bytes of its UTF-8.

    Raises:
        InputError: It is not UTF-8.
    """
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8: byte {error.start} is {text[error.start]:#04x}") from None
    sizes = (
        number_of(len(characters), "character"),
        number_of(len(text), "byte"),
        number_of(len(characters.split()), "word"),
    )
    return [
        _visible(text),
        ", ".join(sizes),
        f"code points: {' '.join(f'{ord(character):04x}' for character in characters)}".rstrip(),
        f"UTF-8 bytes: {text.hex(' ')}".rstrip(),
    ]


def tokenizer_lines(tokenizer: Tokenizer, text: bytes, *, special: Special) -> list[str]:
    """Give the pieces of a text by one tokenizer.

    Raises:
        InputError: As `Tokenizer.tokens`.
    """
    tokens = tokenizer.tokens(text, special=special)
    lines = [f"{tokenizer.name}: {number_of(len(tokens), 'token')}"]
    if tokens:
        lines += [_joined(tokens), *_table(tokens)]
    splits = _split_characters(text, tokens)
    if splits:
        more = f", and {len(splits) - _MOST_SPLITS} more" if len(splits) > _MOST_SPLITS else ""
        cut = "character is" if len(splits) == 1 else "characters are"
        lines.append(f"{len(splits)} {cut} cut inside: {', '.join(splits[:_MOST_SPLITS])}{more}")
    return lines


def _joined(tokens: Sequence[Token]) -> str:
    """All pieces in one line: colours in turn where they are shown, bars where click leaves colours out."""
    pieces = [_visible(token.bytes) for token in tokens]
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return "|".join(pieces)
    return "".join(
        click.style(piece, fg="black", bg=_COLOURS[place % len(_COLOURS)]) for place, piece in enumerate(pieces)
    )


def _table(tokens: Sequence[Token]) -> list[str]:
    rows = [
        ("id", "at", "bytes", "piece"),
        *(
            (
                "-" if token.id is None else str(token.id),
                "-" if token.start is None else str(token.start),
                token.bytes.hex(" "),
                f'"{_visible(token.bytes)}"',
            )
            for token in tokens
        ),
    ]
    ids, starts, hexes = (max(len(row[column]) for row in rows) for column in range(3))
    return [f"  {row[0]:>{ids}}  {row[1]:>{starts}}  {row[2]:<{hexes}}  {row[3]}" for row in rows]


def _split_characters(text: bytes, tokens: Sequence[Token]) -> list[str]:
    """The characters inside which a piece begins, with their places and what they are cut into."""
    stands = [token for token in tokens if token.start is not None and text[token.start : token.end] == token.bytes]
    found: dict[int, list[str]] = {}
    for before, token in zip([None, *stands], stands, strict=False):
        start = at = token.start or 0
        while start > 0 and text[start] & 0xC0 == 0x80:
            start -= 1
        if start == at:
            continue
        if start not in found:
            found[start] = [str(before.id)] if before is not None else []
        found[start].append(str(token.id))
    return [
        f"{_visible(_character_at(text, start))} at byte {start} (ids {' '.join(ids)})" for start, ids in found.items()
    ]


def _character_at(text: bytes, start: int) -> bytes:
    end = start + 1
    while end < len(text) and text[end] & 0xC0 == 0x80:
        end += 1
    return text[start:end]


def _visible(piece: bytes) -> str:
    """As text, where it is and can be seen; other characters and bytes as Python escapes them."""
    escaped = piece.decode(errors="backslashreplace")
    return "".join(
        character if character.isprintable() or character in _SEEN_WITH_OTHERS else _escaped(character)
        for character in escaped
    )


_SEEN_WITH_OTHERS = "\u200d"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
