"""Counting and encoding in the kernel, against the naive twin, tiktoken and Hugging Face."""

import threading
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.oracles import byte_pairs
from tests.oracles import pretokenizers as pretokenizer_oracle
from tests.tokenize_lib.texts import ascii_texts, texts
from tokenize_lib._native import BytePairModel, Pretokenizer, SpecialTokens, text_sizes
from tokenize_lib.pretokenizers import PRETOKENIZERS
from tokenize_lib.training_options import PretokenizeOptions

STRINGS = ["in", "th", "he", "the", " the", " t", "ll", "l", "'ll", "I'", "I'll", "  ", "    ", "\n\n", "\t_", "_p",
           "aa", "ab", "ba", "aab", "aaaa", "bab", "abab", "bb", "aaa", "ភា", "សា", "\xc3", "é", "中", "Việt", "xx",
           "xxxx", "00", "000", " a", "ab ab", "nothing leads here"]  # fmt: skip
EVERY_BYTE = [bytes([byte]) for byte in range(255, -1, -1)]


def tokens_of(strings: Sequence[str]) -> list[bytes]:
    """Tokens in the order of their ids: every byte, the parts of the characters beyond ASCII, then the strings."""
    tokens = [*EVERY_BYTE]
    for string in strings:
        data = string.encode()
        parts = [data[:length] for length in range(2, len(data)) if data[0] > 0x7F]
        tokens += [token for token in [*parts, data] if token not in tokens]
    return tokens


TOKENS = tokens_of(STRINGS)
RANKS = {token: rank for rank, token in enumerate(TOKENS)}
BYTE_IDS = [RANKS[bytes([byte])] for byte in range(256)]
SPECIALS = {"<|end|>": 900, "<|end|>s": 901, "\n\n\n": 902}


def large_binary(documents: Sequence[str | bytes | None]) -> pa.Array:
    return pa.array([text.encode() if isinstance(text, str) else text for text in documents], pa.large_binary())


def ranks_model(tokens: Sequence[bytes | None] = TOKENS) -> BytePairModel:
    ids = pa.array([tokens.index(bytes([byte])) for byte in range(256)], pa.uint32())
    return BytePairModel(pa.array(tokens, pa.large_binary()), None, byte_ids=ids, whole_pretokens=True)


def merges_batch(merges: Sequence[byte_pairs.Merge]) -> pa.RecordBatch:
    columns = list(zip(*merges, strict=True)) or [(), (), ()]
    return pa.record_batch([pa.array(column, pa.uint32()) for column in columns], names=["left", "right", "new"])


MODEL = ranks_model()


@given(documents=st.lists(texts | ascii_texts | st.text("ab", max_size=200)), name=st.sampled_from(["o200k", "cl100k"]))
def test_equals_the_naive_twin(documents: list[str], name: str) -> None:
    options = PretokenizeOptions(pretokenizer=name)
    expected = [
        [
            token
            for pretoken in pretokenizer_oracle.split(document, options)
            for token in byte_pairs.encode_by_ranks(pretoken.encode(), RANKS)
        ]
        for document in documents
    ]
    encoded = MODEL.encode(Pretokenizer(name), large_binary(documents))
    assert encoded.type == pa.large_list(pa.uint32())
    assert encoded.to_pylist() == expected
    counts = MODEL.count(Pretokenizer(name), large_binary(documents))
    assert counts.type == pa.int64()
    assert counts.to_pylist() == [len(ids) for ids in expected]


@given(text=texts | ascii_texts)
def test_equals_tiktoken(text: str) -> None:
    pattern = PRETOKENIZERS["o200k"].pattern
    assert pattern is not None
    encoding = Encoding("small", pat_str=pattern, mergeable_ranks=RANKS, special_tokens=SPECIALS)
    pretokenizer = Pretokenizer("o200k")
    assert MODEL.encode(pretokenizer, large_binary([text])).to_pylist() == [encoding.encode_ordinary(text)]
    special = SpecialTokens(list(SPECIALS), list(SPECIALS.values()))
    for document in (text, f"{text}<|end|>{text}", "<|end|>\n\n\n\n"):
        expected = encoding.encode(document, allowed_special="all")
        assert MODEL.encode(pretokenizer, large_binary([document]), special).to_pylist() == [expected]
        assert MODEL.count(pretokenizer, large_binary([document]), special).to_pylist() == [len(expected)]


