import json

import pytest

from tokenize_lib.errors import OptionError
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions


def test_the_defaults_are_what_the_help_says():
    assert TrainOptions().as_dict() == {
        "model": "bpe",
        "vocab_size": 32_000,
        "alphabet": "bytes",
        "unk_token": None,
        "character_coverage": 1.0,
        "end_of_word": None,
        "end_of_word_mark": None,
        "continuing_prefix": None,
        "max_token_length": None,
        "min_frequency": 2,
        "tie_break": "ids",
        "pretokenize": {"pretokenizer": "o200k", "normalize": "none", "lowercase": False, "special_tokens": []},
    }


def test_options_survive_json():
    options = TrainOptions(
        alphabet="characters", unk_token="[UNK]", pretokenize=PretokenizeOptions(special_tokens=("[PAD]",))
    )
    assert json.loads(json.dumps(options.as_dict())) == options.as_dict()


@pytest.mark.parametrize(
    ("tie_break", "given", "settled"),
    [
        ("ids", None, "attached"),
        ("first-seen", None, "separate"),
        ("ids", "separate", "separate"),
        ("first-seen", "attached", "attached"),
    ],
)
def test_the_mark_follows_the_tie_break_unless_given(tie_break, given, settled):
    options = TrainOptions(alphabet="characters", end_of_word="</w>", tie_break=tie_break, end_of_word_mark=given)
    assert options.end_of_word_mark == settled


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ((), ("[UNK]",)),
        (("[PAD]",), ("[UNK]", "[PAD]")),
        (("[PAD]", "[UNK]"), ("[PAD]", "[UNK]")),
    ],
)
def test_the_unknown_token_is_a_special_token(given, settled):
    pretokenize = PretokenizeOptions(special_tokens=given)
    options = TrainOptions(alphabet="characters", unk_token="[UNK]", pretokenize=pretokenize)
    assert options.special_tokens == settled


def test_the_smallest_vocabularies():
    assert TrainOptions(vocab_size=256).vocab_size == 256
    with_special = PretokenizeOptions(special_tokens=("<s>",))
    assert TrainOptions(vocab_size=257, pretokenize=with_special).vocab_size == 257
    assert TrainOptions(vocab_size=2, alphabet="characters", pretokenize=with_special).vocab_size == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "lstm"}, "--model 'lstm' is not one of bpe, wordpiece, unigram"),
        (
            {"model": "wordpiece"},
            (
                "--model wordpiece: only bpe is trained in this version; "
                "--model bpe --alphabet characters --continuing-prefix '##' trains WordPiece by frequency"
            ),
        ),
        ({"vocab_size": 255}, "--vocab-size 255 has no room for the 256 bytes: give at least 256"),
        (
            {"vocab_size": 257, "pretokenize": PretokenizeOptions(special_tokens=("<s>", "</s>"))},
            "--vocab-size 257 has no room for the 256 bytes and 2 special tokens: give at least 258",
        ),
        ({"alphabet": "runes"}, "--alphabet 'runes' is not one of bytes, characters"),
        ({"unk_token": "[UNK]"}, "--unk-token '[UNK]' needs --alphabet characters; the alphabet is bytes"),
        ({"end_of_word": "</w>"}, "--end-of-word '</w>' needs --alphabet characters; the alphabet is bytes"),
        ({"continuing_prefix": "##"}, "--continuing-prefix '##' needs --alphabet characters; the alphabet is bytes"),
        (
            {"alphabet": "characters", "end_of_word": ""},
            "--end-of-word is empty: give the text of the mark, or leave the option out",
        ),
        (
            {"alphabet": "characters", "end_of_word": "</w>", "continuing_prefix": "##"},
            "--end-of-word and --continuing-prefix both mark where words end: give one of them",
        ),
        (
            {"alphabet": "characters", "character_coverage": 0.99},
            "--character-coverage 0.99 leaves characters out: say with --unk-token what stands for them",
        ),
        (
            {"alphabet": "characters", "character_coverage": 1.5},
            "--character-coverage 1.5 is not over 0 and at most 1 (0.9995 is usual)",
        ),
        (
            {"character_coverage": float("nan")},
            "--character-coverage nan is not over 0 and at most 1 (0.9995 is usual)",
        ),
        ({"end_of_word_mark": "attached"}, "--end-of-word-mark attached needs --end-of-word, such as '</w>'"),
        (
            {"alphabet": "characters", "end_of_word": "</w>", "end_of_word_mark": "beside"},
            "--end-of-word-mark 'beside' is not one of attached, separate",
        ),
        ({"max_token_length": 0}, "--max-token-length 0 is too small: give at least 1"),
        ({"min_frequency": 0}, "--min-frequency 0 is too small: give at least 1"),
        ({"tie_break": "last"}, "--tie-break 'last' is not one of ids, first-seen"),
    ],
)
def test_refuses_with_flag_value_and_what_is_allowed(options, message):
    with pytest.raises(OptionError) as caught:
        TrainOptions(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pretokenizer": ""}, "--pretokenizer is empty: give a name such as o200k, or regex:PATTERN"),
        ({"normalize": "nfx"}, "--normalize 'nfx' is not one of none, nfc, nfd, nfkc, nfkd"),
        ({"special_tokens": ("",)}, "--special-token is empty: give the text of the token"),
        ({"special_tokens": ("<s>", "<s>")}, "--special-token '<s>' is given twice: leave one out"),
    ],
)
def test_refuses_pretokenizing_that_cannot_be(options, message):
    with pytest.raises(OptionError) as caught:
        PretokenizeOptions(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vocab_size": 2**31}, "--vocab-size 2147483648 is too large: give at most 2147483647"),
        ({"alphabet": "characters", "unk_token": "\udcff"}, "--unk-token '.*dcff' is not UTF-8"),
    ],
)
def test_values_that_no_file_could_hold_are_refused(given, message):
    with pytest.raises(OptionError, match=message):
        TrainOptions(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"special_tokens": ("\udcff",)}, "--special-token '.*dcff' is not UTF-8"),
        ({"pretokenizer": "regex:"}, "--pretokenizer regex: has no pattern"),
    ],
)
def test_pretokenizing_that_cannot_be_meant_is_refused(given, message):
    with pytest.raises(OptionError, match=message):
        PretokenizeOptions(**given)
