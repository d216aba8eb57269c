"""Rounds, at any thresholds, make the merges that the naive trainer makes."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import bpe
from tokenize_lib import _native
from tokenize_lib.merge_rounds import MergeState, live_pairs, make_merges, mergeable, train
from tokenize_lib.start_alphabet import StartAlphabet, byte_alphabet, character_alphabet, form_rule
from tokenize_lib.training_options import TrainOptions

Pretokens = Sequence[tuple[str, int]]

MAX_COUNT = 2**63 - 1


def table_of(pretokens: Pretokens, options: TrainOptions) -> pa.RecordBatch:
    columns = {
        "pretoken": pa.array([text.encode() for text, _ in pretokens], pa.large_binary()),
        "count": pa.array([count for _, count in pretokens], pa.int64()),
    }
    if options.tie_break == "first-seen":
        places = [(place << 40).to_bytes(16) for place in range(len(pretokens))]
        columns["first_seen"] = pa.array(places, pa.binary(16))
    return pa.RecordBatch.from_pydict(columns)


def alphabet_of(table: pa.RecordBatch, options: TrainOptions) -> StartAlphabet:
    if options.alphabet == "bytes":
        return byte_alphabet(options)
    forms = _native.character_forms(table, **form_rule(options))
    return character_alphabet(options, pa.Table.from_batches([forms]))


def train_in_rounds(
    table: pa.RecordBatch, options: TrainOptions, thresholds: Callable[[int, int], int], shards: int = 1
) -> MergeState:
    """The rounds of the pipeline without the pipeline: the threshold of each is whatever `thresholds` says."""
    state = MergeState.start(alphabet_of(table, options))
    rows_of_shards = [
        state.alphabet.kernel().encode(table.take(pa.array(range(shard, table.num_rows, shards), pa.int64())))
        for shard in range(shards)
    ]
    ceiling = MAX_COUNT
    first_new = 0
    while state.merges_left:
        merges = state.merges.slice(first_new)
        first_new = state.merges.num_rows
        apply = _native.Merges(batch_of(merges), state.vocab_size - merges.num_rows)
        rows_of_shards = [apply.apply(rows, drop_single=True) for rows in rows_of_shards]
        counter = _native.PairCounter()
        for rows in rows_of_shards:
            counter.add(rows)
        pairs = [mergeable(batch, options, state.lengths()) for batch in counter.drain(3)]
        best = max((max(batch["count"].to_pylist(), default=0) for batch in pairs), default=0)
        high = min(best, ceiling - 1)
        threshold = thresholds(options.min_frequency, high) if high > options.min_frequency else options.min_frequency
        segments = _native.SegmentList()
        for rows in rows_of_shards:
            cut = _native.SegmentCounter(live_pairs(pairs, threshold))
            cut.add(rows, state.widths())
            for batch in cut.drain(2):
                segments.add(batch)
        state = state.and_then(make_merges(state, segments, threshold, lambda _: None))
        if threshold == options.min_frequency:
            break
        ceiling = threshold
    return state


def batch_of(merges: pa.Table) -> pa.RecordBatch:
    merges = merges.combine_chunks()
    return pa.RecordBatch.from_arrays(
        [merges[name].combine_chunks() for name in merges.column_names], merges.column_names
    )


def made(state: MergeState) -> list[tuple[int, ...]]:
    names = ("left", "right", "count", "replaced")
    return list(zip(*(state.merges[name].to_pylist() for name in names), strict=True))


def expected(pretokens: Pretokens, options: TrainOptions) -> list[tuple[int, ...]]:
    return [(merge.left, merge.right, merge.count, merge.replaced) for merge in bpe.train(pretokens, options).merges]


@st.composite
def options(draw: st.DrawFn) -> TrainOptions:
    alphabet = draw(st.sampled_from(["bytes", "characters"]))
    marks = draw(
        st.sampled_from(
            [{}]
            if alphabet == "bytes"
            else [
                {},
                {"continuing_prefix": "##"},
                {"continuing_prefix": "b"},
                {"end_of_word": "</w>", "end_of_word_mark": "attached"},
                {"end_of_word": "</w>", "end_of_word_mark": "separate"},
                {"end_of_word": "b", "end_of_word_mark": "separate"},
                {"end_of_word": "b", "end_of_word_mark": "attached"},
                {"unk_token": "[UNK]", "character_coverage": 0.8},
            ]
        )
    )
    return TrainOptions(
        alphabet=alphabet,
        vocab_size=draw(st.integers(257, 300)) if alphabet == "bytes" else draw(st.integers(2, 40)),
        min_frequency=draw(st.integers(1, 4)),
        max_token_length=draw(st.none() | st.integers(1, 6)),
        tie_break=draw(st.sampled_from(["ids", "first-seen"])),
        **marks,
    )


corpora = st.dictionaries(st.text("abcd", min_size=1, max_size=14), st.integers(1, 20), min_size=1, max_size=12).map(
    lambda counts: list(counts.items())
)


@given(pretokens=corpora, options=options())
def test_one_round_equals_the_naive_trainer(pretokens: Pretokens, options: TrainOptions) -> None:
    table = table_of(pretokens, options)
    assert made(train(alphabet_of(table, options), [table])) == expected(pretokens, options)


@given(pretokens=corpora, options=options(), data=st.data(), shards=st.integers(1, 3))
def test_any_rounds_equal_the_naive_trainer(
    pretokens: Pretokens, options: TrainOptions, data: st.DataObject, shards: int
) -> None:
    def threshold(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    state = train_in_rounds(table_of(pretokens, options), options, threshold, shards)
    assert made(state) == expected(pretokens, options)
