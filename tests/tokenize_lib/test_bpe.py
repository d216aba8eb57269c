"""Training on tables in memory: the lessons' figures, counts past 32 bits, long pretokens."""

import pyarrow as pa
import pytest
from tokenizers import Tokenizer

from schemas.pretokens import PRETOKENS
from tests.oracles import lessons
from tokenize_lib import Encoder, PretokenizeOptions, TrainOptions, Vocabulary, count_pretokens, train
from tokenize_lib.formats import tokenizer_json


def table(counts: dict[str, int]) -> pa.Table:
    columns = [pa.array([text.encode() for text in counts], pa.large_binary()), pa.array(counts.values(), pa.int64())]
    return pa.Table.from_arrays(columns, schema=PRETOKENS)


def first_seen_table(counts: dict[str, int]) -> pa.Table:
    """The words in the order given."""
    places = pa.array([(place << 40).to_bytes(16) for place in range(len(counts))], pa.binary(16))
    return table(counts).append_column("first_seen", places)


def merged(vocabulary: Vocabulary) -> list[tuple[bytes, bytes, int]]:
    rows = vocabulary.merges_table().to_pylist()
    return [(row["left"], row["right"], row["pair_count"]) for row in rows]


def test_khmer_lesson() -> None:
    """Characters, ties by first place, chunks with their space before them; a pair seen once is not merged."""
    options = TrainOptions(
        vocab_size=8 + 10,
        alphabet="characters",
        tie_break="first-seen",
        pretokenize=PretokenizeOptions(pretokenizer="space-prefixed"),
    )
    text = "low lower lowest"
    vocabulary = train(count_pretokens(pa.array([text]), options.pretokenize, first_seen=True), options)
    assert merged(vocabulary) == lessons.KHMER_MERGES
    tokens = [len(text)]
    for replaced in vocabulary.merges_table()["replaced"].to_pylist():
        tokens.append(tokens[-1] - replaced)
    assert tokens == lessons.KHMER_TOKENS
    encoder = Encoder(vocabulary)
    pieces = [vocabulary.tokens[place].decode() for place in encoder.encode(text)]
    assert pieces == ["low", " lowe", "r", " lowe", "s", "t"]
    assert encoder.decode(encoder.encode(text)) == text.encode()


def test_khmer_lesson_by_hand() -> None:
    options = TrainOptions(
        vocab_size=3 + 3,
        alphabet="characters",
        tie_break="first-seen",
        pretokenize=PretokenizeOptions(pretokenizer="space-prefixed"),
    )
    vocabulary = train(count_pretokens(pa.array(["aa aab aab"]), options.pretokenize, first_seen=True), options)
    assert merged(vocabulary) == lessons.KHMER_BY_HAND_MERGES


@pytest.mark.parametrize("text", ["  two  spaces", "unseen words", "😀", "កាហ្វេ", "a\tb\n", ""])
def test_decoding_gives_the_text_back(text: str) -> None:
    options = TrainOptions(vocab_size=300, pretokenize=PretokenizeOptions(pretokenizer="space-prefixed"))
    encoder = Encoder(train(count_pretokens(pa.array(["two spaces and two words"] * 3), options.pretokenize), options))
    assert encoder.decode(encoder.encode(text)).decode() == text


def test_sennrich_lesson() -> None:
    pretokens = first_seen_table(lessons.SENNRICH_WORDS)
    assert merged(train(pretokens, lessons.SENNRICH_OPTIONS)) == lessons.SENNRICH_MERGES


def test_counts_past_32_bits() -> None:
    """Hugging Face counts pairs in 32 bits, and takes (q, z) first."""
    vocabulary = train(table({"q" * 8000 + "zk": 300_000}), TrainOptions(vocab_size=257))
    assert merged(vocabulary) == [(b"q", b"q", 2_399_700_000)]
    past_32_bits = train(table({"ab": 2**32 + 5, "bc": 2**32 + 6}), TrainOptions(vocab_size=257))
    assert merged(past_32_bits) == [(b"b", b"c", 2**32 + 6)]


@pytest.mark.parametrize("counts", [{"ab": 2**63 - 1, "abc": 1}, {"abab": 2**62}])
def test_a_count_past_64_bits_is_an_error(counts: dict[str, int]) -> None:
    with pytest.raises(OverflowError, match="a count of a pair passed 2\\^63 - 1"):
        train(table(counts), TrainOptions(vocab_size=257))


@pytest.mark.parametrize("words", [["ab", "cd"], ["cd", "ab"]])
def test_ties_by_ids_do_not_know_the_order(words: list[str]) -> None:
    vocabulary = train(table(dict.fromkeys(words, 5)), TrainOptions(vocab_size=258))
    assert merged(vocabulary) == [(b"a", b"b", 5), (b"c", b"d", 5)]


def test_overlapping_places_count_each() -> None:
    vocabulary = train(table({"aaa": 10, "ab": 15}), TrainOptions(vocab_size=257))
    assert merged(vocabulary) == [(b"a", b"a", 20)]
    assert vocabulary.merges_table()["replaced"].to_pylist() == [10]


@pytest.mark.parametrize("length", range(1, 18))
def test_runs_of_one_letter(length: int) -> None:
    vocabulary = train(table({"a" * length: 3}), TrainOptions(vocab_size=300))
    hugging_face = Tokenizer.from_str(tokenizer_json.render(vocabulary))
    for count in range(1, 40):
        text = "a" * count
        assert Encoder(vocabulary).encode(text) == hugging_face.encode(text).ids


@pytest.mark.parametrize("text", ["^" * 1_000_000, " " * 1_000_000 + "x", "កម្ពុជា" * 30_000, "ab" * 500_000])
@pytest.mark.parametrize("pretokenizer", ["none", "gpt2"])
def test_a_long_pretoken_is_trained_on_and_encoded(text: str, pretokenizer: str) -> None:
    """Minutes or a crash where time is quadratic."""
    options = TrainOptions(vocab_size=280, pretokenize=PretokenizeOptions(pretokenizer=pretokenizer))
    vocabulary = train(count_pretokens(pa.array([text] * 2), options.pretokenize), options)
    encoder = Encoder(vocabulary)
    ids = encoder.encode(text)
    assert encoder.decode(ids).decode() == text
    assert len(ids) < len(text.encode()) / 3


def test_ties_by_first_place_need_first_places() -> None:
    with pytest.raises(ValueError, match="first_seen=True"):
        train(table({"ab": 2}), TrainOptions(tie_break="first-seen"))
