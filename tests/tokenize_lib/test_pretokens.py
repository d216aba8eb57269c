import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.pretokens import PRETOKENS
from tests.oracles import pretokens as oracle
from tests.tokenize_lib.texts import texts
from tokenize_lib._native import PretokenCounter, Pretokenizer, merge_sorted
from tokenize_lib.errors import InputError
from tokenize_lib.pretokens import count_pretokens, large_binary_chunks
from tokenize_lib.training_options import PretokenizeOptions

SPECS = ["gpt2", "o200k", "whitespace", "none"]
Counts = dict[bytes, int]


def large_binary(documents: list[str]) -> pa.Array:
    return pa.array([document.encode() for document in documents], pa.large_binary())


def table_of(counts: Counts) -> pa.RecordBatch:
    rows = sorted(counts.items())
    return pa.record_batch(
        {
            "pretoken": pa.array([pretoken for pretoken, _ in rows], pa.large_binary()),
            "count": pa.array([count for _, count in rows], pa.int64()),
        }
    )


def counts_of(table: pa.RecordBatch | pa.Table) -> Counts:
    return dict(zip(table["pretoken"].to_pylist(), table["count"].to_pylist(), strict=True))


REPEATED = ["a", " b", " ab", "\n", "x" * 15, "x" * 16, " \0", "é"]
documents_of_repeats = st.lists(st.lists(st.sampled_from(REPEATED), max_size=40).map("".join))


@pytest.mark.parametrize("spec", SPECS)
@given(documents=st.one_of(st.lists(texts, max_size=6), documents_of_repeats))
def test_counts_are_a_dictionarys(spec: str, documents: list[str]) -> None:
    options = PretokenizeOptions(pretokenizer=spec)
    expected = oracle.count(documents, options)
    table = count_pretokens(pa.array(documents, pa.string()), options)
    assert counts_of(table) == expected
    assert table["pretoken"].to_pylist() == sorted(expected)
    assert table.schema.equals(PRETOKENS, check_metadata=True)


@pytest.mark.parametrize("spec", ["gpt2", "none"])
def test_counts_of_many_distinct_pretokens_short_and_long(spec: str) -> None:
    documents = [f"{number:x}" * (1 + number % 5) for number in range(50_000)] * 2
    options = PretokenizeOptions(pretokenizer=spec)
    assert counts_of(count_pretokens(pa.array(documents), options)) == oracle.count(documents, options)


@given(st.lists(st.tuples(st.integers(0, 2**24 - 1), st.integers(-1, 3), texts), max_size=6), st.integers(1, 7))
def test_first_occurrences_and_partitions(documents: list[tuple[int, int, str]], partitions: int) -> None:
    options = PretokenizeOptions(pretokenizer="o200k")
    counter = PretokenCounter(Pretokenizer("o200k"), first_seen=True)
    for source, position, text in documents:
        counter.add(large_binary([text]), source, pa.array([position], pa.int64()))
    counts = oracle.count([text for *_, text in documents], options)
    assert counter.distinct == len(counts)
    places = oracle.first_seen([(source, position % 2**64, text) for source, position, text in documents], options)
    batches = counter.drain(partitions)
    assert counter.distinct == 0
    assert len(batches) == partitions
    found: dict[bytes, tuple[int, tuple[int, int, int]]] = {}
    for batch in batches:
        assert batch["pretoken"].to_pylist() == sorted(batch["pretoken"].to_pylist())
        for row in batch.to_pylist():
            place = int.from_bytes(row["first_seen"])
            first_seen = (place >> 104, (place >> 40) % 2**64, place % 2**40)
            found[row["pretoken"]] = (row["count"], first_seen)
    assert found == {pretoken: (count, places[pretoken]) for pretoken, count in counts.items()}


def test_the_partition_of_a_pretoken_never_changes() -> None:
    counter = PretokenCounter(Pretokenizer("whitespace"), first_seen=False)
    counter.add(large_binary(["a abc the cat sat on " + "ភាសា" * 80]))
    partitions = [sorted(batch["pretoken"].to_pylist()) for batch in counter.drain(4)]
    assert partitions == [[b"abc"], [b"the"], [b"cat"], [b"a", b"on", b"sat", "ភាសា".encode() * 80]]


