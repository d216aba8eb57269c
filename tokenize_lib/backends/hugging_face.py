"""What Hugging Face's ``tokenizer.json`` may have beyond the kernel's reach, run by ``tokenizers`` itself."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import tokenizers

from tokenize_lib.errors import InputError
from tokenize_lib.formats.byte_characters import BYTES
from tokenize_lib.tokenizer import Special, Token, Tokenizer, strings_of

_BATCH_TEXTS = 1024
_BATCH_BYTES = 4 << 20  # an encoding takes some hundred bytes a token


class HuggingFaceTokenizer(Tokenizer):
    """Encodes as ``Tokenizer.encode(text, add_special_tokens=False)`` of the file.

    Special tokens are those that the file marks ``special``; with ``special="allow"`` they are found as the file says.
    Its other added tokens always are tokens. Padding and truncation are off.

    Args:
        name: As `Tokenizer.name`.
        digest: As `Tokenizer.digest`.
        content: The file's text.
        reload: A function and its arguments that give this tokenizer, which is what is pickled.

    Raises:
        InputError: The library cannot read it.
    """

    vocab_size: int
    backend = "hugging-face"

    def __init__(
        self, name: str, digest: str, content: str, reload: tuple[Callable[..., Tokenizer], tuple[Any, ...]]
    ) -> None:
        self.name, self.digest = name, digest
        self._content, self._reload = content, reload
        self._lock = threading.Lock()
        self._made: dict[frozenset[str], Any] = {}
        whole = self._load(content)
        added = whole.get_added_tokens_decoder()
        self.special_tokens = MappingProxyType(
            {token.content: place for place, token in added.items() if token.special}
        )
        self.vocab_size = max(whole.get_vocab().values(), default=-1) + 1
        self._made[frozenset(self.special_tokens)] = whole

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        return self._reload

    def decode(self, ids: Sequence[int]) -> bytes:
        """As `Tokenizer.decode`: by the file's decoder, special tokens kept; of byte-level files the bytes."""
        pieces = [self._token(place) for place in ids]
        if self._is_byte_level:
            return b"".join(map(self._bytes_of, pieces))
        text: str = self._made[frozenset(self.special_tokens)].decode(list(ids), skip_special_tokens=False)
        return text.encode()

    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """As `Tokenizer.tokens`, with the vocabulary's text of each (``##ing``), and the library's offsets.

        Those are of whole characters: pieces that split one have the same.
        """
        whole = self._allowed(text, special)
        encoding = self._made_for(self._taken(special)).encode(whole, add_special_tokens=False)
        places = [0, *accumulate(len(character.encode()) for character in whole)]
        return [
            Token(place, self._bytes_of(piece), places[start], places[end])
            for place, piece, (start, end) in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True)
        ]

    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        return pa.array([len(encoding) for encoding in self._encodings(texts, taken)], pa.int64())

    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        lists = [np.array(encoding.ids, np.uint32) for encoding in self._encodings(texts, taken)]
        ends = pa.array([0, *accumulate(map(len, lists))], pa.int64())
        return pa.LargeListArray.from_arrays(ends, pa.array(np.concatenate([*lists, np.array([], np.uint32)])))

    def _encodings(self, texts: pa.Array[Any], taken: frozenset[str]) -> Iterator[Any]:
        made = self._made_for(taken)
        for batch in _batches(strings_of(texts)):
            yield from made.encode_batch_fast(batch, add_special_tokens=False)

    def _made_for(self, taken: frozenset[str]) -> Any:
        """The library's tokenizer that takes these special tokens for tokens, and the others for text."""
        with self._lock:
            if taken not in self._made:
                document = json.loads(self._content)
                for token in document["added_tokens"]:  # of the file's special tokens, those still marked are text
                    token["special"] = token["special"] and token["content"] not in taken
                made = self._load(json.dumps(document))
                made.encode_special_tokens = True
                self._made[taken] = made
            return self._made[taken]

    def _load(self, content: str) -> Any:
        try:
            made = tokenizers.Tokenizer.from_str(content)
        except Exception as error:
            raise InputError(
                f"{self.name}: no tokenizer.json that Hugging Face tokenizers can read: {error}"
            ) from error
        made.no_padding()
        made.no_truncation()
        return made

    @functools.cached_property
    def _is_byte_level(self) -> bool:
        return (json.loads(self._content).get("decoder") or {}).get("type") == "ByteLevel"

    def _token(self, place: int) -> str:
        token: str | None = None
        if 0 <= place < 2**32:
            token = self._made[frozenset(self.special_tokens)].id_to_token(place)
        if token is None:
            raise self._no_such_id(place)
        return token

    def _bytes_of(self, token: str) -> bytes:
        if self._is_byte_level and token not in self.special_tokens and all(character in BYTES for character in token):
            return bytes(BYTES[character] for character in token)
        return token.encode()


def _batches(texts: pa.Array[Any]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text.as_py())
        size += len(batch[-1])
        if len(batch) == _BATCH_TEXTS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
