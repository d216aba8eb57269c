"""Counting pretokens in the plainest way: a dictionary."""

import collections
from collections.abc import Iterable

from tests.oracles import pretokenizers
from tokenize_lib.training_options import PretokenizeOptions


def count(documents: Iterable[str], options: PretokenizeOptions) -> dict[bytes, int]:
    """Give each distinct pretoken's occurrences."""
    counts: collections.Counter[bytes] = collections.Counter()
    for document in documents:
        counts.update(pretoken.encode() for pretoken in pretokenizers.split(document, options))
    return dict(counts)


def first_seen(
    documents: Iterable[tuple[int, int, str]], options: PretokenizeOptions
) -> dict[bytes, tuple[int, int, int]]:
    """Give each distinct pretoken's first place: source, position in it, byte in the document.

    Documents come as (source, position, text), in any order; nothing rewrites their text (no special tokens, no
    normalization, no metaspace), and every byte is in a pretoken.
    """
    places: dict[bytes, tuple[int, int, int]] = {}
    for source, position, document in documents:
        offset = 0
        for pretoken in pretokenizers.split(document, options):
            key = pretoken.encode()
            place = (source, position, offset)
            places[key] = min(place, places.get(key, place))
            offset += len(key)
    return places
