"""The oracle itself: against the lessons' figures, worked examples, and Hugging Face's trainer."""

import json
from collections import Counter

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.oracles import bpe, lessons
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

LESSON = TrainOptions(vocab_size=100, alphabet="characters", tie_break="first-seen")

ENGLISH = (
    "The quick brown fox jumps over the lazy dog. The dog, being lazy, doesn't jump: it'll sleep until 10:45 or 11.",
    "She sells sea shells by the sea shore; the shells she sells are sea shells, I'm sure — aren't they?",
    "aaaa aaa aa a aaaaa abababab babab  zzz\n\n\tzzzz",
)
MIXED = (
    *ENGLISH,
    "Hôm nay trời đẹp, hôm nay trời mưa; ngày mai trời lại đẹp.",
    "ថ្ងៃនេះ អាកាសធាតុល្អ ថ្ងៃស្អែក អាកាសធាតុល្អ",
    "今天天气很好,明天天气也很好。😀😀",
)


def merged(model: bpe.Model) -> list[tuple[bytes, bytes, int]]:
    return [(model.tokens[merge.left], model.tokens[merge.right], merge.count) for merge in model.merges]


def hf_merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def hf_pretokens(tokenizer: Tokenizer, texts: tuple[str, ...]) -> list[tuple[str, int]]:
    pieces = (piece for text in texts for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
    return list(Counter(pieces).items())


def test_khmer_lesson() -> None:
    pretokens = [("low", 1), (" lower", 1), (" lowest", 1)]
    model = bpe.train(pretokens, LESSON)
    assert merged(model) == lessons.KHMER_MERGES
    assert [bpe.corpus_tokens(pretokens, model, merges) for merges in range(5)] == lessons.KHMER_TOKENS
    assert [bpe.pieces(text, model) for text, _ in pretokens] == [
        [b"low"],
        [b" lowe", b"r"],
        [b" lowe", b"s", b"t"],
    ]


def test_khmer_lesson_by_hand() -> None:
    options = TrainOptions(vocab_size=3 + 3, alphabet="characters", tie_break="first-seen")
    model = bpe.train([("aa", 1), (" aab", 2)], options)
    assert merged(model) == lessons.KHMER_BY_HAND_MERGES


def test_sennrich_lesson() -> None:
    assert lessons.SENNRICH_OPTIONS.end_of_word_mark == "separate"
    model = bpe.train(list(lessons.SENNRICH_WORDS.items()), lessons.SENNRICH_OPTIONS)
    assert merged(model) == lessons.SENNRICH_MERGES


def test_overlapping_places_count_each() -> None:
    model = bpe.train([("aaa", 10), ("ab", 15)], TrainOptions(vocab_size=257))
    assert merged(model) == [(b"a", b"a", 20)]


@pytest.mark.parametrize("pretokens", [[("ab", 5), ("cd", 5)], [("cd", 5), ("ab", 5)]])
def test_ties_by_ids_do_not_know_the_order(pretokens: list[tuple[str, int]]) -> None:
    assert merged(bpe.train(pretokens, TrainOptions(vocab_size=300))) == [(b"a", b"b", 5), (b"c", b"d", 5)]
    first_seen = bpe.train(pretokens, TrainOptions(vocab_size=300, tie_break="first-seen"))
    assert [left + right for left, right, _ in merged(first_seen)] == [text.encode() for text, _ in pretokens]


def test_counts_past_32_bits() -> None:
    model = bpe.train([("q" * 8_000, 300_000), ("qz", 2**33)], TrainOptions(vocab_size=258))
    assert merged(model) == [(b"q", b"z", 2**33), (b"q", b"q", 2_399_700_000)]


def test_max_token_length_bars_only_what_is_longer() -> None:
    model = bpe.train([("aaaaaaaa", 10)], TrainOptions(vocab_size=300, max_token_length=3))
    assert merged(model) == [(b"a", b"a", 70)]
    model = bpe.train([("abcabc", 10)], TrainOptions(vocab_size=300, max_token_length=3))
    assert merged(model) == [(b"a", b"b", 20), (b"ab", b"c", 20)]


def test_a_separate_mark_has_no_length() -> None:
    options = TrainOptions(
        vocab_size=300, alphabet="characters", end_of_word="</w>", end_of_word_mark="separate", max_token_length=2
    )
    assert merged(bpe.train([("ab", 3)], options)) == [(b"a", b"b", 3), (b"ab", b"</w>", 3)]


def test_characters_outside_the_coverage_are_a_barrier() -> None:
    options = TrainOptions(vocab_size=300, alphabet="characters", unk_token="[UNK]", character_coverage=0.9)
    model = bpe.train([("ab", 9), ("azb", 1)], options)
    assert model.tokens == (b"[UNK]", b"a", b"b", b"ab")
    assert bpe.encode("azb", model) == [1, bpe.BARRIER, 2]
    assert bpe.pieces("azb", model) == [b"a", b"[UNK]", b"b"]


def test_marked_characters_follow_the_plain_ones() -> None:
    options = TrainOptions(vocab_size=1000, alphabet="characters", continuing_prefix="##", min_frequency=2)
    model = bpe.train([("token", 2), ("ken", 2)], options)
    assert model.tokens[: model.alphabet_size] == tuple(b"e k n o t ##e ##k ##n ##o".split())
    assert model.tokens[model.alphabet_size :] == (b"##en", b"ken", b"to", b"##ken", b"token")


def test_a_string_is_given_one_id_only() -> None:
    options = TrainOptions(vocab_size=1000, alphabet="characters", end_of_word="e", end_of_word_mark="attached")
    model = bpe.train([("d", 2), ("dex", 5)], options)
    assert model.tokens[:6] == (b"d", b"e", b"x", b"de", b"xe", b"exe")  # (d, e) would be a second "de"
    assert merged(model) == [(b"e", b"xe", 5), (b"d", b"exe", 5)]


def test_special_tokens_come_first() -> None:
    options = TrainOptions(vocab_size=259, pretokenize=PretokenizeOptions(special_tokens=("<s>", "</s>")))
    model = bpe.train([("ab", 2)], options)
    assert model.tokens[:3] == (b"<s>", b"</s>", b"!")
    assert len(model.tokens) == 259
    assert model.tokens[-1] == b"ab"


@pytest.mark.parametrize("vocab_size", [257, 300, 400, 2_000])
@pytest.mark.parametrize("min_frequency", [1, 2, 3])
def test_bytes_equal_hugging_face(vocab_size: int, min_frequency: int) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(MIXED, trainer)
    bytes_of = {bpe.gpt2_character(byte): byte for byte in range(256)}
    pretokens = [
        (bytes(bytes_of[character] for character in text), count) for text, count in hf_pretokens(tokenizer, MIXED)
    ]
    model = bpe.train(pretokens, TrainOptions(vocab_size=vocab_size, min_frequency=min_frequency))
    strings = ["".join(map(bpe.gpt2_character, token)) for token in model.tokens]
    assert [(strings[merge.left], strings[merge.right]) for merge in model.merges] == hf_merges(tokenizer)
    assert {string: place for place, string in enumerate(strings)} == tokenizer.get_vocab()
    for text, _ in pretokens:
        mapped = "".join(map(bpe.gpt2_character, text))
        assert bpe.encode(text, model) == [token.id for token in tokenizer.model.tokenize(mapped)]


@pytest.mark.parametrize("vocab_size", [60, 120, 2_000])
def test_characters_equal_hugging_face(vocab_size: int) -> None:
    specials = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=2, special_tokens=list(specials), show_progress=False
    )
    tokenizer.train_from_iterator(MIXED, trainer)
    options = TrainOptions(
        vocab_size=vocab_size,
        alphabet="characters",
        unk_token="[UNK]",
        pretokenize=PretokenizeOptions(special_tokens=specials),
    )
    model = bpe.train(hf_pretokens(tokenizer, MIXED), options)
    assert [(left.decode(), right.decode()) for left, right, _ in merged(model)] == hf_merges(tokenizer)
    assert {token.decode(): place for place, token in enumerate(model.tokens)} == tokenizer.get_vocab()


@pytest.mark.parametrize(
    ("marks", "hf_marks", "words"),
    [
        (
            {"end_of_word": "</w>", "end_of_word_mark": "attached"},
            {"end_of_word_suffix": "</w>"},
            {"ab": 100, "cab": 50, "dcab": 20, "xy": 300, "abxy": 7, "abz": 3},
        ),
        (
            {"continuing_prefix": "##"},
            {"continuing_subword_prefix": "##"},
            {"ab": 100, "abc": 50, "abcd": 20, "xy": 300, "xyab": 7, "yab": 3},
        ),
    ],
    ids=["end_of_word", "continuing_prefix"],
)
def test_marks_equal_hugging_face_where_nothing_ties(
    marks: dict[str, str], hf_marks: dict[str, str], words: dict[str, int]
) -> None:
    model = bpe.train(list(words.items()), TrainOptions(vocab_size=1000, alphabet="characters", **marks))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=1000, min_frequency=2, show_progress=False, **hf_marks)
    tokenizer.train_from_iterator((f"{word} " * count for word, count in words.items()), trainer)
    assert [(left.decode(), right.decode()) for left, right, _ in merged(model)] == hf_merges(tokenizer)
    assert {token.decode() for token in model.tokens} == set(tokenizer.get_vocab())
