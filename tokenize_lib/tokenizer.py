"""One tokenizer, whatever runs it: count, encode, decode, and the pieces of a text.

`tokenize_lib.load_tokenizer` gives one for a name or a path. To encode with a `Vocabulary` that training has just made
in memory there is `Encoder`; written to files, it is loaded as any other tokenizer.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.pretokens import large_binary_chunks

Special: TypeAlias = Literal["text", "allow", "deny"] | Collection[str]
"""What the text of a special token is: text like any other; that token; an error; or that token for these alone."""

Texts: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
"""Texts of any Arrow type: ``string``, ``large_string``, ``string_view``, ``binary``, ``large_binary``,
``binary_view`` or a dictionary of one of them; UTF-8."""

IDS: Any = pa.large_list(pa.uint32())

Result = TypeVar("Result")

_find: Any = pc.find_substring_regex


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text.

    Attributes:
        id: Its id; None for words, which have none.
        bytes: What the vocabulary has for it. It may begin or end inside a character.
        start: Byte of the text's UTF-8 at which it begins; None where the tokenizer rewrites text and cannot tell.
        end: Byte behind its last one, or None likewise.
    """

    id: int | None
    bytes: bytes
    start: int | None
    end: int | None


class Tokenizer(ABC):
    """Counts, encodes and decodes by one vocabulary. It is immutable, and any number of threads may use one.

    A pickled tokenizer holds what it is made of, so that a worker without the file can load it; within a process equal
    ones are made once.

    Attributes:
        name: The encoding's name (``o200k_base``, also when a model was asked for), or that of the file or directory.
        backend: What runs it: ``kernel``, ``hugging-face``, ``sentencepiece`` or ``units``.
        vocab_size: One more than the highest id; None for ``words``.
        special_tokens: The tokens that stand for no text of their own, and their ids.
        digest: SHA-256, in hexadecimal, of the files that it was loaded from; equal ones encode equally.
    """

    name: str
    backend: str
    vocab_size: int | None
    special_tokens: Mapping[str, int]
    digest: str

    def __repr__(self) -> str:
        return f"<Tokenizer {self.name} on {self.backend}>"

    @overload
    def count(self, texts: str | bytes, *, special: Special = "text") -> int: ...
    @overload
    def count(self, texts: Texts, *, special: Special = "text") -> pa.Int64Array: ...

    def count(self, texts: str | bytes | Texts, *, special: Special = "text") -> int | pa.Int64Array:
        """Count tokens, without making ids where the backend can.

        Args:
            texts: A text, or an array of them.
            special: What the texts of special tokens are.

        Returns:
            The tokens of the text; or an ``int64`` array, the tokens of each.

        Raises:
            InputError: A text is null or not UTF-8, or has a special token that is denied.
            OptionError: ``special`` names a token that is none.
        """
        taken = self._taken(special)
        if isinstance(texts, (str, bytes)):
            return int(next(self._each(self._count, [one_text(texts)], special, taken))[0].as_py())
        counts = [*self._each(self._count, _chunks_of(texts), special, taken)]
        return pa.concat_arrays(counts) if counts else pa.array([], pa.int64())

    @overload
    def encode(self, texts: str | bytes, *, special: Special = "text") -> list[int]: ...
    @overload
    def encode(self, texts: Texts, *, special: Special = "text") -> pa.LargeListArray[Any]: ...

    def encode(self, texts: str | bytes | Texts, *, special: Special = "text") -> list[int] | pa.LargeListArray[Any]:
        """Give token ids, those of the texts alone: no begin, end or padding is added.

        Args:
            texts: A text, or an array of them.
            special: What the texts of special tokens are.

        Returns:
            The ids of the text; or a ``large_list<uint32>`` array, the ids of each.

        Raises:
            InputError: A text is null or not UTF-8, has a special token that is denied, or a character that the
                vocabulary has not and no token stands for.
            OptionError: ``special`` names a token that is none, or these tokens have no ids.
        """
        taken = self._taken(special)
        if isinstance(texts, (str, bytes)):
            ids: list[int] = next(self._each(self._encode, [one_text(texts)], special, taken))[0].as_py()
            return ids
        lists = [*self._each(self._encode, _chunks_of(texts), special, taken)]
        return pa.concat_arrays(lists) if lists else pa.array([], IDS)

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> bytes:
        """Give the text that ids stand for, as UTF-8; a part of a text's ids may end inside a character.

        Raises:
            InputError: There is no such id.
        """

    @abstractmethod
    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """Give the pieces of a text, from left to right.

        Raises:
            InputError: As `encode`.
        """

    @abstractmethod
    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        """Count the tokens of each of some ``large_binary`` texts, none of them null.

        ``taken`` are the special tokens whose text is that token. A ``ValueError`` becomes an `InputError`.
        """

    @abstractmethod
    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        """Give the ids of each text, as ``large_list<uint32>``; otherwise as `_count`."""

    def _no_such_id(self, place: int) -> InputError:
        """Give the error for an id of a tokenizer whose vocabulary has a size."""
        highest = (self.vocab_size or 0) - 1
        return InputError(f"{place} is the id of no token of {self.name}: it has ids from 0 to {highest}")

    def _taken(self, special: Special) -> frozenset[str]:
        if isinstance(special, str):
            if special not in {"text", "allow", "deny"}:
                raise OptionError(f"special {special!r} is none of text, allow, deny, nor a set of special tokens")
            return frozenset(self.special_tokens if special == "allow" else ())
        for token in special:
            if token not in self.special_tokens:
                known = ", ".join(list(self.special_tokens)[:9]) or "none"
                raise OptionError(f"{token!r} is no special token of {self.name}, which has {known}")
        return frozenset(special)

    def _each(
        self,
        function: Callable[[pa.Array[Any], frozenset[str]], Result],
        chunks: Iterable[pa.Array[Any]],
        special: Special,
        taken: frozenset[str],
    ) -> Iterator[Result]:
        """The results of `_count` or `_encode` for each chunk; errors name the row of all."""
        first_row = 0
        for chunk in chunks:
            if chunk.null_count:
                row = first_row + chunk.is_null().index(pa.scalar(value=True)).as_py()
                raise InputError(f"text {row} is null: drop nulls or fill them with empty texts")
            if special == "deny" and self.special_tokens:
                self._refuse_special(chunk, first_row)
            try:
                yield function(chunk, taken)
            except ValueError as error:
                raise InputError(_not_utf8(chunk, first_row) or str(error)) from error
            first_row += len(chunk)

    def _allowed(self, text: str | bytes, special: Special) -> str:
        """One text, if it has no special token that is denied."""
        self._taken(special)
        if special == "deny":
            self._refuse_special(one_text(text), 0)
        return unicode_of(text)

    def _refuse_special(self, texts: pa.Array[Any], first_row: int) -> None:
        longest_first = sorted((token.encode() for token in self.special_tokens), key=len, reverse=True)
        pattern = b"|".join(re.escape(token) for token in longest_first)
        places = _find(texts, pattern=pattern).to_numpy()
        rows = np.flatnonzero(places >= 0)
        if not len(rows):
            return
        row = int(rows[0])
        place, text = int(places[row]), texts[row].as_py()
        found = next(token for token in longest_first if text.startswith(token, place))
        raise InputError(
            f"{_name_of(texts, first_row + row)} has the special token {found.decode()!r} at byte {place}: "
            "allow special tokens, or take them as text (--special, or special=, allow or text)"
        )


