"""A tokenizer.json cuts and normalizes any text as the kernel did in training."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.oracles import bpe
from tests.tokenize_lib.formats.vocabularies import TEXTS, vocabulary_of
from tokenize_lib.formats import tokenizer_json
from tokenize_lib.pretokenizers import PRETOKENIZERS, build_pretokenizer
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

CASES = [
    *(PretokenizeOptions(pretokenizer=name) for name in PRETOKENIZERS),
    PretokenizeOptions(pretokenizer=r"regex:\w+'?|[0-9]{2}"),
    *(PretokenizeOptions(pretokenizer="o200k", normalize=form) for form in ("nfc", "nfd", "nfkc", "nfkd")),
    PretokenizeOptions(pretokenizer="gpt2", lowercase=True),
    PretokenizeOptions(pretokenizer="bert", normalize="nfkc", lowercase=True),
    PretokenizeOptions(pretokenizer="metaspace", normalize="nfc", lowercase=True),
]
TRICKY = "aAéÉßẞİıΣσς'’sST ſ¼²9٣\n\r\t\x0b\x85\u2028\u3000\u200b\u200c\u200d▁្ក́ǅʰ中，_-/.!😀K\u0300\u1160\uac00ﬁ"
# Hugging Face normalizes by an older Unicode than the kernel: U+10781 of version 14 stays as it is in its NFKC.
OLD_CHARACTERS = st.characters(exclude_categories=["Cs"]).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)
ANY_TEXT = st.text(st.one_of(st.sampled_from(TRICKY), OLD_CHARACTERS), max_size=25)
SPECIALS = ("[UNK]", "<s>", "<s>>")


def tokenizer_and_model(pretokenize: PretokenizeOptions, alphabet: str) -> tuple[Tokenizer, bpe.Model]:
    marks = {"unk_token": "[UNK]", "alphabet": "characters"} if alphabet == "characters" else {}
    pretokenize = PretokenizeOptions(**{**pretokenize.as_dict(), "special_tokens": SPECIALS})
    model = bpe.train(
        [(word, 1) for text in TEXTS for word in text.split()], TrainOptions(pretokenize=pretokenize, **marks)
    )
    return Tokenizer.from_str(tokenizer_json.render(vocabulary_of(model))), model


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
@pytest.mark.parametrize("pretokenize", CASES, ids=lambda options: f"{options.pretokenizer} {options.normalize}")
def test_same_tokens(pretokenize: PretokenizeOptions, alphabet: str) -> None:
    tokenizer, model = tokenizer_and_model(pretokenize, alphabet)
    kernel = build_pretokenizer(model.options.pretokenize)

    @given(text=ANY_TEXT)
    @example(" I'LL  see\r\n\r\n  ")
    @example("ΑΣ ΑΣΑ ΟΔΟΣ İ")
    @example("a<s>>b<s>c [UNK]")
    @settings(max_examples=60)
    def check(text: str) -> None:
        [pretokens] = kernel.split(pa.array([text.encode()], pa.large_binary())).to_pylist()
        expected = [max(token, 0) for pretoken in pretokens for token in bpe.encode(pretoken, model)]
        encoding = tokenizer.encode(text)
        found = [
            token
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if text[start:end] not in SPECIALS
        ]
        assert found == expected

    check()
