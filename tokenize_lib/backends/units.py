"""Tokens that need no vocabulary: code points, words between white space, bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenize_lib import _native
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.tokenizer import Special, Token, Tokenizer, strings_of, unicode_of

UNITS = ("chars", "words", "bytes")

_WORD = re.compile(r"\S+")
_CHARACTER = re.compile(r"(?s:.)")
_CODE_POINTS = 0x11_0000


class Units(Tokenizer):
    """``chars``, ``words`` or ``bytes``.

    Of ``chars`` and ``bytes`` each code point, or each byte of the UTF-8, is a token, and its own id. Of ``words`` each
    run of characters between white space is one, as Python's `str.split()` has it; they have no ids.
    """

    backend = "units"
    special_tokens: Mapping[str, int] = MappingProxyType({})

    def __init__(self, name: str) -> None:
        self.name = self.digest = name
        self.vocab_size = {"chars": _CODE_POINTS, "bytes": 256}.get(name)

    def __reduce__(self) -> tuple[type[Units], tuple[str]]:
        return Units, (self.name,)

    def decode(self, ids: Sequence[int]) -> bytes:
        """As `Tokenizer.decode`."""
        if self.vocab_size is None:
            raise OptionError("words have no ids: there is nothing to decode")
        for place in ids:
            if not 0 <= place < self.vocab_size or (self.name == "chars" and 0xD800 <= place < 0xE000):
                raise InputError(f"{place} is the id of no token of {self.name}")
        return bytes(ids) if self.name == "bytes" else "".join(map(chr, ids)).encode()

    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """As `Tokenizer.tokens`; white space between words is in none."""
        self._taken(special)
        whole = unicode_of(text)
        if self.name == "bytes":
            return [Token(byte, bytes([byte]), at, at + 1) for at, byte in enumerate(whole.encode())]
        rule = _WORD if self.name == "words" else _CHARACTER
        pieces = [(match.group(), match.start()) for match in rule.finditer(whole)]
        places = [0, *accumulate(len(character.encode()) for character in whole)]
        return [
            Token(ord(piece) if self.name == "chars" else None, piece.encode(), places[at], places[at + len(piece)])
            for piece, at in pieces
        ]

    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        del taken  # there are none
        strings: Any = strings_of(texts)
        counts: Any
        match self.name:
            case "chars":
                counts = pc.utf8_length(strings)
            case "words":
                counts = _native.text_sizes(texts)["words"]
            case _:
                counts = pc.binary_length(strings)
        found: pa.Int64Array = counts.cast(pa.int64())
        return found

    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        del taken
        if self.vocab_size is None:
            raise OptionError("words have no ids: count them, or show them")
        strings: Any = strings_of(texts)
        joined = "".join(strings.to_pylist())
        if self.name == "chars":
            ids = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
        else:
            ids = np.frombuffer(joined.encode(), np.uint8).astype(np.uint32)
        lengths = self._count(texts, frozenset()).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(ids, pa.uint32()))
