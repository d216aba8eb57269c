"""Vocabularies of characters that our own training made, run by `Encoder`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tokenize_lib.encoder import Encoder
from tokenize_lib.tokenizer import IDS, Special, Token, Tokenizer, one_text, strings_of, tokens_in
from tokenize_lib.vocabulary import Vocabulary


class VocabularyTokenizer(Tokenizer):
    """Encodes as the training did; a character outside the alphabet is the unknown token, or an error without one.

    Args:
        name: As `Tokenizer.name`.
        digest: As `Tokenizer.digest`.
        vocabulary: From training.
        reload: A function and its arguments that give this tokenizer, which is what is pickled.
    """

    backend = "kernel"

    def __init__(
        self,
        name: str,
        digest: str,
        vocabulary: Vocabulary,
        reload: tuple[Callable[..., Tokenizer], tuple[Any, ...]],
    ) -> None:
        self.name, self.digest = name, digest
        self._encoder, self._reload = Encoder(vocabulary), reload
        self.vocab_size = len(vocabulary.tokens)
        places = enumerate(vocabulary.options.special_tokens)
        self.special_tokens = MappingProxyType({token: place for place, token in places})

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        return self._reload

    def decode(self, ids: Sequence[int]) -> bytes:
        """As `Encoder.decode`."""
        return self._encoder.decode(ids)

    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """As `Tokenizer.tokens`, with their marks (``##ing``); no offsets where text was changed or is unknown."""
        whole: bytes = one_text(text)[0].as_py()
        ids = self.encode(whole, special=special)
        options = self._encoder.vocabulary.options
        pieces = [self._encoder.vocabulary.tokens[place] for place in ids]
        prefix, suffix = ((mark or "").encode() for mark in (options.continuing_prefix, options.end_of_word))
        unmarked = [piece.removeprefix(prefix).removesuffix(suffix) for piece in pieces]
        return tokens_in(whole, ids, pieces, unmarked)

    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        lists: Any = self._encode(texts, taken)
        return pa.array(np.diff(lists.offsets.to_numpy()), pa.int64())

    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        strings = strings_of(texts)
        if not taken:
            ids: Any = self._encoder.encode_array(strings).combine_chunks()
            return cast("pa.LargeListArray[Any]", ids)
        longest_first = sorted(taken, key=len, reverse=True)
        pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})")
        parts = [pattern.split(text.as_py()) for text in strings]  # every second one is a special token
        texts_between = pa.array([one for split in parts for one in split[::2]], pa.string())
        between: Any = iter(self._encoder.encode_array(texts_between))
        lists = [
            [
                place
                for at, part in enumerate(split)
                for place in ([self.special_tokens[part]] if at % 2 else next(between).as_py())
            ]
            for split in parts
        ]
        return cast("pa.LargeListArray[Any]", pa.array(lists, IDS))
