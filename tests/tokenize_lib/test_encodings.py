"""The published encodings are tiktoken's, id for id."""

import pickle
import re
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import tiktoken.model
from hypothesis import given
from hypothesis import strategies as st

from tests.tokenize_lib import texts as some
from tests.tokenize_lib.published import published
from tokenize_lib import InputError, OptionError, Token, encodings, load_tokenizer
from tokenize_lib.encodings import ENCODINGS, encoding_for_model

NAMES = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base", "gpt2", "p50k_edit", "o200k_harmony")
RANKS = ("o200k_base", "cl100k_base", "p50k_base", "r50k_base")

SAMPLES = [
    *(path.read_text("utf-8-sig") for path in sorted(Path("tests/data/sample").glob("*.txt"))),
    "a <|endoftext|> b",
    "\ufeffone\r\ntwo\0three\u2028four\n\n\n",
    "Việt",
    unicodedata.normalize("NFD", "Việt"),
    "ខ្ញុំ\u200bស្រលាញ់\u200bកាហ្វេ",
    "Hello, world! Xin chào thế giới. 你好世界.",
    "  two  spaces",
    *("a" * length for length in range(1, 18)),
    "^" * 3_000,
    " " * 3_000 + "x",
    "ស្រលាញ់កាហ្វេ" * 80,
    "\n" * 300 + " " * 300,
    "👩\u200d💻🙂" * 9,
]
specials = st.sampled_from([
    "<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|fim_", "<|", "|>", "<|endoftext|", "<|start|>",
    "<|reserved_200018|>",
])  # fmt: skip
texts_with_specials = st.lists(some.pieces | specials, max_size=12).map("".join)


@pytest.mark.parametrize("name", NAMES)
def test_what_there_is(name: str) -> None:
    tokenizer, reference = load_tokenizer(name), published(name)
    assert (tokenizer.name, tokenizer.backend) == (name, "kernel")
    assert tokenizer.vocab_size == reference.n_vocab
    assert {
        token: reference.encode_single_token(token) for token in reference.special_tokens_set
    } == tokenizer.special_tokens


def test_the_sizes_are_the_published_ones() -> None:
    assert {name: load_tokenizer(name).vocab_size for name in RANKS} == {
        "o200k_base": 200_019,
        "cl100k_base": 100_277,
        "p50k_base": 50_281,
        "r50k_base": 50_257,
    }


def test_the_vietnamese_lessons_greeting() -> None:
    text = "Hello, world! Xin chào thế giới. 你好世界."
    assert load_tokenizer("o200k_base").encode(text) == [
        13225, 11, 2375, 0, 116839, 549, 35134, 46773, 69217, 13, 220, 177519, 28428, 13,
    ]  # fmt: skip
    assert load_tokenizer("cl100k_base").encode(text) == [
        9906, 11, 1917, 0, 70761, 523, 6496, 78, 270, 27160, 13845, 53047, 13, 220, 57668, 53901, 3574, 244, 98220, 13,
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str) -> None:
    tokenizer = load_tokenizer(name)
    expected = published(name).encode_ordinary_batch(SAMPLES)
    assert tokenizer.encode(pa.array(SAMPLES)).to_pylist() == expected
    assert tokenizer.count(pa.array(SAMPLES)).to_pylist() == [len(ids) for ids in expected]
    assert [tokenizer.decode(ids) for ids in expected] == [text.encode() for text in SAMPLES]


WORST = {
    "spaces": " " * 1_000_000 + "x",
    "letters": "a" * 1_000_000,
    "marks": "^" * 1_000_000,
    "lines": "\n" * 500_000 + " " * 500_000,
    "khmer": "ស្រលាញ់កាហ្វេ" * 15_000,
    "words": " ".join(f"w{number:x}q" for number in range(150_000)),
}


@pytest.mark.parametrize("kind", list(WORST))
def test_what_made_others_hang_comes_back(kind: str) -> None:
    for name in RANKS:
        tokenizer = load_tokenizer(name)
        ids = tokenizer.encode(WORST[kind])
        assert tokenizer.decode(ids) == WORST[kind].encode()
        assert tokenizer.count(WORST[kind]) == len(ids)


@pytest.mark.parametrize("name", RANKS)
def test_every_character_that_is_assigned(name: str) -> None:
    """Each in three places; characters that Unicode 16 knows, a class at a time."""
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    known = [one for one in characters if unicodedata.category(one) != "Cn"]
    texts = ["".join(f"a{one}b {one}1" for one in known[at : at + 500]) for at in range(0, len(known), 500)]
    expected = published(name).encode_ordinary_batch(texts)
    assert load_tokenizer(name).encode(pa.array(texts)).to_pylist() == expected


@given(texts=st.lists(some.texts | some.ascii_texts | st.text(), max_size=4), name=st.sampled_from(RANKS))
def test_random_texts(texts: list[str], name: str) -> None:
    tokenizer = load_tokenizer(name)
    expected = published(name).encode_ordinary_batch(texts)
    column = pa.array(texts, pa.string())
    assert tokenizer.encode(column).to_pylist() == expected
    assert tokenizer.count(column).to_pylist() == [len(ids) for ids in expected]
    assert [tokenizer.decode(ids) for ids in expected] == [text.encode() for text in texts]


