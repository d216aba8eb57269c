"""Training runs, files of ranks and sentencepiece models as tokenizers."""

import base64
import functools
import io
import json
import pickle
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
import tiktoken
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from tests.tokenize_lib import texts as some
from tests.tokenize_lib.formats.vocabularies import TEXTS, vocabulary_of
from tests.tokenize_lib.small_models import ON_CHARACTERS, SPECIALS, cut_as, model_of
from tokenize_lib import (
    Encoder,
    InputError,
    OptionError,
    Token,
    Tokenizer,
    TrainOptions,
    Vocabulary,
    load_tokenizer,
)
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.rank_files import read_ranks, render_ranks
from tokenize_lib.tokenizer_files import TokenizerFiles, tokenizer_of_files

OPTIONS = {
    "gpt2": TrainOptions(vocab_size=330, pretokenize=cut_as("gpt2")),
    "o200k": TrainOptions(vocab_size=330, pretokenize=cut_as("o200k")),
    "regex": TrainOptions(vocab_size=330, pretokenize=cut_as(r"regex:\p{L}+")),
    "nfkc": TrainOptions(vocab_size=330, pretokenize=cut_as("cl100k", normalize="nfkc", lowercase=True)),
    "metaspace": TrainOptions(vocab_size=330, pretokenize=cut_as("metaspace")),
    "bert": TrainOptions(vocab_size=330, pretokenize=cut_as("bert")),
    **ON_CHARACTERS,
}
LOSSLESS = ("gpt2", "o200k", "regex")
AS_HUGGING_FACE = [kind for kind in OPTIONS if kind != "separate end of word"]


@functools.cache
def vocabulary(kind: str) -> Vocabulary:
    return vocabulary_of(model_of(OPTIONS[kind]))


def run_files(kind: str) -> dict[str, bytes]:
    """As ``tokenbeam train`` writes them."""
    files = {"run.json": json.dumps({"options": vocabulary(kind).options.as_dict()}).encode()}
    tables = {"vocab.parquet": vocabulary(kind).vocab_table(), "merges.parquet": vocabulary(kind).merges_table()}
    for name, table in tables.items():
        sink = io.BytesIO()
        pq.write_table(table, sink)
        files[name] = sink.getvalue()
    return files


@functools.cache
def of_run(kind: str) -> Tokenizer:
    return tokenizer_of_files(TokenizerFiles.of(f"runs/{kind}", run_files(kind)))


