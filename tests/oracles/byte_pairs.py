"""Byte-pair encoding of one pretoken in the plainest way, by tiktoken's ranks and by Hugging Face's merges.

Sources: ``tiktoken/_educational.py`` (``bpe_encode``) and ``models/bpe/model.rs`` of Hugging Face's tokenizers.
"""

import itertools
from collections.abc import Mapping, Sequence

Merge = tuple[int, int, int]
"""Left, right, new."""


def encode_by_ranks(pretoken: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Give the ids of a pretoken; ``ranks`` has every single byte."""
    if pretoken in ranks:
        return [ranks[pretoken]]
    parts = [bytes([byte]) for byte in pretoken]
    while True:
        pairs = [left + right for left, right in itertools.pairwise(parts)]
        ranked = [(ranks[joined], place) for place, joined in enumerate(pairs) if joined in ranks]
        if not ranked:
            return [ranks[part] for part in parts]
        _, place = min(ranked)
        parts[place : place + 2] = [pairs[place]]


def encode_by_merges(pretoken: bytes, byte_ids: Sequence[int | None], merges: Sequence[Merge]) -> list[int]:
    """Give the ids of a pretoken; bytes without an id are left out."""
    rank_of = {(left, right): (rank, new) for rank, (left, right, new) in enumerate(merges)}
    ids = [found for byte in pretoken if (found := byte_ids[byte]) is not None]
    while True:
        pairs = enumerate(itertools.pairwise(ids))
        ranked = [(*rank_of[pair], place) for place, pair in pairs if pair in rank_of]
        if not ranked:
            return ids
        _, new, place = min(ranked)
        ids[place : place + 2] = [new]
