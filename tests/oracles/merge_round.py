"""What the kernels of a merge round do, in the plainest way. Symbols are lists of ids; `BARRIER` is never in a pair."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

BARRIER = 2**32 - 1

Row = tuple[Sequence[int], int]
"""Symbols and how often they stand in the corpus."""


def pair_counts(rows: Iterable[Row]) -> dict[tuple[int, int], int]:
    counts: Counter[tuple[int, int]] = Counter()
    for symbols, count in rows:
        for pair in itertools.pairwise(symbols):
            if BARRIER not in pair:
                counts[pair] += count
    return dict(counts)


def apply_merges(symbols: Sequence[int], merges: Sequence[tuple[int, int]], first_id: int) -> list[int]:
    """One merge after the other, each from left to right."""
    merged = list(symbols)
    for new, pair in enumerate(merges, start=first_id):
        place = 0
        while place + 1 < len(merged):
            if (merged[place], merged[place + 1]) == pair:
                merged[place : place + 2] = [new]
            place += 1
    return merged


def segments(symbols: Sequence[int], live: set[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """The maximal runs in which every pair is live, of two symbols or more, each with the place of its first symbol."""
    runs: list[tuple[int, list[int]]] = []
    for place, symbol in enumerate(symbols):
        if place and (symbols[place - 1], symbol) in live:
            runs[-1][1].append(symbol)
        else:
            runs.append((place, [symbol]))
    return [(place, run) for place, run in runs if len(run) > 1]