@functools.cache
def of_json(kind: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    content = tokenizer_json.render(vocabulary(kind))
    files = TokenizerFiles.of(f"{kind}/tokenizer.json", {"tokenizer.json": content.encode()})
    return tokenizer_of_files(files), tokenizers.Tokenizer.from_str(content)


words = st.sampled_from([word for text in TEXTS for word in text.split()])
texts = some.texts | st.lists(words | st.sampled_from(SPECIALS)).map(" ".join)


@given(text=texts, kind=st.sampled_from(list(OPTIONS)))
def test_a_run_encodes_as_its_training_did(text: str, kind: str) -> None:
    tokenizer, encoder = of_run(kind), Encoder(vocabulary(kind))
    expected = encoder.encode(text)
    assert tokenizer.encode(text) == expected
    assert tokenizer.count(pa.array(["", text, "a"]).slice(1)).to_pylist()[0] == len(expected)
    allowed = encoder.encode(text, special=True)
    assert tokenizer.encode(text, special="allow") == allowed
    assert tokenizer.decode(allowed) == encoder.decode(allowed)
    if kind in LOSSLESS:
        assert tokenizer.decode(allowed) == text.encode()


@given(text=texts, kind=st.sampled_from(AS_HUGGING_FACE))
def test_a_run_and_its_tokenizer_json_encode_as_hugging_face(text: str, kind: str) -> None:
    tokenizer, reference = of_json(kind)
    expected = reference.encode(text).ids
    assert tokenizer.encode(text, special="allow") == expected
    assert of_run(kind).encode(text, special="allow") == expected


def test_what_runs_them() -> None:
    assert {of_run(kind).backend for kind in OPTIONS} == {"kernel"}
    on_kernel = {kind for kind in AS_HUGGING_FACE if of_json(kind)[0].backend == "kernel"}
    assert on_kernel == {"gpt2", "o200k", "regex", "nfkc", "metaspace", "bert"}
    assert of_run("end of word").vocab_size == len(vocabulary("end of word").tokens)
    assert of_run("gpt2").special_tokens == {"[UNK]": 0, "<|end|>": 1}


def test_pieces_of_runs_that_drop_spaces() -> None:
    def pieces(kind: str, text: str) -> list[tuple[bytes, int | None, int | None]]:
        return [(piece.bytes, piece.start, piece.end) for piece in of_run(kind).tokens(text)]

    assert pieces("bert", "sea  \u3000hot") == [(b"sea", 0, 3), (b"h", 8, 9), (b"o", 9, 10), (b"t", 10, 11)]
    assert pieces("end of word", "sea  sea") == [(b"sea</w>", 0, 3), (b"sea</w>", 5, 8)]
    assert pieces("continuing prefix", "sea") == [(b"sea", 0, 3)]
    assert pieces("characters", "sea ж") == [(b"sea", None, None), (b"[UNK]", None, None)]
    assert pieces("metaspace", "sea") == [("▁sea".encode(), None, None)]


def test_a_run_is_read_pickled_and_named(tmp_path: Path) -> None:
    directory = tmp_path / "my run"
    directory.mkdir()
    for name, content in run_files("gpt2").items():
        (directory / name).write_bytes(content)
    (directory / "tokenizer.json").write_text("{}")  # the tables come first
    tokenizer = load_tokenizer(str(directory))
    assert (tokenizer.name, tokenizer.backend, len(tokenizer.digest)) == ("my run", "kernel", 64)
    assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer  # noqa: S301
    (directory / "run.json").unlink()
    (directory / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"my run has no tokenizer: neither run\.json of a finished training run"):
        load_tokenizer(str(directory))
    with pytest.raises(InputError, match="none cannot be read: No such file"):
        load_tokenizer(str(tmp_path / "none"))
    (directory / "run.json").write_text("{}")
    with pytest.raises(
        InputError, match=r"^my run/run\.json is damaged, or not of a training run \(KeyError: 'options'\): train"
    ):
        load_tokenizer(str(directory))


@given(text=some.texts)
def test_ranks_are_encoded_as_tiktoken(text: str) -> None:
    content = tiktoken_ranks.render(vocabulary("o200k"))
    tokenizer = tokenizer_of_files(TokenizerFiles.of("shop.tiktoken", {"shop.tiktoken": content}, "o200k"))
    reference = tiktoken.Encoding(**tiktoken_ranks.encoding_arguments("shop", vocabulary("o200k")))
    assert (tokenizer.name, tokenizer.backend) == ("shop", "kernel")
    assert tokenizer.encode(text) == reference.encode_ordinary(text) == of_run("o200k").encode(text)


def test_published_ranks_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p50k.tiktoken"
    path.write_bytes(render_ranks(read_ranks("p50k_base")))
    tokenizer = load_tokenizer(str(path), pretokenizer="gpt2")
    assert tokenizer.vocab_size == 50_281
    assert tokenizer.encode("  def f():\n    pass") == load_tokenizer("p50k_base").encode("  def f():\n    pass")
    with pytest.raises(OptionError, match=r"p50k\.tiktoken: tiktoken's ranks do not say .* give --pretokenizer"):
        load_tokenizer(str(path))
    with pytest.raises(OptionError, match="--pretokenizer 'gpt3': no such rule"):
        load_tokenizer(str(path), pretokenizer="gpt3")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"YQ== 300 1", "x, line 257: b'YQ== 300 1' is not a token in base64 and a rank"),
        (b"YQ=== 300", "x, line 257: b'YQ=== 300' is not a token"),
        (b"YWI= 5", "x, line 257: the rank 5 stands there twice"),
        (b"YWI= -5", "x, line 257: the rank -5 is not from 0 to 16777215"),
        (b"YWI= 99999999999", "x, line 257: the rank 99999999999 is not from"),
        (b"YQ== 300", "x: a token stands there twice"),
    ],
)
def test_ranks_that_are_none(line: bytes, message: str) -> None:
    bytes_alone = [b"%b %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    with pytest.raises(InputError, match=re.escape(message)):
        tokenizer_of_files(TokenizerFiles.of("x", {"x": b"".join([*bytes_alone, line])}, "gpt2"))
    with pytest.raises(InputError, match="x: the byte 0x07 is no token"):
        tokenizer_of_files(TokenizerFiles.of("x", {"x": b"".join(bytes_alone[:7] + bytes_alone[8:])}, "gpt2"))


@functools.cache
def sentencepiece_model(kind: str) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 4),
        model_writer=model,
        model_type=kind,
        vocab_size=360,
        byte_fallback=True,
        user_defined_symbols=["<tool>"],
        control_symbols=["<turn>"],
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


@functools.cache
def of_sentencepiece(kind: str) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    files = TokenizerFiles.of("models/viet.model", {"viet.model": sentencepiece_model(kind)})
    return tokenizer_of_files(files), sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(kind))


@given(texts=st.lists(texts, max_size=3), kind=st.sampled_from(["unigram", "bpe"]))
def test_sentencepiece_models(texts: list[str], kind: str) -> None:
    tokenizer, reference = of_sentencepiece(kind)
    expected = reference.encode(texts)
    assert tokenizer.encode(pa.array(texts, pa.string())).to_pylist() == expected
    assert tokenizer.count(pa.array(texts, pa.string())).to_pylist() == [len(ids) for ids in expected]
    assert [tokenizer.decode(ids).decode() for ids in expected] == [reference.decode(ids) for ids in expected]


def test_what_sentencepiece_says() -> None:
    tokenizer, reference = of_sentencepiece("unigram")
    assert (tokenizer.name, tokenizer.backend) == ("viet", "sentencepiece")
    assert tokenizer.vocab_size == reference.get_piece_size()
    assert tokenizer.special_tokens == {"<s>": 1, "</s>": 2, "<turn>": 3}
    assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer  # noqa: S301
    assert tokenizer.decode(tokenizer.encode("hôm nay <tool> ж")) == "hôm nay <tool> ж".encode()
    pieces = tokenizer.tokens("hôm ж")
    assert [piece.id for piece in pieces] == reference.encode("hôm ж")
    assert (pieces[0].start, pieces[-1].end) == (0, 7)
    assert pieces[-1] == Token(reference.piece_to_id("<0xB6>"), b"<0xB6>", 5, 7)
    with pytest.raises(OptionError, match="viet: sentencepiece takes no control symbol from text"):
        tokenizer.encode("<turn>", special="allow")
    with pytest.raises(InputError, match="the special token '<turn>' at byte 2"):
        tokenizer.encode("a <turn>", special="deny")
    with pytest.raises(InputError, match="5000 is the id of no token of viet"):
        tokenizer.decode([5000])
    with pytest.raises(InputError, match="x: no model that sentencepiece can read"):
        tokenizer_of_files(TokenizerFiles.of("x.model", {"x.model": b"\n\xff\xff"}))