def test_special_tokens_are_leftmost_then_longest() -> None:
    special = SpecialTokens(list(SPECIALS), list(SPECIALS.values()))
    text = large_binary(["a<|end|>s\n\n\nb"])
    expected = [[RANKS[b"a"], 901, 902, RANKS[b"b"]]]
    assert MODEL.encode(Pretokenizer("o200k"), text, special).to_pylist() == expected
    assert MODEL.count(Pretokenizer("o200k"), text, special).to_pylist() == [4]
    with pytest.raises(ValueError, match="2 special tokens have 1 ids"):
        SpecialTokens(["a", "b"], [1])
    with pytest.raises(ValueError, match="a special token is empty"):
        SpecialTokens([""], [1])


@st.composite
def merge_lists(draw: st.DrawFn) -> list[byte_pairs.Merge]:
    """In the order in which training would find them, or in any."""
    tokens = {b"a": 255 - ord("a"), b"b": 255 - ord("b"), b"c": 255 - ord("c")}
    merges: dict[tuple[int, int], int] = {}
    for _ in range(draw(st.integers(0, 20))):
        left, right = (draw(st.sampled_from(sorted(tokens))) for _ in range(2))
        new = tokens.setdefault(left + right, 256 + len(tokens))
        merges.setdefault((tokens[left], tokens[right]), new)
    listed = [(left, right, new) for (left, right), new in merges.items()]
    return draw(st.permutations(listed)) if draw(st.booleans()) else listed


@given(merges=merge_lists(), text=st.text("abc-", max_size=120))
def test_merges_equal_the_naive_twin_and_hugging_face(merges: list[byte_pairs.Merge], text: str) -> None:
    strings: dict[int, bytes] = dict(enumerate(EVERY_BYTE))
    byte_ids = [None if byte == ord("-") else 255 - byte for byte in range(256)]
    pending = list(merges)
    while pending:  # a merge may stand before those that make its parts
        made = [merge for merge in pending if merge[0] in strings and merge[1] in strings]
        strings |= {new: strings[left] + strings[right] for left, right, new in made}
        pending = [merge for merge in pending if merge not in made]
    tokens = [strings.get(token) for token in range(max(strings) + 1)]
    model = BytePairModel(
        pa.array(tokens, pa.large_binary()),
        merges_batch(merges),
        byte_ids=pa.array(byte_ids, pa.uint32()),
        whole_pretokens=False,
    )
    encoded = model.encode(Pretokenizer("none"), large_binary([text]))[0].as_py()
    assert encoded == byte_pairs.encode_by_merges(text.encode(), byte_ids, merges)
    assert model.count(Pretokenizer("none"), large_binary([text])).to_pylist() == [len(encoded)]
    vocab = {strings[token].decode(): token for token in strings if strings[token].isascii() and strings[token] != b"-"}
    pairs = [(strings[left].decode(), strings[right].decode()) for left, right, _ in merges]
    assert encoded == Tokenizer(models.BPE(vocab, pairs)).encode(text).ids


@given(
    strings=st.lists(st.text("abc", min_size=2, max_size=8), max_size=30), in_order=st.booleans(), text=st.text("abc")
)
def test_any_ranks_equal_the_naive_twin(strings: list[str], in_order: bool, text: str) -> None:
    """Also ranks that no training gives: tokens that no merges lead to, or that rank before their parts."""
    distinct = list(dict.fromkeys(sorted(strings, key=len) if in_order else strings))
    tokens = [*EVERY_BYTE, *(string.encode() for string in distinct)]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    documents = [text, text * 3, "".join(distinct)]
    expected = [byte_pairs.encode_by_ranks(document.encode(), ranks) if document else [] for document in documents]
    model = ranks_model(tokens)
    assert model.encode(Pretokenizer("none"), large_binary(documents)).to_pylist() == expected
    assert model.count(Pretokenizer("none"), large_binary(documents)).to_pylist() == [len(ids) for ids in expected]


def test_whole_pretokens_are_hugging_faces_ignore_merges() -> None:
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    tokens = pa.array([b"a", b"b", b"c", b"ab", b"abc"], pa.large_binary())
    ids = pa.array([{97: 0, 98: 1, 99: 2}.get(byte) for byte in range(256)], pa.uint32())
    for whole in (True, False):
        model = BytePairModel(tokens, merges_batch([(0, 1, 3)]), byte_ids=ids, whole_pretokens=whole)
        hugging_face = Tokenizer(models.BPE(vocab, [("a", "b")], ignore_merges=whole))
        hugging_face.pre_tokenizer = pre_tokenizers.Whitespace()
        expected = hugging_face.encode("abc abca").ids
        assert expected == ([4, 3, 2, 0] if whole else [3, 2, 3, 2, 0])
        assert model.encode(Pretokenizer("whitespace"), large_binary(["abc abca"])).to_pylist() == [expected]


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, " " * 1_000_000 + "x", "^" * 1_000_000, "ភាសាខ្មែរ" * 20_000, "ab" * 300_000, "xx" * 500 + "y"],
    ids=["letters", "spaces", "signs", "khmer", "pairs", "over 500 bytes"],
)
def test_long_pretokens(text: str) -> None:
    """As slices that no merge can cross would give it: the text is lossless, and its count is that of its ids."""
    pretokenizer = Pretokenizer("o200k")
    (ids,) = MODEL.encode(pretokenizer, large_binary([text])).to_pylist()
    assert b"".join(TOKENS[token] for token in ids) == text.encode()
    assert MODEL.count(pretokenizer, large_binary([text])).to_pylist() == [len(ids)]