def test_an_add_says_how_many_pretokens_there_were_and_a_drained_counter_starts_empty() -> None:
    counter = PretokenCounter(Pretokenizer("gpt2"), first_seen=False)
    assert counter.add(large_binary(["a a a", "", "b"])) == 4
    assert counts_of(counter.drain(1)[0]) == {b"a": 1, b" a": 2, b"b": 1}
    assert counter.add(large_binary(["a"])) == 1
    assert counts_of(counter.drain(1)[0]) == {b"a": 1}


def test_nbytes_grows_with_the_table_and_falls_when_it_is_drained() -> None:
    counter = PretokenCounter(Pretokenizer("none"), first_seen=False)
    empty = counter.nbytes
    counter.add(large_binary([f"{number} and a long tail" for number in range(10_000)]))
    assert counter.nbytes > empty + 10_000 * (32 + 20)
    counter.drain(1)
    assert counter.nbytes == empty


def test_first_occurrences_need_positions() -> None:
    counter = PretokenCounter(Pretokenizer("gpt2"), first_seen=True)
    with pytest.raises(ValueError, match="each text needs its position"):
        counter.add(large_binary(["a"]))
    with pytest.raises(ValueError, match=r"source 16777216: at most 2\^24 input files"):
        counter.add(large_binary(["a"]), 2**24, pa.array([0], pa.int64()))


TEXT_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_binary()),
]


@pytest.mark.parametrize("text_type", TEXT_TYPES, ids=str)
def test_every_text_type_counts_the_same(text_type: pa.DataType) -> None:
    plain = pa.array(["ភាសា ខ្មែរ", "", "ភាសា ខ្មែរ", "a b"])
    if pa.types.is_dictionary(text_type):
        encoded = plain.dictionary_encode()
        typed = pa.DictionaryArray.from_arrays(
            encoded.indices.cast(text_type.index_type), encoded.dictionary.cast(text_type.value_type)
        )
    else:
        typed = plain.cast(text_type)
    chunked = pa.chunked_array([typed, typed.slice(1, 2)])
    table = count_pretokens(chunked, PretokenizeOptions(pretokenizer="whitespace"))
    assert counts_of(table) == {"ភាសា".encode(): 3, "ខ្មែរ".encode(): 3, b"a": 1, b"b": 1}


def test_a_dictionary_decodes_past_two_gigabytes() -> None:
    indices = pa.array([0] * 2200, pa.int32())
    texts_of_a_megabyte = pa.DictionaryArray.from_arrays(indices, pa.array(["^" * 1_000_000]))
    [chunk] = large_binary_chunks(texts_of_a_megabyte)
    assert chunk.type == pa.large_binary()
    assert len(chunk) == 2200
    assert counts_of(count_pretokens(chunk.slice(0, 3))) == {b"^" * 1_000_000: 3}


@pytest.mark.parametrize("texts_with_null", [pa.array(["a", None]), pa.chunked_array([["a"], [None]], pa.string())])
def test_a_null_is_an_error_that_names_the_row(texts_with_null: pa.Array) -> None:
    with pytest.raises(InputError, match="text 1 is null: drop nulls or fill them with empty texts"):
        count_pretokens(texts_with_null)


def test_numbers_are_no_texts() -> None:
    with pytest.raises(InputError, match="the texts are of type int64: give strings"):
        count_pretokens(pa.array([1]))


def test_bytes_that_are_not_utf8_are_an_error() -> None:
    with pytest.raises(InputError, match="chunk of texts that begins at 1: text 1 of the array is not UTF-8"):
        count_pretokens(pa.chunked_array([[b"a"], [b"b", b"\xff"]], pa.binary()))


tables = st.dictionaries(
    st.one_of(st.binary(max_size=3), st.sampled_from([b"prefixed", b"prefixed\0", b"prefixed\0\0"])), st.integers(0, 99)
)