@given(text=texts_with_specials, name=st.sampled_from(NAMES), data=st.data())
def test_special_tokens(text: str, name: str, data: st.DataObject) -> None:
    tokenizer, reference = load_tokenizer(name), published(name)
    assert tokenizer.encode(text) == reference.encode_ordinary(text)
    assert tokenizer.encode(text, special="allow") == reference.encode(text, allowed_special="all")
    some_of = data.draw(st.sets(st.sampled_from(sorted(tokenizer.special_tokens))))
    expected = reference.encode(text, allowed_special=some_of, disallowed_special=())
    assert tokenizer.encode(text, special=some_of) == expected
    assert tokenizer.count(text, special=some_of) == len(expected)
    assert tokenizer.decode(expected) == text.encode()
    found = [text.index(token) for token in tokenizer.special_tokens if token in text]
    if found:
        place = len(text[: min(found)].encode())
        with pytest.raises(InputError, match=rf"^the text has the special token '[^']+' at byte {place}: allow"):
            tokenizer.encode(text, special="deny")
    else:
        assert tokenizer.encode(text, special="deny") == reference.encode(text)


def test_a_denied_special_token_is_named_with_its_row() -> None:
    texts = pa.chunked_array([["a"], ["b", "កា<|endofprompt|><|endoftext|>"]])
    with pytest.raises(InputError, match=re.escape("text 2 has the special token '<|endofprompt|>' at byte 6")):
        load_tokenizer("o200k_base").count(texts, special="deny")
    with pytest.raises(
        OptionError, match=re.escape("'<|im_start|>' is no special token of r50k_base, which has <|endoftext|>")
    ):
        load_tokenizer("r50k_base").count(texts, special={"<|im_start|>"})


@given(text=some.texts, name=st.sampled_from(RANKS))
def test_pieces_make_up_the_text(text: str, name: str) -> None:
    tokenizer = load_tokenizer(name)
    pieces = tokenizer.tokens(text)
    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    assert b"".join(piece.bytes for piece in pieces) == text.encode()
    assert all(piece.bytes == text.encode()[piece.start : piece.end] for piece in pieces)


def test_a_piece_may_split_a_character() -> None:
    assert load_tokenizer("r50k_base").tokens("កa") == [
        Token(157, b"\xe1", 0, 1),
        Token(252, b"\x9e", 1, 2),
        Token(222, b"\x80", 2, 3),
        Token(64, b"a", 3, 4),
    ]
    assert load_tokenizer("cl100k_base").decode([157]) == published("cl100k_base").decode_bytes([157])


def test_ids_that_are_none() -> None:
    for name, no_id in [("o200k_base", 200_019), ("o200k_base", 199_998), ("cl100k_base", -1), ("cl100k_base", 2**40)]:
        with pytest.raises(InputError, match=f"^{no_id} is the id of no token of {name}: it has ids from 0 to"):
            load_tokenizer(name).decode([no_id])
    assert load_tokenizer("o200k_harmony").decode([200_005, 200_018]) in {
        b"<|channel|><|endofprompt|>",
        b"<|channel|><|reserved_200018|>",
    }


def test_a_model_is_its_encoding() -> None:
    for model, encoding in tiktoken.model.MODEL_TO_ENCODING.items():
        assert encoding_for_model(model) == encoding
        assert encoding in ENCODINGS
    assert set(tiktoken.model.MODEL_PREFIX_TO_ENCODING.values()) <= set(ENCODINGS)
    assert encoding_for_model("ft:gpt-4o-mini-2024-07-18:acme::abc123") == "o200k_base"
    assert encoding_for_model("claude-sonnet-4-5") is None
    assert load_tokenizer("gpt-4o") is load_tokenizer("o200k_base")
    assert load_tokenizer("gpt-oss-120b").name == "o200k_harmony"


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(
        OptionError, match=r"^--tokenizer 'gpt4o': no such tokenizer or file; did you mean gpt-4o or .*There are o200k"
    ):
        load_tokenizer("gpt4o")
    with pytest.raises(OptionError, match=r"--tokenizer 'q': no such tokenizer or file\? There are"):
        load_tokenizer("q")


def test_one_is_shared_and_pickled_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer("r50k_base")
    pickled = pickle.dumps(tokenizer)
    assert len(pickled) < 200
    assert pickle.loads(pickled) is tokenizer  # noqa: S301
    monkeypatch.setattr(encodings, "_loaded", {})
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: load_tokenizer("r50k_base"), range(8)))
    assert len({id(one) for one in found}) == 1
    assert found[0] is not tokenizer


def test_threads_count_at_once() -> None:
    tokenizer = load_tokenizer("cl100k_base")
    column = pa.array(SAMPLES)
    expected = tokenizer.count(column)
    with ThreadPoolExecutor(4) as threads:
        assert all(counts.equals(expected) for counts in threads.map(lambda _: tokenizer.count(column), range(16)))
