import itertools
import pickle
import unicodedata

import pyarrow as pa
import pytest
import tiktoken
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tests.oracles import pretokenizers as oracle
from tests.tokenize_lib.texts import ascii_texts, texts
from tokenize_lib import _native
from tokenize_lib.errors import OptionError
from tokenize_lib.pretokenizers import PRETOKENIZERS, build_pretokenizer, pretokenizer_warning
from tokenize_lib.training_options import Normalization, PretokenizeOptions

TIKTOKEN = ["gpt2", "cl100k", "o200k"]
HUGGING_FACE = {
    "gpt2": tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
    "whitespace": tokenizers.pre_tokenizers.Whitespace(),
    "bert": tokenizers.pre_tokenizers.BertPreTokenizer(),
    "metaspace": tokenizers.pre_tokenizers.Metaspace(),
}
BYTE_OF_MAPPED = {chr(code): code for code in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]}
BYTE_OF_MAPPED |= {
    chr(0x100 + place): byte
    for place, byte in enumerate(byte for byte in range(256) if chr(byte) not in BYTE_OF_MAPPED)
}


def was_never_reclassed(character: str) -> bool:
    """Tell whether the character is punctuation, or is none, in old versions of Unicode as in newer ones.

    The table of Hugging Face's BertPreTokenizer is of Unicode 8: 142 characters are not what they are in 16.
    """
    was, now = unicodedata.ucd_3_2_0.category(character), unicodedata.category(character)
    return (was[0] == "P") == (now[0] == "P")


def split(text: str, options: PretokenizeOptions) -> list[str]:
    [pretokens] = build_pretokenizer(options).split(pa.array([text.encode()], pa.large_binary())).to_pylist()
    return [pretoken.decode() for pretoken in pretokens]


def split_by(spec: str, text: str) -> list[str]:
    return split(text, PretokenizeOptions(pretokenizer=spec))


def test_the_unicode_version_is_the_one_the_documentation_names() -> None:
    assert _native.UNICODE_VERSION == "16.0.0"


@pytest.mark.parametrize("spec", PRETOKENIZERS)
@given(text=texts)
@settings(max_examples=300)
def test_any_text_is_cut_as_the_published_pattern_cuts_it(spec: str, text: str) -> None:
    assert split_by(spec, text) == oracle.cut(text, spec)


@pytest.mark.parametrize("spec", TIKTOKEN)
@given(text=ascii_texts)
@settings(max_examples=500)
def test_ascii_text_is_cut_as_the_published_pattern_cuts_it(spec: str, text: str) -> None:
    assert split_by(spec, text) == oracle.cut(text, spec)


@pytest.mark.parametrize("context", ["A{0}a", " {0}1", "!{0}!\n"])
@pytest.mark.parametrize("spec", ["gpt2", "o200k", "whitespace", "bert"])
def test_every_character_is_classed_as_the_engine_of_the_oracle_does(spec: str, context: str) -> None:
    cases = [context.format(chr(code)) for code in range(0x11_0000) if oracle.is_comparable(chr(code))]
    cut = build_pretokenizer(PretokenizeOptions(pretokenizer=spec))
    found = cut.split(pa.array([case.encode() for case in cases], pa.large_binary()))
    expected = pa.array(
        [[pretoken.encode() for pretoken in oracle.cut(case, spec)] for case in cases], pa.large_list(pa.large_binary())
    )
    assert found.values.to_pylist() == expected.values.to_pylist()
    assert found.offsets == expected.offsets


@pytest.mark.parametrize("spec", TIKTOKEN)
@given(text=st.one_of(texts, ascii_texts.map(lambda text: text[:40])))
@settings(max_examples=100)
def test_tiktoken_cuts_the_same(spec: str, text: str) -> None:
    pretokens = [pretoken.encode() for pretoken in split_by(spec, text)]
    # A piece of tiktoken's that is in the vocabulary is one token. With all joins of neighbours in it,
    # the tokens are the pretokens only if the pieces are.
    joins = {
        b"".join(pretokens[start:end]) for start, end in itertools.combinations(range(len(pretokens) + 1), 2)
    }  # fmt: skip
    vocabulary = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *sorted(joins)])
    encoding = tiktoken.Encoding(
        "cuts",
        pat_str=PRETOKENIZERS[spec].pattern or "",
        mergeable_ranks={token: rank for rank, token in enumerate(vocabulary)},
        special_tokens={},
    )
    tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    assert tokens == pretokens


@pytest.mark.parametrize("spec", ["gpt2", "whitespace"])
def test_hugging_face_classes_every_character_the_same(spec: str) -> None:
    text = " ".join(f"A{chr(code)}a" for code in range(0x11_0000) if not 0xD800 <= code < 0xE000)
    pretokens = [pretoken for pretoken, _ in HUGGING_FACE[spec].pre_tokenize_str(text)]
    if spec == "gpt2":
        pretokens = [bytes(BYTE_OF_MAPPED[mapped] for mapped in pretoken).decode() for pretoken in pretokens]
    assert split_by(spec, text) == pretokens


