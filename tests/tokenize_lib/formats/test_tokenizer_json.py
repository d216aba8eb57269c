"""tokenizer.json against the file that Hugging Face writes, and what it encodes against the naive twin."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tests.oracles import bpe
from tests.tokenize_lib.formats.vocabularies import SPECIALS, TEXTS, vocabulary_of
from tokenize_lib.errors import InputError
from tokenize_lib.formats import tokenizer_json
from tokenize_lib.formats.byte_characters import CHARACTERS
from tokenize_lib.formats.patterns import ONIGURUMA_PATTERNS
from tokenize_lib.pretokenizers import PRETOKENIZERS
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
NORMALIZERS = {
    "nfc": normalizers.NFC,
    "nfd": normalizers.NFD,
    "nfkc": normalizers.NFKC,
    "nfkd": normalizers.NFKD,
}


def split(pattern: str) -> Any:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


CUTS: dict[str, Callable[[], Any]] = {
    "cl100k": lambda: split(ONIGURUMA_PATTERNS["cl100k"]),
    "o200k": lambda: split(PRETOKENIZERS["o200k"].pattern),
    "whitespace": pre_tokenizers.Whitespace,
    "bert": pre_tokenizers.BertPreTokenizer,
    "metaspace": lambda: pre_tokenizers.Metaspace("▁", "always", split=True),
    "space-prefixed": lambda: split(r" ?\S+|\s+"),
    r"regex:\p{L}+|\d{1,2}": lambda: split(r"\p{L}+|\d{1,2}"),
}


def hf_bytes(pretokenizer: str, **options: Any) -> tuple[Tokenizer, TrainOptions]:
    tokenizer = Tokenizer(models.BPE())
    if pretokenizer == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    elif pretokenizer == "none":
        tokenizer.pre_tokenizer = BYTE_LEVEL
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([CUTS[pretokenizer](), BYTE_LEVEL])
    tokenizer.decoder = decoders.ByteLevel()
    if pretokenizer == "metaspace":
        # Not decoders.Metaspace: behind ByteLevel all is one piece, and in the first piece it drops every mark.
        spaces = [decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)]
        tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), *spaces])
    pretokenize = PretokenizeOptions(pretokenizer=pretokenizer, **options)
    return tokenizer, TrainOptions(vocab_size=400, pretokenize=pretokenize)


def hf_characters(pretokenizer: str, unk_token: str | None, decoder: Any) -> tuple[Tokenizer, TrainOptions]:
    tokenizer = Tokenizer(models.BPE(unk_token=unk_token) if unk_token else models.BPE())
    if pretokenizer != "none":
        tokenizer.pre_tokenizer = CUTS[pretokenizer]()
    tokenizer.decoder = decoder
    pretokenize = PretokenizeOptions(pretokenizer=pretokenizer, special_tokens=SPECIALS if unk_token else ())
    return tokenizer, TrainOptions(vocab_size=400, alphabet="characters", unk_token=unk_token, pretokenize=pretokenize)


def train_both(tokenizer: Tokenizer, options: TrainOptions) -> bpe.Model:
    is_bytes = options.alphabet == "bytes"
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocab_size,
        min_frequency=options.min_frequency,
        special_tokens=list(options.special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if is_bytes else [],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    pretokens: Counter[str] = Counter()
    for text in TEXTS:
        pretokens.update(hf_pretokens(tokenizer, text))
    return bpe.train([(as_trained(text, options), count) for text, count in pretokens.items()], options)


def hf_pretokens(tokenizer: Tokenizer, text: str) -> list[str]:
    normal = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
    if tokenizer.pre_tokenizer is None:
        return [normal]
    return [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def as_trained(pretoken: str, options: TrainOptions) -> bytes | str:
    return bytes(map(CHARACTERS.index, pretoken)) if options.alphabet == "bytes" else pretoken


def assert_encodes_as_trained(tokenizer: Tokenizer, model: bpe.Model) -> None:
    unknown = model.options.special_tokens.index(model.options.unk_token) if model.options.unk_token else None
    for text in (*TEXTS, "unseen: ʘ‿ʘ \U0001f9a5 ёж" if unknown is not None else "the shells"):
        expected = [
            unknown if token == bpe.BARRIER else token
            for pretoken in hf_pretokens(tokenizer, text)
            for token in bpe.encode(as_trained(pretoken, model.options), model)
        ]
        assert tokenizer.encode(text).ids == expected


@pytest.mark.parametrize("pretokenizer", ["gpt2", "none", *CUTS])
def test_bytes(pretokenizer: str) -> None:
    tokenizer, options = hf_bytes(pretokenizer)
    model = train_both(tokenizer, options)
    text = tokenizer_json.render(vocabulary_of(model))
    assert text == tokenizer.to_str(pretty=True)
    loaded = Tokenizer.from_str(text)
    assert_encodes_as_trained(loaded, model)
    if pretokenizer not in ("whitespace", "bert", "metaspace"):
        assert [loaded.decode(loaded.encode(text).ids) for text in TEXTS] == list(TEXTS)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("lowercase", [False, True])
def test_normalizers(normalize: str, *, lowercase: bool) -> None:
    tokenizer, options = hf_bytes("gpt2", normalize=normalize, lowercase=lowercase, special_tokens=("<|end|>", "\n"))
    unicode = NORMALIZERS[normalize]()
    tokenizer.normalizer = normalizers.Sequence([unicode, normalizers.Lowercase()]) if lowercase else unicode
    model = train_both(tokenizer, options)
    text = tokenizer_json.render(vocabulary_of(model))
    assert text == tokenizer.to_str(pretty=True)
    assert Tokenizer.from_str(text).encode("The<|end|>\n").ids[-2:] == [0, 1]


@pytest.mark.parametrize("unk_token", [None, "[UNK]"])
@pytest.mark.parametrize(
    ("pretokenizer", "decoder"),
    [
        ("whitespace", None),
        ("bert", None),
        ("metaspace", decoders.Metaspace("▁", "always", split=True)),
        ("none", decoders.Fuse()),
        ("o200k", decoders.Fuse()),
        ("space-prefixed", decoders.Fuse()),
        (r"regex:\p{L}+|\d{1,2}", decoders.Fuse()),
    ],
)
def test_characters(pretokenizer: str, decoder: Any, unk_token: str | None) -> None:
    tokenizer, options = hf_characters(pretokenizer, unk_token, decoder)
    model = train_both(tokenizer, options)
    text = tokenizer_json.render(vocabulary_of(model))
    assert text == tokenizer.to_str(pretty=True)
    loaded = Tokenizer.from_str(text)
    assert_encodes_as_trained(loaded, model)
    if isinstance(decoder, decoders.Fuse):
        assert [loaded.decode(loaded.encode(text).ids) for text in TEXTS] == list(TEXTS)


@pytest.mark.parametrize("pretokenizer", ["gpt2", "cl100k", "o200k", "metaspace", "space-prefixed", "none"])
def test_bytes_decode_to_the_text(pretokenizer: str) -> None:
    tokenizer, options = hf_bytes(pretokenizer)
    loaded = Tokenizer.from_str(tokenizer_json.render(vocabulary_of(train_both(tokenizer, options))))
    for text in ["hello world foo", "two  spaces", *TEXTS]:
        assert loaded.decode(loaded.encode(text).ids) == text


MARKS: list[dict[str, str]] = [
    {"end_of_word": "</w>", "end_of_word_mark": "attached"},
    {"continuing_prefix": "##"},
]


@pytest.mark.parametrize("marks", MARKS, ids=str)
@pytest.mark.parametrize("pretokenizer", ["whitespace", "bert", "metaspace", "space-prefixed", "o200k"])
def test_marks(pretokenizer: str, marks: dict[str, Any]) -> None:
    """Hugging Face hands out ids of marked symbols in hash order, so only what is encoded can be compared."""
    options = TrainOptions(
        vocab_size=400,
        alphabet="characters",
        unk_token="[UNK]",
        pretokenize=PretokenizeOptions(pretokenizer=pretokenizer),
        **marks,
    )
    cut = Tokenizer(models.BPE())
    cut.pre_tokenizer = CUTS[pretokenizer]()
    model = train_both(cut, options)
    loaded = Tokenizer.from_str(tokenizer_json.render(vocabulary_of(model)))
    assert_encodes_as_trained(loaded, model)
    assert loaded.to_str(pretty=True) == tokenizer_json.render(vocabulary_of(model))
    decoded = [loaded.decode(loaded.encode(text).ids, skip_special_tokens=False) for text in TEXTS]
    if pretokenizer in ("whitespace", "bert"):
        assert decoded == [" ".join(hf_pretokens(loaded, text)) for text in TEXTS]
    else:
        assert decoded == list(TEXTS)


def test_a_separate_mark_is_an_obstacle() -> None:
    options = TrainOptions(vocab_size=50, alphabet="characters", end_of_word="</w>", end_of_word_mark="separate")
    vocabulary = vocabulary_of(bpe.train([("low", 5), ("lower", 2)], options))
    assert (tokenizer_json.obstacle(vocabulary) or "").startswith("Hugging Face tokenizers has no end-of-word mark")
    with pytest.raises(ValueError, match="end-of-word mark"):
        tokenizer_json.render(vocabulary)


def test_a_special_token_written_like_a_byte_is_an_obstacle() -> None:
    options = TrainOptions(vocab_size=257, pretokenize=PretokenizeOptions(special_tokens=("Ġ",)))
    problem = tokenizer_json.obstacle(vocabulary_of(bpe.train([], options)))
    assert problem == "a special token is written like another token: give it another text to get a tokenizer.json"


def test_no_merges() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.Fuse()
    tokenizer.train_from_iterator(['a"\\\n\x1f\x7f'], trainers.BpeTrainer(min_frequency=2, show_progress=False))
    options = TrainOptions(alphabet="characters", pretokenize=PretokenizeOptions(pretokenizer="none"))
    text = tokenizer_json.render(vocabulary_of(bpe.train([('a"\\\n\x1f\x7f', 1)], options)))
    assert text == tokenizer.to_str(pretty=True)


READABLE = [
    TrainOptions(vocab_size=400, pretokenize=PretokenizeOptions(special_tokens=("<s>", "</s>"))),
    TrainOptions(vocab_size=400, pretokenize=PretokenizeOptions(pretokenizer="gpt2", normalize="nfkc", lowercase=True)),
    TrainOptions(vocab_size=400, pretokenize=PretokenizeOptions(pretokenizer=r"regex:\p{L}+|\d")),
    TrainOptions(vocab_size=400, pretokenize=PretokenizeOptions(pretokenizer="none", lowercase=True)),
    TrainOptions(
        vocab_size=400,
        alphabet="characters",
        unk_token="[UNK]",
        pretokenize=PretokenizeOptions(pretokenizer="whitespace", special_tokens=SPECIALS),
    ),
    TrainOptions(vocab_size=400, alphabet="characters", continuing_prefix="##"),
    TrainOptions(vocab_size=400, alphabet="characters", end_of_word="</w>"),
]


@pytest.mark.parametrize("options", READABLE)
def test_read_gives_back_what_was_rendered(options: TrainOptions) -> None:
    written = vocabulary_of(bpe.train([(word, 1) for text in TEXTS for word in text.split()], options))
    read = tokenizer_json.read(tokenizer_json.render(written), "tokenizer.json")
    assert read.tokens == written.tokens
    assert read.alphabet_size == written.alphabet_size
    assert read.left_ids.equals(written.left_ids)
    assert read.right_ids.equals(written.right_ids)
    assert read.pair_counts is None
    assert read.options == dataclasses.replace(options, vocab_size=len(written.tokens))


def test_a_pattern_comes_back_in_the_dialect_of_the_file() -> None:
    options = TrainOptions(vocab_size=256, pretokenize=PretokenizeOptions(pretokenizer=r"regex:^\s+|\S+$"))
    text = tokenizer_json.render(vocabulary_of(bpe.train([], options)))
    read = tokenizer_json.read(text, "tokenizer.json")
    assert read.options.pretokenize.pretokenizer == r"regex:\A\s+|\S+\z"
    assert tokenizer_json.render(read) == text


def test_other_files_are_refused() -> None:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    foreign = tokenizer.to_str()
    for text in ("{", "[]", "{}", '{"model": {"vocab": {"a": 5}, "merges": []}}', foreign):
        with pytest.raises(InputError, match=r"^here\.json: not a tokenizer\.json that tokenbeam wrote"):
            tokenizer_json.read(text, "here.json")
