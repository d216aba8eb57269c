"""``tokenizer.json`` files of any origin: as Hugging Face tokenizers encodes without the tokens that it adds around."""

import functools
import json
import pickle
import re
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tests.tokenize_lib import texts as some
from tests.tokenize_lib.formats.vocabularies import TEXTS
from tokenize_lib import InputError, Token, Tokenizer, load_tokenizer
from tokenize_lib.formats.patterns import ONIGURUMA_PATTERNS
from tokenize_lib.pretokenizers import PRETOKENIZERS
from tokenize_lib.tokenizer_files import TokenizerFiles, tokenizer_of_files

SPECIALS = ["<|end|>", "[UNK]", "[CLS]", "[SEP]"]
ADDED = ["<tool>", "  "]
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DOCUMENTS = [
    *TEXTS * 3,
    "Ａ ﬁ é " + unicodedata.normalize("NFD", "Việt đẹp"),
    "it's 12345 <tool> def f():\n    return 1",
]


def trained(kind: str) -> tokenizers.Tokenizer:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bytes_trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    match kind:
        case "gpt2" | "ignore merges" | "with prefix space":
            made = tokenizers.Tokenizer(models.BPE())
            made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "with prefix space")
            made.decoder = decoders.ByteLevel()
            made.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])
            trainer: Any = bytes_trainer
        case "llama 3" | "o200k" | "cl100k" | "digits" | "digits one by one":
            patterns = {"llama 3": LLAMA_3, "o200k": PRETOKENIZERS["o200k"].pattern, **ONIGURUMA_PATTERNS}
            pattern = patterns.get(kind, r"\d")
            behavior = ("removed", True) if kind == "o200k" else ("isolated", False)
            made = tokenizers.Tokenizer(models.BPE())
            cut: Any = pre_tokenizers.Split(Regex(pattern or ""), *behavior)
            if kind == "digits one by one":
                cut = pre_tokenizers.Digits(individual_digits=True)
            made.pre_tokenizer = pre_tokenizers.Sequence([cut, byte_level])
            made.decoder = decoders.ByteLevel()
            if kind in {"llama 3", "cl100k"}:
                made.normalizer = {"llama 3": normalizers.NFC(), "cl100k": normalizers.Sequence(
                    [normalizers.NFKD(), normalizers.Lowercase()]
                )}[kind]  # fmt: skip
            trainer = bytes_trainer
        case "wordpiece":
            made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
            made.normalizer = normalizers.BertNormalizer()
            made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            made.decoder = decoders.WordPiece()
            made.enable_padding(length=99)
            made.enable_truncation(2)
            trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIALS, show_progress=False)
        case "unigram":
            made = tokenizers.Tokenizer(models.Unigram())
            made.normalizer = normalizers.NFKC()
            made.pre_tokenizer = pre_tokenizers.Metaspace()
            made.decoder = decoders.Metaspace()
            trainer = trainers.UnigramTrainer(
                vocab_size=200, special_tokens=SPECIALS, unk_token="[UNK]", show_progress=False
            )
        case _:
            made = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
            made.pre_tokenizer = pre_tokenizers.Whitespace()
            made.decoder = decoders.BPEDecoder(suffix="</w>")
            trainer = trainers.BpeTrainer(
                vocab_size=300, special_tokens=SPECIALS, end_of_word_suffix="</w>", show_progress=False
            )
    made.train_from_iterator(DOCUMENTS, trainer)
    made.add_tokens([AddedToken(token, normalized=False) for token in ADDED])
    if kind == "ignore merges":
        document = json.loads(made.to_str())
        document["model"]["ignore_merges"] = True
        document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"][:-40]]
        return tokenizers.Tokenizer.from_str(json.dumps(document))
    return made


ON_KERNEL = ("gpt2", "llama 3", "o200k", "cl100k", "digits", "ignore merges")
ELSEWHERE = ("wordpiece", "unigram", "characters", "with prefix space", "digits one by one")


@functools.cache
def both(kind: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    content = trained(kind).to_str()
    reference = tokenizers.Tokenizer.from_str(content)
    reference.no_padding()
    reference.no_truncation()
    return tokenizer_of_files(TokenizerFiles.of("x.json", {"x.json": content.encode()})), reference


pieces = some.pieces | st.sampled_from([*SPECIALS, *ADDED, *DOCUMENTS])
texts = st.lists(pieces, max_size=12).map("".join) | st.text()


def test_what_runs_on_the_kernel() -> None:
    assert {both(kind)[0].backend for kind in ON_KERNEL} == {"kernel"}
    assert {both(kind)[0].backend for kind in ELSEWHERE} == {"hugging-face"}


@given(text=texts, kind=st.sampled_from([*ON_KERNEL, *ELSEWHERE]))
def test_special_tokens_allowed(text: str, kind: str) -> None:
    tokenizer, reference = both(kind)
    expected = reference.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special="allow") == expected
    assert tokenizer.count(pa.array([text, "", text]), special="allow").to_pylist() == [len(expected), 0, len(expected)]


