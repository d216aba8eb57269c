"""Byte-pair encoding on bytes, by the kernel: tiktoken's ranks, and lists of merges as Hugging Face has them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tokenize_lib import _native
from tokenize_lib.byte_pairs import BytePairs
from tokenize_lib.errors import InputError
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.tokenizer import Special, Token, Tokenizer, one_text, tokens_in

_METASPACE = "▁".encode()


class BytePairTokenizer(Tokenizer):
    """Runs `BytePairs`.

    Args:
        name: As `Tokenizer.name`.
        digest: As `Tokenizer.digest`.
        parts: What it runs.
        reload: A function and its arguments that give this tokenizer, which is what is pickled.

    Raises:
        OptionError: The pretokenizer cannot be used.
        InputError: The parts do not fit together.
    """

    vocab_size: int
    backend = "kernel"

    def __init__(
        self, name: str, digest: str, parts: BytePairs, reload: tuple[Callable[..., Tokenizer], tuple[Any, ...]]
    ) -> None:
        self.name, self.digest = name, digest
        self.special_tokens = MappingProxyType(dict(parts.special))
        self.vocab_size = max(
            len(parts.tokens), *(place + 1 for place in (*parts.special.values(), *parts.added.values())), 0
        )
        self._parts, self._reload = parts, reload
        self._pretokenizer = build_pretokenizer(dataclasses.replace(parts.cut, special_tokens=()))
        try:
            self._model = _native.BytePairModel(
                parts.tokens, parts.merges, byte_ids=_ids_of_bytes(parts.tokens), whole_pretokens=parts.whole_pretokens
            )
        except ValueError as error:
            raise InputError(f"{name}: {error}") from error
        self._cut_out = functools.lru_cache(maxsize=32)(self._make_cut_out)

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        return self._reload

    def decode(self, ids: Sequence[int]) -> bytes:
        """As `Tokenizer.decode`; the text as it was encoded unless its rules rewrite text or drop spaces."""
        text = b"".join(self._bytes_of(ids))
        if self._parts.cut.pretokenizer == "metaspace":
            return text.replace(_METASPACE, b" ").removeprefix(b" ")
        return text

    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """As `Tokenizer.tokens`; no offsets where normalization or ``metaspace`` changed the text."""
        whole: bytes = one_text(text)[0].as_py()
        ids = self.encode(whole, special=special)
        return tokens_in(whole, ids, self._bytes_of(ids))

    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        return self._model.count(self._pretokenizer, texts, self._cut_out(taken))

    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        return self._model.encode(self._pretokenizer, texts, self._cut_out(taken))

    def _make_cut_out(self, taken: frozenset[str]) -> _native.SpecialTokens | None:
        wanted = {**self._parts.added, **{token: self.special_tokens[token] for token in sorted(taken)}}
        return _native.SpecialTokens(list(wanted), list(wanted.values())) if wanted else None

    @functools.cached_property
    def _all_tokens(self) -> list[bytes | None]:
        """The bytes of each id, special and added tokens included."""
        values = self._parts.tokens.to_pylist()
        values += [None] * (self.vocab_size - len(values))
        for token, place in {**self._parts.unreachable, **self._parts.added, **self._parts.special}.items():
            values[place] = token.encode()
        return values

    def _bytes_of(self, ids: Sequence[int]) -> list[bytes]:
        tokens = self._all_tokens
        found: list[bytes] = []
        for place in ids:
            token = tokens[place] if 0 <= place < len(tokens) else None
            if token is None:
                raise self._no_such_id(place)
            found.append(token)
        return found


def _ids_of_bytes(tokens: pa.Array[Any]) -> pa.UInt32Array:
    """The id of each byte; null where no token is that byte alone."""
    # From buffers to buffers: to_numpy and pa.array look for pandas, and importing it takes longer than all the rest.
    buffers: Any = tokens.buffers()
    offsets = np.frombuffer(buffers[1], np.int64)[tokens.offset : tokens.offset + len(tokens) + 1]
    places = np.flatnonzero(np.diff(offsets) == 1)
    singles = np.frombuffer(buffers[2], np.uint8)[offsets[places]] if len(places) else np.empty(0, np.uint8)
    ids, is_token = np.zeros(256, np.uint32), np.zeros(256, np.bool_)
    ids[singles], is_token[singles] = places, True
    bitmap = np.packbits(is_token, bitorder="little")
    found: Any = pa.Array.from_buffers(pa.uint32(), 256, [pa.py_buffer(bitmap.tobytes()), pa.py_buffer(ids.tobytes())])
    return cast("pa.UInt32Array", found)
