"""A merge round, stated over Arrow tables: what is distributed is in `pipelines.merge_round`, what it computes is here.

The algorithm and its proof: docs/threshold-rounds.md.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from tokenize_lib import _native
from tokenize_lib.start_alphabet import StartAlphabet
from tokenize_lib.training_options import TrainOptions

MERGES = pa.schema(
    [
        pa.field("left", pa.uint32(), nullable=False),
        pa.field("right", pa.uint32(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("replaced", pa.int64(), nullable=False),
    ]
)
"""Merges as a round makes them. ``count``: of the pair, overlapping places each. ``replaced``: places merged."""

# What a round's driver holds, in bytes; see _kernel/src/train.rs. Each symbol has a slot, its list entry and at most
# two more made by merges, beside the copy it came in; a segment has a barrier slot, a count, an end and a place.
_BYTES_A_SYMBOL = 20
_BYTES_A_SEGMENT = 96
_BYTES_A_PAIR = 128

_SUMMED_BELOW = 0.75  # of the segments being distinct; with more, summing takes longer than what it saves


@dataclasses.dataclass(frozen=True)
class MergeState:
    """All there is to know between two rounds, beside the pretoken table.

    Attributes:
        alphabet: The start alphabet.
        merges: The merges so far, as `MERGES`.
    """

    alphabet: StartAlphabet
    merges: pa.Table

    @classmethod
    def start(cls, alphabet: StartAlphabet) -> "MergeState":
        """The state before the first round."""
        return cls(alphabet, MERGES.empty_table())

    @property
    def options(self) -> TrainOptions:
        """What is trained."""
        return self.alphabet.options

    @property
    def first_merge_id(self) -> int:
        """Id of the token that the first merge made."""
        return self.alphabet.first_id + len(self.alphabet.symbols)

    @property
    def vocab_size(self) -> int:
        """Tokens so far."""
        return self.first_merge_id + self.merges.num_rows

    @property
    def merges_left(self) -> int:
        """How many more merges there is room for."""
        return max(self.options.vocab_size - self.vocab_size, 0)

    def and_then(self, merges: pa.Table) -> "MergeState":
        """The state after one more round."""
        return MergeState(self.alphabet, pa.concat_tables([self.merges, merges]))

    def lengths(self) -> "pa.UInt32Array":
        """The length of every token, in the unit of ``max_token_length``; special tokens have none."""
        return self._grown([length.as_py() for length in self.alphabet.lengths()])

    def widths(self) -> "pa.UInt32Array":
        """How many start symbols each token was merged from."""
        return self._grown([1] * self.first_merge_id)

    def strings(self) -> "pa.LargeBinaryArray":
        """The bytes of every token, marks included."""
        prefix = (self.options.continuing_prefix or "").encode()
        tokens = [*(token.encode() for token in self.options.special_tokens), *self.alphabet.symbols]
        for left, right in self._pairs():
            tokens.append(tokens[left] + tokens[right].removeprefix(prefix))
        return pa.array(tokens, pa.large_binary())

    def _pairs(self) -> Iterable[tuple[int, int]]:
        return zip(self.merges["left"].to_numpy().tolist(), self.merges["right"].to_numpy().tolist(), strict=True)

    def _grown(self, sizes: list[int]) -> "pa.UInt32Array":
        for left, right in self._pairs():
            sizes.append(sizes[left] + sizes[right])
        return pa.array(sizes, pa.uint32())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threshold:
    """What a round was decided to be.

    Attributes:
        threshold: Pairs that count at least this are live.
        best_count: The best pair's count; 0 where no pair is left.
        distinct_pairs: Pairs in the encoded pretoken table.
        live_pairs: Those of them that are live.
        sum_segments: Whether so many segments are equal that it pays to sum them before they are merged.
        estimated_bytes: What the segment table was thought to take in the driver.
    """

    threshold: int
    best_count: int
    distinct_pairs: int
    live_pairs: int
    sum_segments: bool
    estimated_bytes: float

    @property
    def every_pair_is_live(self) -> bool:
        """Whether nothing is to be cut."""
        return self.live_pairs == self.distinct_pairs


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundLimits:
    """What a round's threshold must keep to.

    Attributes:
        budget: Bytes that the round's driver may hold.
        correction: What part of its estimate the table of the round before turned out to be.
        lowest: The smallest threshold there can be: ``min_frequency``.
        ceiling: The threshold must be under this: pairs over it are done or barred.
    """

    budget: int
    correction: float
    lowest: int
    ceiling: int


def choose_threshold(
    sample: _native.ThresholdSample, limits: RoundLimits, *, rows_a_sample: int, distinct_pairs: int
) -> Threshold:
    """Choose the smallest threshold whose segment table fits the budget. The one place where that is decided.

    A wrong choice costs time, never exactness, so sizes are estimated from a sample.

    The budget is memory, and time adds no bound: a lower threshold is a round less, and each round encodes, counts and
    cuts the whole table again, which costs more than short segments save (docs/threshold-rounds.md, "Choosing the
    threshold", has the measurement).

    Args:
        sample: Every `rows_a_sample`-th row of the encoded table, and the counts of all pairs that can be merged.
        limits: What to keep to.
        rows_a_sample: See `sample`.
        distinct_pairs: Pairs of the table, those that cannot be merged too.
    """

    def estimate(threshold: int) -> _Estimate:
        return _Estimate.of(sample, threshold, rows_a_sample, limits.correction)

    low = limits.lowest
    high = max(min(sample.best, limits.ceiling - 1), low)
    estimated = estimate(low)
    if estimated.bytes > limits.budget:
        # Invariant: `low` does not fit; `high` does, or is the highest there is, where few pairs are live.
        while high > low + max(low // 16, 1):
            middle = min(max(math.isqrt(low * high), low + 1), high - 1)
            if estimate(middle).bytes > limits.budget:
                low = middle
            else:
                high = middle
        low = high
        estimated = estimate(low)
    return Threshold(
        threshold=low,
        best_count=sample.best,
        distinct_pairs=distinct_pairs,
        live_pairs=sample.live_pairs(low),
        sum_segments=estimated.distinct_share < _SUMMED_BELOW,
        estimated_bytes=estimated.bytes,
    )


@dataclasses.dataclass(frozen=True)
class _Estimate:
    """The segment table at a threshold: its bytes in the driver, and its rows as a share of the rows not summed."""

    bytes: float
    distinct_share: float

    @classmethod
    def of(cls, sample: _native.ThresholdSample, threshold: int, rows_a_sample: int, correction: float) -> "_Estimate":
        instances, segments, symbols = sample.sizes(threshold)
        distinct = _extrapolated(segments, rows_a_sample)
        size = round_bytes(
            segments=distinct,
            symbols=_extrapolated(symbols, rows_a_sample),
            live_pairs=sample.live_pairs(threshold),
        )
        return cls(size * correction, distinct / (instances * rows_a_sample) if instances else 1.0)


def _extrapolated(sizes: Sequence[int], times: int) -> float:
    """Extrapolate what a quarter, a half and the whole of a sample gave to `times` the sample.

    Distinct things grow as a power of what they are counted in (Heaps' law), and the power itself falls: each doubling
    grows by a smaller one than the doubling before.
    """
    quarter, half, whole = sizes
    if not quarter:
        return float(whole * times)
    before = math.log2(half / quarter)
    power = math.log2(whole / half)
    fall = min(power / before, 1.0) if before else 1.0
    doublings = math.log2(times)
    growth = power * doublings if fall == 1.0 else power * fall * (1 - fall**doublings) / (1 - fall)
    return float(whole * 2.0**growth)


def round_bytes(*, segments: float, symbols: float, live_pairs: float) -> float:
    """What a segment table takes in the driver while it is merged, in bytes."""
    return segments * _BYTES_A_SEGMENT + symbols * _BYTES_A_SYMBOL + live_pairs * _BYTES_A_PAIR


def mergeable(pairs: pa.RecordBatch, options: TrainOptions, lengths: "pa.UInt32Array | None") -> pa.RecordBatch:
    """Those of the counted pairs that may still be merged: frequent enough, and not too long.

    `lengths` of all tokens are needed where the options have a ``max_token_length``.
    """
    keep = pairs["count"].to_numpy() >= options.min_frequency
    if options.max_token_length is not None and lengths is not None:
        length = lengths.to_numpy()
        keep &= length[pairs["left"].to_numpy()] + length[pairs["right"].to_numpy()] <= options.max_token_length
    return pairs.filter(pa.array(keep))


def live_pairs(pairs: Iterable[pa.RecordBatch], threshold: int) -> list[pa.RecordBatch]:
    """Those of the mergeable pairs that count at least `threshold`."""
    return [batch.filter(pa.array(batch["count"].to_numpy() >= threshold)) for batch in pairs]


def make_merges(
    state: MergeState, segments: _native.SegmentList, threshold: int, tick: Callable[[int], object]
) -> pa.Table:
    """Merge a round's segments for as long as the best count reaches the threshold.

    Args:
        state: Before the round.
        segments: All segments of the round; emptied.
        threshold: What they were cut at.
        tick: Told now and then how many merges are made.

    Returns:
        The round's merges, as `MERGES`.
    """
    options = state.options
    # Where two tokens could be written alike: marks may stand in the text too, and so may special tokens, where
    # normalization makes them after they were cut out.
    rewritten = options.pretokenize.normalize != "none" or options.pretokenize.lowercase
    written_alike = (
        options.continuing_prefix is not None
        or options.end_of_word is not None
        or (rewritten and bool(options.special_tokens))
    )
    merges = segments.train(
        threshold=threshold,
        max_merges=state.merges_left,
        first_seen=options.tie_break == "first-seen",
        max_token_length=options.max_token_length,
        lengths=state.lengths(),
        strings=state.strings() if written_alike else None,
        continuing_prefix=(options.continuing_prefix or "").encode(),
        tick=tick,
    )
    return pa.Table.from_batches([merges]).cast(MERGES)


def train(alphabet: StartAlphabet, pretokens: Sequence[pa.RecordBatch]) -> MergeState:
    """Train on a pretoken table that fits in memory, in one round: the round of `pipelines.merge_round`, undistributed.

    Args:
        alphabet: The start alphabet, and what is trained.
        pretokens: Batches of ``schemas.pretokens``.
    """
    state = MergeState.start(alphabet)
    options = state.options
    kernel = alphabet.kernel()
    encoded = [kernel.encode(batch) for batch in pretokens]
    counter = _native.PairCounter()
    for rows in encoded:
        counter.add(rows)
    distinct = counter.distinct
    [pairs] = counter.drain(1)
    live = mergeable(pairs, options, state.lengths())
    segments = _native.SegmentCounter(None if live.num_rows == distinct else [live], sums=False)
    widths = state.widths() if options.tie_break == "first-seen" else None
    for rows in encoded:
        segments.add(rows, widths)
    table = _native.SegmentList()
    for rows in segments.drain(1):
        table.add(rows)
    return state.and_then(make_merges(state, table, options.min_frequency, lambda _: None))
