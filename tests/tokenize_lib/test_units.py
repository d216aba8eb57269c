"""Counting code points, words and bytes, and what all tokenizers share."""

import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tokenize_lib import texts as some
from tokenize_lib import InputError, OptionError, Token, load_tokenizer
from tokenize_lib.encodings import column_name

any_texts = some.texts | st.text()


@pytest.mark.parametrize(
    ("text", "characters", "words", "size"),
    [
        ("the students order iced coffee", 30, 5, 30),
        ("coffee", 6, 1, 6),
        ("កាហ្វេ", 6, 1, 18),
        ("សួស្តី", 6, 1, 18),
        ("", 0, 0, 0),
        (" \u3000\n", 3, 0, 5),
        ("a\x1cb\u200bc", 5, 2, 7),  # a zero-width space parts no words
    ],
)
def test_the_lessons_figures(text: str, characters: int, words: int, size: int) -> None:
    assert [load_tokenizer(unit).count(text) for unit in ("chars", "words", "bytes")] == [characters, words, size]


@given(texts=st.lists(any_texts))
def test_arrays_are_counted_as_python_counts(texts: list[str]) -> None:
    column = pa.array(texts, pa.string())
    assert load_tokenizer("chars").count(column).to_pylist() == [len(text) for text in texts]
    assert load_tokenizer("bytes").count(column).to_pylist() == [len(text.encode()) for text in texts]
    words = [len(text.split()) for text in texts]
    assert load_tokenizer("words").count(column).to_pylist() == words


@given(text=any_texts, unit=st.sampled_from(["chars", "bytes"]))
def test_ids_are_code_points_and_bytes(text: str, unit: str) -> None:
    tokenizer = load_tokenizer(unit)
    ids = tokenizer.encode(text)
    assert ids == (list(map(ord, text)) if unit == "chars" else list(text.encode()))
    assert tokenizer.decode(ids) == text.encode()
    assert tokenizer.encode(pa.array(["x", text, "កa"]).slice(1)).to_pylist() == [ids, tokenizer.encode("កa")]


@given(text=any_texts, unit=st.sampled_from(["chars", "words", "bytes"]))
def test_pieces_stand_in_the_text(text: str, unit: str) -> None:
    pieces = load_tokenizer(unit).tokens(text)
    assert len(pieces) == load_tokenizer(unit).count(text)
    assert all(piece.bytes == text.encode()[piece.start : piece.end] for piece in pieces)


def test_words_have_no_ids() -> None:
    assert load_tokenizer("words").tokens("កា  b") == [Token(None, "កា".encode(), 0, 6), Token(None, b"b", 8, 9)]
    with pytest.raises(OptionError, match="words have no ids"):
        load_tokenizer("words").encode("a")
    with pytest.raises(OptionError, match="words have no ids"):
        load_tokenizer("words").decode([1])


def test_arrays_of_any_text_type_give_the_same() -> None:
    texts, expected = ["a b", "", "កា"], [3, 0, 2]
    chars = load_tokenizer("chars")
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()):
        assert chars.count(pa.array(texts).cast(kind)).to_pylist() == expected
    assert chars.count(pa.array(texts).dictionary_encode()).to_pylist() == expected
    chunks = pa.chunked_array([pa.array(texts[:1]), pa.array([], pa.string()), pa.array(texts[1:])])
    counted = chars.count(chunks)
    assert (counted.type, counted.to_pylist()) == (pa.int64(), expected)
    nothing = pa.chunked_array([], pa.string())
    assert chars.count(nothing).to_pylist() == []
    assert chars.encode(nothing).type == pa.large_list(pa.uint32())


def test_what_is_no_text_is_said() -> None:
    chars = load_tokenizer("chars")
    with pytest.raises(InputError, match="text 2 is null"):
        chars.count(pa.chunked_array([["a"], ["b", None]]))
    with pytest.raises(InputError, match="the text is not UTF-8: byte 1 is 0xff"):
        chars.count(b"a\xff")
    with pytest.raises(InputError, match="text 1 is not UTF-8: byte 0 is 0x80"):
        chars.encode(pa.array([b"a", b"\x80"]))
    with pytest.raises(InputError, match="lone surrogate at character 1"):
        chars.count("a\ud800b")
    with pytest.raises(InputError, match="of type int64"):
        chars.count(pa.array([1]))
    with pytest.raises(TypeError, match=r"the texts are a list: give a str, bytes or, for many, pyarrow\.array"):
        chars.count(["a", "b"])  # type: ignore[call-overload]
    with pytest.raises(InputError, match="55296 is the id of no token"):
        chars.decode([0xD800])
    with pytest.raises(OptionError, match="special 'none' is none of text, allow, deny"):
        chars.count("a", special="none")
    with pytest.raises(OptionError, match="'<s>' is no special token of chars, which has none"):
        chars.count("a", special={"<s>"})


def test_a_pickled_one_is_the_same() -> None:
    for unit in ("chars", "words", "bytes"):
        again = pickle.loads(pickle.dumps(load_tokenizer(unit)))  # noqa: S301
        assert (again.name, again.backend, again.count("a b")) == (unit, "units", load_tokenizer(unit).count("a b"))


def test_columns_are_named_for_sql() -> None:
    assert column_name(load_tokenizer("chars")) == "chars"
    assert column_name("my-tokenizer v1.2") == "my_tokenizer_v1_2"