@pytest.mark.parametrize("spec", HUGGING_FACE)
@given(text=texts)
@settings(max_examples=300)
def test_hugging_face_cuts_the_same(spec: str, text: str) -> None:
    if spec == "bert":
        assume(all(was_never_reclassed(character) for character in text))
    pretokens = [pretoken for pretoken, _ in HUGGING_FACE[spec].pre_tokenize_str(text)]
    if spec == "gpt2":
        pretokens = [bytes(BYTE_OF_MAPPED[mapped] for mapped in pretoken).decode() for pretoken in pretokens]
    assert split_by(spec, text) == pretokens


@pytest.mark.parametrize("pattern", [r"\d", r"\s+", r"(?=[A-Z])", r"\b", r"(?<=a)b*", r"x*", r"[^\S\n]+|'s"])
@given(text=texts)
@settings(max_examples=50)
def test_a_pattern_cuts_at_both_ends_of_its_matches(pattern: str, text: str) -> None:
    pretokens = split_by(f"regex:{pattern}", text)
    assert pretokens == oracle.cut(text, f"regex:{pattern}")
    assert "".join(pretokens) == text


@pytest.mark.parametrize("spec", ["gpt2", "cl100k", "o200k", "space-prefixed", "none"])
@given(text=texts)
def test_rules_that_keep_white_space_keep_every_byte(spec: str, text: str) -> None:
    assert "".join(split_by(spec, text)) == text


@given(text=texts, options=st.builds(
    PretokenizeOptions,
    pretokenizer=st.sampled_from([*PRETOKENIZERS, r"regex:\d+"]),
    normalize=st.sampled_from(["none", "nfc", "nfd", "nfkc", "nfkd"]),
    lowercase=st.booleans(),
    special_tokens=st.sampled_from([(), ("ab",), ("a", "ab", "hello"), ("!", "!!", "\n"), ("中", " ")]),
))  # fmt: skip
@settings(max_examples=300)
def test_special_tokens_are_cut_out_before_normalization(text: str, options: PretokenizeOptions) -> None:
    assert split(text, options) == oracle.split(text, options)


@pytest.mark.parametrize(
    ("spec", "text", "pretokens"),
    [
        ("gpt2", "I'll'S", ["I", "'ll", "'", "S"]),
        ("gpt2", "a  b \n c\n", ["a", " ", " b", " \n", " c", "\n"]),
        ("gpt2", "\u2028\u2028x", ["\u2028", "\u2028", "x"]),
        ("cl100k", "'ſky \t_p 12345", ["'ſ", "ky", " ", "\t", "_p", " ", "123", "45"]),
        ("cl100k", "a \n \n  ", ["a", " \n \n  "]),
        ("o200k", "a \n \n  ", ["a", " \n \n", "  "]),
        ("o200k", "'\t_p", ["'", "\t", "_p"]),
        ("o200k", "I'll", ["I'll"]),
        ("o200k", "x's's's", ["x's", "'s's"]),
        ("o200k", "AB中CD中Ef", ["AB中CD中Ef"]),
        ("o200k", "AB中CD", ["AB中", "CD"]),
        ("o200k", "a中BC", ["a中", "BC"]),
        ("o200k", "\u0301AB", ["\u0301", "AB"]),
        ("o200k", ";\n// a\n/(", [";\n//", " a", "\n", "/("]),
        ("o200k", "ǅabc", ["ǅabc"]),
        ("space-prefixed", "low lower lowest", ["low", " lower", " lowest"]),
        ("space-prefixed", "  two  spaces\tx", ["  ", "two", "  ", "spaces", "\t", "x"]),
        ("metaspace", "a  b▁c", ["▁a", "▁", "▁b", "▁c"]),
        ("metaspace", " ", ["▁"]),
        ("none", "", []),
        ("metaspace", "", []),
    ],
)
def test_known_cuts(spec: str, text: str, pretokens: list[str]) -> None:
    assert split_by(spec, text) == pretokens


@pytest.mark.parametrize("spec", PRETOKENIZERS)
@pytest.mark.parametrize(
    "unit", [" ", "^", "a", "A", "1", "\n", "\t", "'", "\u2028", "ខ្មែរ", "\u0301", "中A", "'s", " \n", "\n ", "a'"]
)
def test_a_megabyte_of_one_thing_is_cut_in_linear_time(spec: str, unit: str) -> None:
    # The characters of a text are kept whatever its length; a scanner that is not linear does not end here.
    text = unit * (1_000_000 // len(unit.encode())) + "x"
    joined = "".join(split_by(spec, text))
    kept = joined.replace("▁", "") if spec == "metaspace" else joined
    dropped = spec in ("whitespace", "bert", "metaspace")
    assert ("".join(kept.split()) if dropped else kept) == ("".join(text.split()) if dropped else text)


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [("Vie\u0323\u0302t", "nfc", "Việt"), ("Việt", "nfd", "Vie\u0323\u0302t"), ("ﬁ①", "nfkc", "fi1")],
)
def test_normalization_forms(text: str, form: Normalization, expected: str) -> None:
    assert split(text, PretokenizeOptions(pretokenizer="none", normalize=form)) == [expected]


