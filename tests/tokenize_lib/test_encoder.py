"""The encoder: as the naive one, and as Hugging Face with the file we write."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.oracles import bpe
from tests.oracles import pretokenizers as pretokenizer_oracle
from tests.tokenize_lib.formats.vocabularies import TEXTS, vocabulary_of
from tests.tokenize_lib.small_models import ON_CHARACTERS, SPECIALS, cut_as, model_of
from tokenize_lib import Encoder, InputError, TrainOptions, load
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json

OPTIONS = {
    "bytes": TrainOptions(vocab_size=330, pretokenize=cut_as("gpt2")),
    **ON_CHARACTERS,
}
MODELS = {name: model_of(options) for name, options in OPTIONS.items()}
ENCODERS = {name: Encoder(vocabulary_of(model)) for name, model in MODELS.items()}

texts = st.text() | st.lists(st.sampled_from([word for text in TEXTS for word in text.split()])).map(" ".join)


@given(text=texts, name=st.sampled_from(list(OPTIONS)))
def test_equals_the_naive_encoder(text: str, name: str) -> None:
    model = MODELS[name]
    unknown = SPECIALS.index("[UNK]")
    expected = [
        unknown if token == bpe.BARRIER else token
        for pretoken in pretokenizer_oracle.split(text, OPTIONS[name].pretokenize)
        for token in bpe.encode(pretoken, model)
    ]
    if not any(special in text for special in SPECIALS):  # special tokens are text here, and cut out in training
        assert ENCODERS[name].encode(text) == expected


@given(text=texts)
def test_equals_hugging_face(text: str) -> None:
    hugging_face = Tokenizer.from_str(tokenizer_json.render(ENCODERS["bytes"].vocabulary))
    assert ENCODERS["bytes"].encode(text, special=True) == hugging_face.encode(text).ids


@given(text=texts)
def test_bytes_are_lossless(text: str) -> None:
    encoder = ENCODERS["bytes"]
    assert encoder.decode(encoder.encode(text)).decode() == text


def test_special_tokens_are_text_unless_asked() -> None:
    encoder = ENCODERS["bytes"]
    text = "low<|end|> [UNK]"
    assert not {0, 1} & set(encoder.encode(text))
    ids = encoder.encode(text, special=True)
    assert [place for place in ids if place < len(SPECIALS)] == [1, 0]
    assert encoder.decode(ids).decode() == text


def test_arrays_of_any_text_type_give_the_same() -> None:
    encoder = ENCODERS["bytes"]
    expected = [encoder.encode(text) for text in TEXTS]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()):
        assert encoder.encode_array(pa.array(TEXTS).cast(kind)).to_pylist() == expected
    assert encoder.encode_array(pa.array(TEXTS).dictionary_encode()).to_pylist() == expected
    halves = pa.chunked_array([pa.array(TEXTS[:2]), pa.array([], pa.string()), pa.array(TEXTS[2:])])
    assert encoder.encode_array(halves).to_pylist() == expected
    assert encoder.encode_array(pa.array(["", *TEXTS]).slice(1)).to_pylist() == expected


def test_marks_are_taken_out_in_decoding() -> None:
    for name in ("end of word", "separate end of word", "continuing prefix"):
        encoder = ENCODERS[name]
        assert encoder.decode(encoder.encode("She sells sea shells")).decode() == "She sells sea shells"


def test_what_cannot_be_encoded_or_decoded_is_said() -> None:
    with pytest.raises(InputError, match="-1 is no token id: the vocabulary has"):
        ENCODERS["bytes"].decode([-1])
    without_unk = Encoder(vocabulary_of(model_of(TrainOptions(vocab_size=90, alphabet="characters"))))
    with pytest.raises(InputError, match="not in the alphabet"):
        without_unk.encode("ж")
    with pytest.raises(InputError, match="a text is null"):
        ENCODERS["bytes"].encode_array(pa.array(["a", None]))


@pytest.mark.parametrize("name", ["bytes", "characters"])
def test_load_reads_what_is_written(tmp_path: Path, name: str) -> None:
    vocabulary = ENCODERS[name].vocabulary
    (tmp_path / "tokenizer.json").write_text(tokenizer_json.render(vocabulary), encoding="utf-8")
    loaded = Encoder(load(tmp_path / "tokenizer.json"))
    assert [loaded.encode(text) for text in TEXTS] == [ENCODERS[name].encode(text) for text in TEXTS]


def test_load_reads_tiktoken_ranks(tmp_path: Path) -> None:
    vocabulary = ENCODERS["bytes"].vocabulary
    (tmp_path / "tokenizer.tiktoken").write_bytes(tiktoken_ranks.render(vocabulary))
    loaded = Encoder(load(tmp_path / "tokenizer.tiktoken", cut_as("gpt2")))
    assert [loaded.encode(text) for text in TEXTS] == [ENCODERS["bytes"].encode(text) for text in TEXTS]


def test_load_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no finished run"):
        load(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none.json")
