"""The two dialects cut alike: each pattern is run by the engine that it is written for."""

import sys
from itertools import combinations

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tokenize_lib.errors import OptionError
from tokenize_lib.formats.hugging_face import pre_tokenizer
from tokenize_lib.formats.patterns import oniguruma
from tokenize_lib.formats.tiktoken_ranks import pattern as tiktoken_pattern
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

EVERY_CHARACTER = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)
TRICKY = "aA'sSſtTdDmMlLvVrReE ¼²9٣\n\r\t\x0b\x85\u2028\u3000\u200c\u200d្ក́ǅʰ中_-/.😀K\u0300"
TEXTS = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"])), max_size=25)


def rust_pieces(pattern: str, text: str) -> list[str]:
    """What tiktoken cuts: every substring has a rank, so that a piece is one token."""
    pieces = {text[start:end].encode() for start, end in combinations(range(len(text) + 1), 2)}
    tokens = [bytes([byte]) for byte in range(256)] + sorted(piece for piece in pieces if len(piece) > 1)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("all", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return [encoding.decode([token]) for token in encoding.encode_ordinary(text)]


def hugging_face_pieces(pattern: str, text: str) -> list[str]:
    return [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)]


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "space-prefixed"])
@given(text=TEXTS)
@example("it'S 1234  \n \n  x\r\n\r\n  ")
@example(" \n ")
@example("a\u2028 \u3000\u3000b I'LL 'ſ")
@settings(deadline=None, max_examples=40)
def test_published_patterns_cut_alike(name: str, text: str) -> None:
    options = TrainOptions(alphabet="characters", pretokenize=PretokenizeOptions(pretokenizer=name))
    cut = pre_tokenizer(options)
    assert cut is not None
    assert hugging_face_pieces(cut["pattern"]["Regex"], text) == rust_pieces(tiktoken_pattern(name) or "", text)


@pytest.mark.parametrize(
    "pattern", [r"\w+", r"[\w']+|\W", r"^\s+|\S+$", r"[^\w$^]+", r"'(?i:[sdmt]|ll|ve|re)|\d", r"\\\w|\x{1780}?\."]
)
@given(text=TEXTS)
@example("½ x\u200dy\u200c")
@example("a\nb\n")
@example("^$\\w SsſS ក.")
@settings(deadline=None, max_examples=40)
def test_translated_patterns_cut_alike(pattern: str, text: str) -> None:
    covering = tiktoken_pattern(f"regex:{pattern}")
    assert covering is not None
    assert hugging_face_pieces(oniguruma(pattern), text) == rust_pieces(covering, text)


@pytest.mark.parametrize("pattern", [r"\w", r"\s", r"\p{L}", r"\p{M}", r"\p{N}"])
def test_classes_hold_the_same_characters(pattern: str) -> None:
    encoding = tiktoken.Encoding(
        "bytes", pat_str=pattern, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )
    rust = encoding.decode(encoding.encode_ordinary(EVERY_CHARACTER))
    others = pre_tokenizers.Split(Regex(oniguruma(pattern)), "removed").pre_tokenize_str(EVERY_CHARACTER)
    assert set(EVERY_CHARACTER) - {character for run, _ in others for character in run} == set(rust)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bfoo",
        r"\d{1,3}+",
        r"(?m)^a",
        r"(?s:.)",
        r"(?i:ss)",
        r"(?P<name>a)",
        r"[a--b]",
        r"[_[:alpha:]]",
        r"(a)\1",
        r"\u{e9}",
        r"a\Kb",
    ],
)
def test_what_reads_otherwise_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="means something else in Hugging Face's regular expressions"):
        oniguruma(pattern)
