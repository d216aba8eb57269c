"""Each kernel of a merge round against its naive twin."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import merge_round as oracle
from tokenize_lib import _native
from tokenize_lib.merge_rounds import RoundLimits, choose_threshold

BARRIER = oracle.BARRIER

small_ids = st.sampled_from([0, 1, 2, 3, BARRIER])
far_ids = st.sampled_from([0, 500, 511, 512, 1023, 1024, 5000, BARRIER])
symbol_lists = st.lists(small_ids, max_size=80) | st.lists(far_ids, max_size=12)
rows_of_symbols = st.lists(st.tuples(symbol_lists, st.integers(1, 9)), max_size=12)


def batch(rows: list[oracle.Row], places: list[int] | None = None) -> pa.RecordBatch:
    columns = {
        "symbols": pa.array([symbols for symbols, _ in rows], pa.large_list(pa.uint32())),
        "count": pa.array([count for _, count in rows], pa.int64()),
    }
    if places is not None:
        columns["first_seen"] = pa.array([place.to_bytes(16) for place in places], pa.binary(16))
    return pa.RecordBatch.from_pydict(columns)


def pair_batch(pairs: list[tuple[int, int]], counts: list[int] | None = None) -> pa.RecordBatch:
    columns = {
        "left": pa.array([left for left, _ in pairs], pa.uint32()),
        "right": pa.array([right for _, right in pairs], pa.uint32()),
    }
    if counts is not None:
        columns["count"] = pa.array(counts, pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def counted(batches: list[pa.RecordBatch]) -> dict[tuple[int, int], int]:
    rows = [row for part in batches for row in part.to_pylist()]
    counts = {(row["left"], row["right"]): row["count"] for row in rows}
    assert len(counts) == len(rows)
    return counts


@given(rows=rows_of_symbols, partitions=st.integers(1, 5))
def test_pairs_are_counted(rows: list[oracle.Row], partitions: int) -> None:
    counter = _native.PairCounter()
    counter.add(batch(rows))
    expected = oracle.pair_counts(rows)
    assert counter.distinct == len(expected)
    partial = counter.drain(partitions)
    assert counted(partial) == expected
    assert counter.distinct == 0
    for _ in range(2):
        for part in partial:
            counter.add_pairs(part)
    assert counted(counter.drain(1)) == {pair: 2 * count for pair, count in expected.items()}


def test_pairs_past_64_bits_are_an_error() -> None:
    for left in (1, 5000):
        counter = _native.PairCounter()
        counter.add_pairs(pair_batch([(left, 2)], [2**63 - 1]))
        with pytest.raises(OverflowError):
            counter.add_pairs(pair_batch([(left, 2)], [1]))


@given(
    rows=st.lists(st.tuples(st.lists(small_ids, max_size=120), st.integers(1, 9)), max_size=6),
    merges=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=9, unique=True),
)
def test_merges_are_applied(rows: list[oracle.Row], merges: list[tuple[int, int]]) -> None:
    first_id = 4
    merges = [pair for rank, pair in enumerate(merges) if max(pair) < first_id + rank]
    merges = [pair for rank, pair in enumerate(merges) if max(pair) < first_id + rank]
    kernel = _native.Merges(pair_batch(merges), first_id)
    expected = [(oracle.apply_merges(symbols, merges, first_id), count) for symbols, count in rows]
    merged = kernel.apply(batch(rows))
    assert list(zip(merged["symbols"].to_pylist(), merged["count"].to_pylist(), strict=True)) == expected
    longer = kernel.apply(batch(rows), drop_single=True)
    assert longer["symbols"].to_pylist() == [symbols for symbols, _ in expected if len(symbols) > 1]


@given(rows=rows_of_symbols, data=st.data(), partitions=st.integers(1, 4), sums=st.booleans())
def test_segments_are_cut_and_summed(
    rows: list[oracle.Row], data: st.DataObject, partitions: int, *, sums: bool
) -> None:
    pairs = sorted(oracle.pair_counts(rows))
    live = set(data.draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else set()
    widths = (
        data.draw(st.lists(st.integers(1, 3), min_size=5001, max_size=5001)) if data.draw(st.booleans()) else [1] * 5001
    )
    places = [row << 40 for row in range(len(rows))]
    counter = _native.SegmentCounter([pair_batch(sorted(live))], sums=sums)
    counter.add(batch(rows, places), pa.array(widths, pa.uint32()))
    expected_counts: Counter[tuple[int, ...]] = Counter()
    expected_places: dict[tuple[int, ...], int] = {}
    instances = 0
    for (symbols, count), start in zip(rows, places, strict=True):
        for place, run in oracle.segments(symbols, live):
            before = sum(widths[symbol] if symbol < len(widths) else 1 for symbol in symbols[:place])
            expected_counts[tuple(run)] += count
            expected_places.setdefault(tuple(run), start + before)
            instances += 1
    assert counter.segments == (len(expected_counts) if sums else instances)
    found_counts: Counter[tuple[int, ...]] = Counter()
    found_places: dict[tuple[int, ...], int] = {}
    for part in counter.drain(partitions):
        for row in part.to_pylist():
            run = tuple(row["symbols"])
            found_counts[run] += row["count"]
            place = int.from_bytes(row["first_seen"])
            found_places[run] = min(place, found_places.get(run, place))
    assert found_counts == expected_counts
    assert found_places == expected_places


@given(rows=rows_of_symbols)
def test_every_pair_live_cuts_at_barriers_only(rows: list[oracle.Row]) -> None:
    live = set(oracle.pair_counts(rows))
    expected = Counter(tuple(run) for symbols, _ in rows for _, run in oracle.segments(symbols, live))
    counter = _native.SegmentCounter()
    counter.add(batch(rows))
    [found] = counter.drain(1)
    assert set(map(tuple, found["symbols"].to_pylist())) == set(expected)


@given(rows=rows_of_symbols, budget=st.integers(1, 20_000), ceiling=st.integers(2, 200), lowest=st.integers(1, 5))
def test_the_threshold_is_the_lowest_that_fits_or_near_it(
    rows: list[oracle.Row], budget: int, ceiling: int, lowest: int
) -> None:
    counts = {pair: count for pair, count in oracle.pair_counts(rows).items() if count >= lowest}

    def choose(bytes_allowed: int) -> int:
        sample = _native.ThresholdSample([batch(rows)])
        sample.add_pairs(pair_batch(list(counts), list(counts.values())))
        limits = RoundLimits(budget=bytes_allowed, correction=1.0, lowest=lowest, ceiling=max(ceiling, lowest + 1))
        chosen = choose_threshold(sample, limits, rows_a_sample=1, distinct_pairs=len(counts))
        assert chosen.live_pairs == sum(count >= chosen.threshold for count in counts.values())
        assert chosen.best_count == max(counts.values(), default=0)
        assert lowest <= chosen.threshold < max(ceiling, lowest + 1)
        return chosen.threshold

    assert choose(1 << 40) == lowest
    assert choose(budget) >= choose(2 * budget)