@given(st.lists(st.tuples(tables, st.integers(1, 4)), max_size=5))
@settings(max_examples=300)
def test_sorted_runs_merge_batch_by_batch_into_their_sum(runs: list[tuple[Counts, int]]) -> None:
    expected: Counts = {}
    for counts, _ in runs:
        for pretoken, count in counts.items():
            expected[pretoken] = expected.get(pretoken, 0) + count
    rest = [table_of(counts) for counts, _ in runs]
    sizes = [size for _, size in runs]
    merged: list[tuple[bytes, int]] = []
    while any(table.num_rows for table in rest):
        heads = [table.slice(0, size) for table, size in zip(rest, sizes, strict=True)]
        last = [table.num_rows <= size for table, size in zip(rest, sizes, strict=True)]
        rows, consumed = merge_sorted(heads, last)
        merged += zip(rows["pretoken"].to_pylist(), rows["count"].to_pylist(), strict=True)
        assert any(consumed)
        rest = [table.slice(used) for table, used in zip(rest, consumed, strict=True)]
    assert merged == sorted(expected.items())


def test_a_merge_waits_for_the_run_whose_batch_is_empty() -> None:
    rows, consumed = merge_sorted([table_of({}), table_of({b"a": 1})], [False, True])
    assert (rows.num_rows, consumed) == (0, [0, 0])


def test_merging_keeps_the_earliest_place() -> None:
    counter = PretokenCounter(Pretokenizer("none"), first_seen=True)
    heads = []
    for position in (7, 5, 9):
        counter.add(large_binary(["x"]), 1, pa.array([position], pa.int64()))
        heads += counter.drain(1)
    rows, _ = merge_sorted(heads, [True] * 3)
    assert rows.to_pylist() == [{"pretoken": b"x", "count": 3, "first_seen": (1 << 104 | 5 << 40).to_bytes(16)}]


@pytest.mark.parametrize("count", [2**31, 2**32, 2**62])
def test_sums_stay_right_past_32_bits(count: int) -> None:
    rows, _ = merge_sorted([table_of({b"q": count}), table_of({b"q": count - 1})], [True, True])
    assert counts_of(rows) == {b"q": 2 * count - 1}


def test_a_sum_past_63_bits_is_an_error() -> None:
    with pytest.raises(OverflowError, match=r"a count of a pretoken passed 2\^63 - 1"):
        merge_sorted([table_of({b"q": 2**62}), table_of({b"q": 2**62})], [True, True])


def test_runs_that_are_no_sorted_tables_are_errors() -> None:
    table = table_of({b"a": 1, b"b": 2})
    with pytest.raises(ValueError, match="run 0 is not sorted: row 1 is not after row 0"):
        merge_sorted([table.take([1, 0])], [True])
    with pytest.raises(ValueError, match="run 0 is not sorted"):
        merge_sorted([table.take([0, 0])], [True])
    with pytest.raises(TypeError, match="expected a pretoken table"):
        merge_sorted([table.rename_columns(["text", "count"])], [True])
    with pytest.raises(ValueError, match="1 batches but 0 flags"):
        merge_sorted([table], [])
    assert merge_sorted([], [])[1] == []


@pytest.mark.parametrize("spec", ["gpt2", "cl100k", "o200k"])
@pytest.mark.parametrize("before", ["", "a ", "A", " ", "1", "x'lL"])
def test_contractions_in_any_place_of_a_long_text(spec: str, before: str) -> None:
    """The fast path classes 64 bytes at once, and short texts do not take it: `'lL` was cut before its capital."""
    options = PretokenizeOptions(pretokenizer=spec)
    endings = ["s", "t", "m", "d", "ll", "ve", "re"]
    cases = {"".join(letters) for end in endings for letters in itertools.product(*((c, c.upper()) for c in end))}
    documents = [
        f"{before}{'x' * length}'{end}{after}{'x' * 40}"
        for length in range(70)
        for end in sorted(cases | {"ſ", "'ll", "q"})
        for after in ("", "X", " ", "'LL")
    ]
    assert counts_of(count_pretokens(pa.array(documents), options)) == oracle.count(documents, options)
