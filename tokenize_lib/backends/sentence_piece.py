"""sentencepiece's ``.model`` files, run by the ``sentencepiece`` package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import sentencepiece

from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.tokenizer import Special, Token, Tokenizer, strings_of


class SentencePieceTokenizer(Tokenizer):
    """Encodes as ``SentencePieceProcessor.encode``, without begin and end.

    Special tokens are the file's control symbols (``<s>``): sentencepiece never takes them from text, so that they
    cannot be allowed. Its user-defined symbols always are tokens.

    Args:
        name: As `Tokenizer.name`.
        digest: As `Tokenizer.digest`.
        content: The file's bytes.
        reload: A function and its arguments that give this tokenizer, which is what is pickled.

    Raises:
        InputError: The library cannot read it.
    """

    vocab_size: int
    backend = "sentencepiece"

    def __init__(
        self, name: str, digest: str, content: bytes, reload: tuple[Callable[..., Tokenizer], tuple[Any, ...]]
    ) -> None:
        self.name, self.digest = name, digest
        self._reload = reload
        self._processor: Any = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(content)
        except Exception as error:
            raise InputError(f"{name}: no model that sentencepiece can read: {error}") from error
        self.vocab_size = self._processor.get_piece_size()
        controls = [place for place in range(self.vocab_size) if self._processor.is_control(place)]
        self.special_tokens = MappingProxyType({self._processor.id_to_piece(place): place for place in controls})

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        return self._reload

    def decode(self, ids: Sequence[int]) -> bytes:
        """As `Tokenizer.decode`, by sentencepiece: normalized text; bytes that are no UTF-8 become U+FFFD."""
        for place in ids:
            if not 0 <= place < self.vocab_size:
                raise self._no_such_id(place)
        text: str = self._processor.decode(list(ids))
        return text.encode()

    def tokens(self, text: str | bytes, *, special: Special = "text") -> list[Token]:
        """As `Tokenizer.tokens`, with the vocabulary's text of each (``▁the``), and the offsets that the library gives.

        Those are of what the piece was before normalization; of a character's bytes (``<0xB6>``) the last has it all.
        """
        whole = self._allowed(text, special)
        return [
            Token(piece.id, piece.piece.encode(), piece.begin, piece.end)
            for piece in self._processor.encode(whole, return_type="proto").pieces
        ]

    def _count(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.Int64Array:
        return pa.array([len(ids) for ids in self._ids(texts, taken)], pa.int64())

    def _encode(self, texts: pa.Array[Any], taken: frozenset[str]) -> pa.LargeListArray[Any]:
        lists = self._ids(texts, taken)
        ends = pa.array([0, *accumulate(map(len, lists))], pa.int64())
        flat = np.fromiter((place for ids in lists for place in ids), np.uint32, ends[-1].as_py())
        return pa.LargeListArray.from_arrays(ends, pa.array(flat))

    def _ids(self, texts: pa.Array[Any], taken: frozenset[str]) -> list[list[int]]:
        del taken
        # One thread: the pipeline has its own.
        lists: list[list[int]] = self._processor.encode(strings_of(texts).to_pylist(), out_type=int, num_threads=1)
        return lists

    def _taken(self, special: Special) -> frozenset[str]:
        taken = super()._taken(special)
        if taken:
            raise OptionError(
                f"{self.name}: sentencepiece takes no control symbol from text: leave special tokens text"
            )
        return taken