def _chunks_of(texts: Texts) -> Iterator[pa.Array[Any]]:
    if not isinstance(texts, (pa.Array, pa.ChunkedArray)):
        raise TypeError(f"the texts are a {type(texts).__name__}: give a str, bytes or, for many, pyarrow.array(texts)")
    return large_binary_chunks(texts)


def one_text(text: str | bytes) -> pa.Array[Any]:
    """Give one text as an array.

    Raises:
        InputError: It has a lone surrogate.
    """
    if isinstance(text, str):
        try:
            text = text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the text is no Unicode: it has a lone surrogate at character {error.start}") from None
    return pa.array([text], pa.large_binary())


def unicode_of(text: str | bytes) -> str:
    """Give one text as characters.

    Raises:
        InputError: It is not UTF-8, or has a lone surrogate.
    """
    texts = one_text(text)
    try:
        found: str = strings_of(texts)[0].as_py()
    except ValueError as error:
        raise InputError(_not_utf8(texts, 0) or str(error)) from error
    return found


def strings_of(texts: pa.Array[Any]) -> pa.Array[Any]:
    """Give ``large_binary`` texts as ``large_string``, without a copy.

    Raises:
        ValueError: One is not UTF-8.
    """
    return texts.cast(pa.large_string())


def _not_utf8(texts: pa.Array[Any], first_row: int) -> str | None:
    """What is wrong with the first text that is not UTF-8; None if all are."""
    for row, text in enumerate(texts):
        try:
            text.as_py().decode()
        except UnicodeDecodeError as error:
            byte = f"byte {error.start} is {text.as_py()[error.start]:#04x}"
            return f"{_name_of(texts, first_row + row)} is not UTF-8: {byte}"
    return None


def _name_of(texts: pa.Array[Any], row: int) -> str:
    return "the text" if row == 0 and len(texts) == 1 else f"text {row}"


def tokens_in(
    text: bytes, ids: Sequence[int], pieces: Sequence[bytes], written: Sequence[bytes] | None = None
) -> list[Token]:
    """Give the tokens of a text, each with its place; without places if they do not stand there one behind the other.

    Args:
        text: The text.
        ids: The id of each token.
        pieces: What the vocabulary has for each.
        written: What stands in the text for each, where that is not the piece.
    """
    written = pieces if written is None else written
    starts = _starts_in(text, written)
    if starts is None:
        return [Token(place, piece, None, None) for place, piece in zip(ids, pieces, strict=True)]
    spans = zip(ids, pieces, written, starts, strict=True)
    return [Token(place, piece, start, start + len(shown)) for place, piece, shown, start in spans]


def _starts_in(text: bytes, pieces: Sequence[bytes]) -> list[int] | None:
    """Give the bytes at which pieces begin that stand in a text one behind the other.

    None if they do not stand there, or anything but white space is left out.
    """
    starts: list[int] = []
    at = 0
    for piece in pieces:
        while not text.startswith(piece, at):
            space = _white_space_at(text, at)
            if not space:
                return None
            at += space
        starts.append(at)
        at += len(piece)
    return starts


def _white_space_at(text: bytes, at: int) -> int:
    """The bytes of the white space character that stands there; 0 if none does."""
    if at == len(text):
        return 0
    length = 1 if text[at] < 0x80 else 2 if text[at] < 0xE0 else 3
    character = text[at : at + length].decode(errors="replace")
    return length if character.isspace() else 0
