"""Text to token ids and back, with a vocabulary that training made. Exact, and as plain as that allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tokenize_lib import _native
from tokenize_lib.errors import InputError
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.pretokens import large_binary_chunks
from tokenize_lib.start_alphabet import alphabet_of
from tokenize_lib.training_options import PretokenizeOptions
from tokenize_lib.vocabulary import Vocabulary

_BARRIER = 2**32 - 1  # as in _kernel/src/alphabet.rs
_METASPACE = "▁"
_IDS: Any = pa.large_list(pa.uint32())


class Encoder:
    """Encodes as the training did: the same pretokens, the same start symbols, the merges by rank.

    For a vocabulary in memory. What is in files is loaded by `tokenize_lib.load_tokenizer`, whose tokenizers also
    count, and are faster on bytes.

    Args:
        vocabulary: From training, or from a file.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        options = vocabulary.options
        cut = PretokenizeOptions(
            pretokenizer=options.pretokenize.pretokenizer,
            normalize=options.pretokenize.normalize,
            lowercase=options.pretokenize.lowercase,
        )
        self._pretokenizer = build_pretokenizer(cut)
        self._alphabet = alphabet_of(vocabulary).kernel()
        pairs = pa.RecordBatch.from_pydict(
            {"left": vocabulary.left_ids.cast(pa.uint32()), "right": vocabulary.right_ids.cast(pa.uint32())}
        )
        self._merges = _native.Merges(pairs, vocabulary.first_merge_id)
        self._special_ids = {token: place for place, token in enumerate(options.special_tokens)}
        longest_first = sorted(self._special_ids, key=len, reverse=True)
        self._special_pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
        self._unk_id = self._special_ids.get(options.unk_token) if options.unk_token is not None else None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Give the token ids of one text.

        Args:
            text: Any text.
            special: Take the text of a special token for that token; otherwise it is text like any other.

        Raises:
            InputError: A character is outside the alphabet, and there is no unknown token.
        """
        if not special or self._special_pattern is None:
            return self._ids([text])[0]
        parts = self._special_pattern.split(text)  # every second one is a special token
        ids: list[int] = []
        for place, encoded in enumerate(self._ids(parts)):
            ids += [self._special_ids[parts[place]]] if place % 2 else encoded
        return ids

    def encode_array(self, texts: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
        """Give the token ids of each text as ``large_list<uint32>``; special tokens are text.

        Raises:
            InputError: As `encode`; or a text is null, or the type is no text.
        """
        chunks = [self._encode_chunk(chunk) for chunk in large_binary_chunks(texts)]
        return pa.chunked_array(chunks, _IDS)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return [ids.as_py() for ids in self.encode_array(pa.array(texts))]

    def _encode_chunk(self, texts: pa.Array[Any]) -> pa.Array[Any]:
        if texts.null_count:
            raise InputError("a text is null: drop nulls or fill them with empty texts")
        pretokens = self._pretokenizer.split(texts)
        table = pa.RecordBatch.from_pydict(
            {"pretoken": pretokens.flatten(), "count": pa.array(np.ones(len(pretokens.flatten()), np.int64))}
        )
        symbols: Any = self._merges.apply(self._alphabet.encode(table))["symbols"]
        ends = symbols.offsets.to_numpy()[pretokens.offsets.to_numpy()]
        return pa.LargeListArray.from_arrays(pa.array(ends), self._known(symbols.values))

    def _known(self, ids: pa.Array[Any]) -> pa.Array[Any]:
        values = ids.to_numpy()
        unknown = values == _BARRIER
        if not unknown.any():
            return ids
        if self._unk_id is None:
            raise InputError(
                "a character is not in the alphabet of this vocabulary: train with --unk-token, or on bytes"
            )
        return pa.array(np.where(unknown, self._unk_id, values).astype(np.uint32))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Give the text that ids stand for, as UTF-8; exactly the encoded text where the vocabulary is lossless.

        Bytes and pretokenizers that keep all text are; ``whitespace``, ``bert``, normalization and lower-casing are
        not. Marks are taken out: a word's end or a word without a continuing prefix becomes a space.

        Raises:
            InputError: There is no such id.
        """
        tokens = self.vocabulary.tokens
        for place in ids:
            if not 0 <= place < len(tokens):
                raise InputError(f"{place} is no token id: the vocabulary has {len(tokens)}")
        options = self.vocabulary.options
        pieces = [tokens[place] for place in ids]
        if options.continuing_prefix is not None:
            prefix = options.continuing_prefix.encode()
            spaced = (p.removeprefix(prefix) if p.startswith(prefix) else b" " + p for p in pieces)
            return b"".join(spaced).removeprefix(b" ")
        text = b"".join(pieces)
        if options.end_of_word is not None:
            return text.replace(options.end_of_word.encode(), b" ").removesuffix(b" ")
        if options.pretokenize.pretokenizer == "metaspace":
            return text.replace(_METASPACE.encode(), b" ").removeprefix(b" ")
        return text
