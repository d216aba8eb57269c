"""The ranks encode in tiktoken as tokenizer.json does in Hugging Face tokenizers, to the same ids."""

from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from tests.oracles import bpe
from tests.tokenize_lib.formats.vocabularies import TEXTS, vocabulary_of
from tokenize_lib.errors import InputError
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
from tokenize_lib.vocabulary import Vocabulary

PRETOKENIZERS = ["gpt2", "cl100k", "o200k", "whitespace", "bert", "space-prefixed", "none", r"regex:\p{L}+|\d"]


def trained(pretokenizer: str, specials: tuple[str, ...] = ()) -> Vocabulary:
    pretokenize = PretokenizeOptions(pretokenizer=pretokenizer, special_tokens=specials)
    options = TrainOptions(vocab_size=256 + len(specials) + 150, pretokenize=pretokenize)
    return vocabulary_of(bpe.train([(text, 2) for text in [*TEXTS, *" ".join(TEXTS).split(" ")]], options))


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(text=st.one_of(st.text(alphabet="shels nay trời'\n ថ្ងៃ天气12", max_size=40), st.text(max_size=20)))
@settings(deadline=None, max_examples=40)
def test_same_ids_as_tokenizer_json(pretokenizer: str, text: str) -> None:
    encoding, tokenizer = BOTH[pretokenizer]
    assert encoding.encode(text, allowed_special="all") == tokenizer.encode(text).ids
    with_special = f"{text}<|end|>{text}"
    assert encoding.encode(with_special, allowed_special="all") == tokenizer.encode(with_special).ids
    assert encoding.encode_ordinary("<|end|>") != [0]


def both(vocabulary: Vocabulary) -> tuple[tiktoken.Encoding, Tokenizer]:
    encoding = tiktoken.Encoding(**tiktoken_ranks.encoding_arguments("small", vocabulary))
    return encoding, Tokenizer.from_str(tokenizer_json.render(vocabulary))


BOTH = {pretokenizer: both(trained(pretokenizer, ("<|end|>",))) for pretokenizer in PRETOKENIZERS}


@pytest.mark.parametrize("specials", [(), ("<|end|>", "<|pad|>")])
def test_tiktoken_loads_the_file(tmp_path: Path, specials: tuple[str, ...]) -> None:
    vocabulary = trained("o200k", specials)
    path = tmp_path / "tokenizer.tiktoken"
    path.write_bytes(tiktoken_ranks.render(vocabulary))
    ranks = load_tiktoken_bpe(str(path))
    assert ranks == {token: len(specials) + rank for rank, token in enumerate(vocabulary.tokens[len(specials) :])}
    assert path.read_bytes().startswith(b"IQ== %d\n" % len(specials))
    ids = {token: place for place, token in enumerate(specials)}
    by_hand = tiktoken.Encoding(
        "mine", pat_str=tiktoken_ranks.pattern("o200k"), mergeable_ranks=ranks, special_tokens=ids
    )
    made = tiktoken.Encoding(**tiktoken_ranks.encoding_arguments("mine", vocabulary))
    for text in TEXTS:
        assert by_hand.encode(text) == made.encode(text)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (TrainOptions(alphabet="characters"), "tiktoken knows no alphabet but bytes"),
        (TrainOptions(pretokenize=PretokenizeOptions(normalize="nfc")), "tiktoken does not normalize text"),
        (TrainOptions(pretokenize=PretokenizeOptions(lowercase=True)), "tiktoken does not normalize text"),
        (
            TrainOptions(pretokenize=PretokenizeOptions(pretokenizer="metaspace")),
            "tiktoken cannot cut text as --pretokenizer metaspace does",
        ),
        (TrainOptions(), None),
    ],
)
def test_obstacles(options: TrainOptions, sentence: str | None) -> None:
    assert tiktoken_ranks.obstacle(options) == sentence


@pytest.mark.parametrize("specials", [(), ("<|end|>", "<|pad|>")])
def test_read_gives_back_what_was_rendered(specials: tuple[str, ...]) -> None:
    written = trained("o200k", specials)
    read = tiktoken_ranks.read(tiktoken_ranks.render(written), written.options.pretokenize, "x.tiktoken")
    assert read.tokens == written.tokens
    assert read.left_ids.equals(written.left_ids)
    assert read.right_ids.equals(written.right_ids)
    assert read.options.pretokenize == written.options.pretokenize


BYTES = tiktoken_ranks.render(vocabulary_of(bpe.train([], TrainOptions())))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"IQ== 0\nIg== x\n", "x.tiktoken, line 2: b'Ig== x' is not a token in base64 and a rank"),
        (b"IQ== 0\nIg=\n", "x.tiktoken, line 2: b'Ig=' is not a token in base64 and a rank"),
        (
            b"IQ== 5\n",
            "x.tiktoken, line 1: found rank 5, wanted 0: ranks have no gaps and follow the 0 special tokens",
        ),
        (b"IQ== 0\n", "x.tiktoken: the first 256 tokens are not the 256 bytes"),
        (BYTES + b"YWJj 256\n", "x.tiktoken: the token b'abc' is not made of two tokens of lower rank"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        tiktoken_ranks.read(content, PretokenizeOptions(), "x.tiktoken")
    assert str(error.value) == message
