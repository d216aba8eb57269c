"""Counting pretokens in memory, and the one text type that the kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from schemas.pretokens import PRETOKENS, PRETOKENS_FIRST_SEEN
from tokenize_lib._native import PretokenCounter
from tokenize_lib.errors import InputError
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.training_options import PretokenizeOptions


def large_binary_chunks(texts: pa.Array[Any] | pa.ChunkedArray[Any]) -> Iterator[pa.Array[Any]]:
    """Give texts of any Arrow type as ``large_binary``, chunk by chunk, so that no offset overflows.

    Args:
        texts: ``string``, ``large_string``, ``string_view``, ``binary``, ``large_binary``, ``binary_view`` or a
            dictionary of one of them.

    Yields:
        ``large_binary`` arrays with the same rows, nulls kept; without a copy where the type allows it.

    Raises:
        InputError: The type is none of these.
    """
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        yield _large_binary(chunk)


def count_pretokens(
    texts: pa.Array[Any] | pa.ChunkedArray[Any],
    options: PretokenizeOptions | None = None,
    *,
    first_seen: bool = False,
) -> pa.Table:
    """Count the distinct pretokens of texts that fit in memory.

    Args:
        texts: The documents, UTF-8, of any type that `large_binary_chunks` takes.
        options: How they are cut; by default as o200k.
        first_seen: Note where each pretoken stands first, for ties by first place; the rows are the documents.

    Returns:
        A table of schema ``schemas.pretokens.PRETOKENS``, or ``PRETOKENS_FIRST_SEEN``, sorted by the bytes of the
        pretoken; the counts are occurrences.

    Raises:
        OptionError: The options cannot be used.
        InputError: A text is null or not UTF-8, the array's type is no text, or a pattern cannot be run on a text.
    """
    counter = PretokenCounter(build_pretokenizer(options or PretokenizeOptions()), first_seen)
    first_row = 0
    for chunk in large_binary_chunks(texts):
        if chunk.null_count:
            row = first_row + chunk.is_null().index(pa.scalar(value=True)).as_py()
            raise InputError(f"text {row} is null: drop nulls or fill them with empty texts")
        try:
            positions = pa.array(range(first_row, first_row + len(chunk)), pa.int64()) if first_seen else None
            counter.add(chunk, 0, positions)
        except ValueError as error:
            raise InputError(f"in the chunk of texts that begins at {first_row}: {error}") from error
        first_row += len(chunk)
    return pa.Table.from_batches(counter.drain(1)).cast(PRETOKENS_FIRST_SEEN if first_seen else PRETOKENS)


def _large_binary(chunk: pa.Array[Any]) -> pa.Array[Any]:
    found = chunk.type
    if isinstance(chunk, pa.DictionaryArray):
        dictionary = _large_binary(chunk.dictionary)  # first, so that decoding has 64-bit offsets
        return pa.DictionaryArray.from_arrays(chunk.indices, dictionary).dictionary_decode()
    if not any(is_type(found) for is_type in _TEXT_TYPES):
        raise InputError(f"the texts are of type {found}: give strings, or bytes that hold UTF-8")
    return chunk.cast(pa.large_binary())


_TEXT_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
)