def test_a_long_run_is_merged_in_rank_order() -> None:
    ids = MODEL.encode(Pretokenizer("o200k"), large_binary(["a" * 1_001])).to_pylist()[0]
    assert ids == [RANKS[b"aaaa"]] * 250 + [RANKS[b"a"]]
    assert byte_pairs.encode_by_ranks(b"a" * 1_001, RANKS) == ids


def test_errors_say_what_was_found() -> None:
    pretokenizer = Pretokenizer("o200k")
    with pytest.raises(ValueError, match="text 1 of the array is null"):
        MODEL.count(pretokenizer, large_binary(["a", None]))
    with pytest.raises(ValueError, match="text 0 of the array is not UTF-8"):
        MODEL.encode(pretokenizer, large_binary([b"\xff"]))
    with pytest.raises(TypeError, match="expected texts of type large_binary, got Utf8"):
        MODEL.count(pretokenizer, pa.array(["a"]))
    tokens = pa.array(EVERY_BYTE, pa.large_binary())
    with pytest.raises(ValueError, match="there are 256 bytes, but 3 byte_ids"):
        BytePairModel(tokens, None, byte_ids=pa.array([1, 2, 3], pa.uint32()), whole_pretokens=True)
    with pytest.raises(ValueError, match="the id 4294967295 is used, but the vocabulary has 256 tokens"):
        BytePairModel(tokens, None, byte_ids=pa.array([None] * 256, pa.uint32()), whole_pretokens=True)
    ids, merges = pa.array(range(256), pa.uint32()), merges_batch([(1, 2, 256)])
    with pytest.raises(ValueError, match="the id 256 is used, but the vocabulary has 256 tokens"):
        BytePairModel(tokens, merges, byte_ids=ids, whole_pretokens=False)


def test_full_tables_start_again() -> None:
    """More distinct pretokens, short ones and long ones, than the kernel remembers."""
    pretokenizer = Pretokenizer("o200k")
    letters = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
    words = [f" {number:07x}".translate(letters) for number in range(900_000)]
    documents = ["".join(words[start : start + 50_000]) for start in range(0, len(words), 50_000)]
    documents += ["".join([f" ababababab{word[1:]}" for word in words[:110_000]])]
    expected = [ranks_model().count(pretokenizer, large_binary([document]))[0].as_py() for document in documents]
    model = ranks_model()
    for _ in range(2):
        assert model.count(pretokenizer, large_binary(documents)).to_pylist() == expected
        encoded = model.encode(pretokenizer, large_binary(documents))
        assert encoded.value_lengths().to_pylist() == expected
    assert b"".join(TOKENS[token] for token in encoded[3].as_py()) == documents[3].encode()


def test_threads_share_a_model() -> None:
    documents = large_binary([f"the {number} ភាសា abab{number}" * 20 for number in range(500)])
    pretokenizer = Pretokenizer("o200k")
    expected = ranks_model().count(pretokenizer, documents).to_pylist()
    results: list[list[int]] = []
    count = lambda: results.extend([MODEL.count(pretokenizer, documents).to_pylist() for _ in range(5)])  # noqa: E731
    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 20


@given(documents=st.lists(texts | st.text() | st.text(" \x1c\x85\xa0\u1680\u2003\u205f\u3000aé中🙂", max_size=200)))
def test_text_sizes_are_pythons(documents: list[str]) -> None:
    expected = [(len(text.encode()), len(text), len(text.split())) for text in documents]
    sizes = text_sizes(large_binary(documents))
    assert sizes.schema == pa.schema([(name, pa.int64(), False) for name in ("bytes", "characters", "words")])
    assert [tuple(row.values()) for row in sizes.to_pylist()] == expected


def test_text_sizes_of_nothing() -> None:
    assert text_sizes(large_binary([""])).to_pylist() == [{"bytes": 0, "characters": 0, "words": 0}]
    with pytest.raises(ValueError, match="text 0 of the array is null"):
        text_sizes(large_binary([None]))