@pytest.mark.parametrize("text", ["ΟΔΟΣ", "İ", "ẞ", "ǅ", "Ⅷ", "HELLO"])
def test_lower_case_is_hugging_faces(text: str) -> None:
    expected = tokenizers.normalizers.Lowercase().normalize_str(text)
    assert split(text, PretokenizeOptions(pretokenizer="none", lowercase=True)) == [expected]


def test_a_pretokenizer_can_be_pickled() -> None:
    options = PretokenizeOptions(pretokenizer="regex:b", special_tokens=("<s>",), normalize="nfc", lowercase=True)
    copy = pickle.loads(pickle.dumps(build_pretokenizer(options)))  # noqa: S301 - our own bytes
    assert copy.split(pa.array([b"A<s>aBc"], pa.large_binary())).to_pylist() == [[b"a", b"a", b"b", b"c"]]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("o200", "--pretokenizer 'o200': no such rule; did you mean o200k[?] There are gpt2, cl100k, "),
        ("zzz", "--pretokenizer 'zzz': no such rule; there are gpt2, "),
        ("GPT2", "--pretokenizer 'GPT2': no such rule; did you mean gpt2[?] There are gpt2, "),
        (
            "regex:(a",
            r"the pattern \(a cannot be run: Opening parenthesis without closing parenthesis, at its byte 2$",
        ),
        (r"regex:a|\X", r"--pretokenizer: the pattern a\|\\X cannot be run: Invalid escape: \\X, at its byte 2$"),
        ("regex:[z-a]", "cannot be run: invalid character class range, the start must be <= the end$"),
        (r"regex:\p{Nonsense}", "cannot be run: Unicode property not found$"),
        ("regex:a{99999999}", "cannot be run: heap usage during NFA compilation exceeded limit of 10485760$"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(spec: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as raised:
        build_pretokenizer(PretokenizeOptions(pretokenizer=spec))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("pattern", "text", "pretokens"),
    [
        ("(?<=b+)a", "abba", ["abb", "a"]),
        (r"(?<!\p{L})\p{L}", "abc de", ["a", "bc ", "d", "e"]),
        ("a*", "baab x", ["b", "aa", "b", " ", "x"]),
        (r"(?=\p{Lu})", "camelCaseText", ["camel", "Case", "Text"]),
    ],
)
def test_look_behinds_and_empty_matches_cut_as_in_hugging_face(pattern: str, text: str, pretokens: list[str]) -> None:
    assert split_by(f"regex:{pattern}", text) == pretokens
    parts = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)
    assert [part for part, _ in parts] == pretokens


@pytest.mark.parametrize(
    ("spec", "is_doubtful"),
    [
        ("regex:a*", True),
        (r"regex:\p{L}*|\s+", True),
        ("regex:(?=x)", False),
        (r"regex:\b", False),
        ("regex:$", False),
        ("regex:[^x]*", False),
        ("gpt2", False),
        ("none", False),
    ],
)
def test_a_pattern_that_cuts_between_all_characters_is_doubted(spec: str, is_doubtful: bool) -> None:
    warning = pretokenizer_warning(PretokenizeOptions(pretokenizer=spec))
    assert warning == (
        f"--pretokenizer {spec}: the pattern matches the empty text, so what it does not match otherwise is cut into "
        "single characters, which no merge joins: + in place of * leaves it whole"
        if is_doubtful
        else None
    )


def test_a_pattern_that_backtracks_without_end_gives_up_with_an_error() -> None:
    cut = _native.Pretokenizer("regex:(?:(?:a|b|ab)(?!x))*c")
    with pytest.raises(ValueError, match="cannot be run on a text of 60 bytes"):
        cut.split(pa.array([b"ab" * 30], pa.large_binary()))


@pytest.mark.parametrize("invalid", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe1\x9e "])
@pytest.mark.parametrize("spec", PRETOKENIZERS)
def test_bytes_that_are_not_utf8_are_an_error(spec: str, invalid: bytes) -> None:
    cut = _native.Pretokenizer(spec)
    with pytest.raises(ValueError, match="text 1 of the array is not UTF-8"):
        cut.split(pa.array([b"fine", invalid], pa.large_binary()))


def test_texts_of_another_type_are_an_error() -> None:
    with pytest.raises(TypeError, match="expected texts of type large_binary, got Utf8"):
        _native.Pretokenizer("gpt2").split(pa.array(["text"]))


def test_a_null_is_an_error() -> None:
    with pytest.raises(ValueError, match="text 1 of the array is null"):
        _native.Pretokenizer("gpt2").split(pa.array([b"a", None], pa.large_binary()))


def test_slices_of_arrays_are_read_at_their_offset() -> None:
    texts_of_three = pa.array([b"a b", b"c d", b"e f"], pa.large_binary())
    assert _native.Pretokenizer("gpt2").split(texts_of_three.slice(1, 1)).to_pylist() == [[b"c", b" d"]]