@given(text=texts, kind=st.sampled_from([*ON_KERNEL, *ELSEWHERE]))
def test_special_tokens_as_text(text: str, kind: str) -> None:
    tokenizer, reference = both(kind)
    reference.encode_special_tokens = True
    try:
        expected = reference.encode(text, add_special_tokens=False).ids
    finally:
        reference.encode_special_tokens = False
    assert tokenizer.encode(text) == expected
    assert tokenizer.encode(pa.array(["a", text])).to_pylist()[1] == expected
    assert tokenizer.count(text) == len(expected)


@given(text=texts, kind=st.sampled_from(["gpt2", "ignore merges", "o200k"]))
def test_bytes_are_lossless(text: str, kind: str) -> None:
    tokenizer, _ = both(kind)
    for special in ("text", "allow"):
        pieces = tokenizer.tokens(text, special=special)
        assert tokenizer.decode([piece.id for piece in pieces if piece.id is not None]) == text.encode()
        assert all(piece.bytes == text.encode()[piece.start : piece.end] for piece in pieces)


@pytest.mark.parametrize("kind", [kind for kind in (*ON_KERNEL, *ELSEWHERE) if kind != "unigram"])
def test_some_special_tokens_allowed(kind: str) -> None:
    tokenizer, _ = both(kind)
    text = "[CLS]low[SEP]<|end|>"
    ids = tokenizer.encode(text, special={"[SEP]"})
    wanted, others = tokenizer.special_tokens["[SEP]"], tokenizer.special_tokens["[CLS]"]
    assert (ids.count(wanted), ids.count(others)) == (1, 0)
    place = ids.index(wanted)
    assert ids[:place] == tokenizer.encode("[CLS]low")
    with pytest.raises(InputError, match=re.escape("'[CLS]' at byte 0")):
        tokenizer.encode(text, special="deny")


def test_sizes_and_names() -> None:
    for kind in (*ON_KERNEL, *ELSEWHERE):
        tokenizer, reference = both(kind)
        assert tokenizer.vocab_size == reference.get_vocab_size()
        assert list(tokenizer.special_tokens) == SPECIALS
        assert tokenizer.name == "x"


def test_decoding_is_the_files() -> None:
    for kind in ("wordpiece", "unigram", "characters"):
        tokenizer, _ = both(kind)
        assert tokenizer.decode(tokenizer.encode("she sells sea shells")) == b"she sells sea shells"
        with pytest.raises(InputError, match="999999 is the id of no token of x: it has ids from 0 to"):
            tokenizer.decode([999_999])
    tokenizer, _ = both("digits one by one")
    assert b"".join(tokenizer.decode([place]) for place in tokenizer.encode("ឱ 12")) == "ឱ 12".encode()
    assert tokenizer.tokens("ឱ")[0] == Token(tokenizer.encode("ឱ")[0], b"\xe1\x9e", 0, 3)


def test_pieces_have_the_librarys_offsets() -> None:
    tokenizer, _ = both("wordpiece")
    ids = tokenizer.encode("Đẹp sells")
    assert tokenizer.tokens("Đẹp sells")[-1] == Token(ids[-1], b"sells", 7, 12)
    assert tokenizer.tokens("Đẹp sells")[0].start == 0


def test_pieces_of_changed_text_have_no_offsets_on_the_kernel() -> None:
    tokenizer, _ = both("cl100k")
    assert [piece.start for piece in tokenizer.tokens("SEA")] == [None] * tokenizer.count("SEA")
    assert tokenizer.tokens("sea")[0].start == 0


def test_a_pickled_one_needs_no_file(tmp_path: Path) -> None:
    for kind in ("gpt2", "unigram"):
        path = tmp_path / "shop" / "tokenizer.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(trained(kind).to_str())
        tokenizer = load_tokenizer(str(path))
        assert load_tokenizer(str(path)) is tokenizer
        assert load_tokenizer(str(path.parent)) is tokenizer
        path.unlink()
        again = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
        assert again is tokenizer
        assert (again.name, len(again.digest)) == ("shop", 64)


@pytest.mark.parametrize(
    "change",
    [
        {"lstrip": True},
        {"single_word": True},
        {"id": 7_000},
        {"content": "[SEP"},  # begins as a special token does
    ],
)
def test_added_tokens_that_the_kernel_cannot_take(change: dict[str, object]) -> None:
    document = json.loads(trained("gpt2").to_str())
    document["added_tokens"][-1].update(change)
    content = json.dumps(document)
    tokenizer = tokenizer_of_files(TokenizerFiles.of("x.json", {"x.json": content.encode()}))
    reference = tokenizers.Tokenizer.from_str(content)
    assert tokenizer.backend == "hugging-face"
    for text in ("low   [SEP] a[SEP", "a  b", "[SEP"):
        assert tokenizer.encode(text, special="allow") == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "x: no JSON"),
        (b"{}", "x: no tokenizer.json that Hugging Face tokenizers can read"),
        (b'{"model": {"type": "BPE", "vocab": {}, "merges": [["a", "b"]]}}', "x: no tokenizer.json that"),
        (b"\xff\xfe", "neither a tokenizer.json, nor tiktoken's ranks, nor a sentencepiece model"),
        (b"", "neither a tokenizer.json"),
    ],
)
def test_files_that_are_none(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tokenizer_of_files(TokenizerFiles.of("x.json", {"x.json": content}))
