"""The parts of a Hugging Face tokenizer around its model: how it cuts text as training did, and puts it together again.

Each function gives the JSON value that https://github.com/huggingface/tokenizers writes for the part.
"""

import re
from typing import Any, get_args

from tokenize_lib.errors import OptionError
from tokenize_lib.formats.patterns import ONIGURUMA_PATTERNS, oniguruma
from tokenize_lib.pretokenizers import PRETOKENIZERS, REGEX_PREFIX
from tokenize_lib.training_options import Alphabet, Normalization, PretokenizeOptions, TrainOptions

Json = dict[str, Any]

_DROPS_SPACES = ("whitespace", "bert")
_STRIP_ONE: Json = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_METASPACE: Json = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def normalizer(options: PretokenizeOptions) -> Json | None:
    """Unicode normalization first, then lower case."""
    steps: list[Json] = []
    if options.normalize != "none":
        steps.append({"type": options.normalize.upper()})
    if options.lowercase:
        steps.append({"type": "Lowercase"})
    return _one_or_sequence(steps, "normalizers")


def pre_tokenizer(options: TrainOptions) -> Json | None:
    """The cut, and with the bytes alphabet the characters that stand for bytes.

    Raises:
        OptionError: The pattern cannot be written for Hugging Face's regular expressions.
    """
    name = options.pretokenize.pretokenizer
    if options.alphabet == "bytes":
        if name == "gpt2":
            return _byte_level(use_regex=True)
        return _one_or_sequence([*_cuts(name), _byte_level(use_regex=False)], "pretokenizers")
    return _one_or_sequence(_cuts(name), "pretokenizers")


def decoder(options: TrainOptions) -> Json | None:
    """Takes marks off and joins tokens. A pretokenizer that drops spaces leaves a space between words at best."""
    name = options.pretokenize.pretokenizer
    metaspace = [_METASPACE] if name == "metaspace" else []
    if options.alphabet == "bytes":
        byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        # Behind ByteLevel all is one piece, and in the first piece Metaspace's decoder drops every mark.
        spaces = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, _STRIP_ONE] if metaspace else []
        return _one_or_sequence([byte_level, *spaces], "decoders")
    if name in _DROPS_SPACES:
        return _decoder_that_guesses_spaces(options)
    marks: list[Json] = []
    if options.end_of_word is not None:
        marks = [_cut_off(re.escape(options.end_of_word) + r"\z")]
    if options.continuing_prefix is not None:
        marks = [_cut_off(r"\A" + re.escape(options.continuing_prefix))]
    return _one_or_sequence([*marks, *(metaspace or [{"type": "Fuse"}])], "decoders")


def read_normalizer(value: Json | None) -> tuple[Normalization, bool] | None:
    """The ``normalize`` and ``lowercase`` for which ``normalizer`` gives the value; None if there are none."""
    for normalize in get_args(Normalization):
        for lowercase in (False, True):
            if normalizer(PretokenizeOptions(normalize=normalize, lowercase=lowercase)) == value:
                return normalize, lowercase
    return None


def read_pre_tokenizer(value: Json | None) -> tuple[Alphabet, str] | None:
    """The ``alphabet`` and ``pretokenizer`` for which ``pre_tokenizer`` gives the value; None if there are none.

    The pattern of ``regex:`` comes back in Oniguruma's dialect, as it stands in the value; it cuts the same.
    """
    parts = (value or {}).get("pretokenizers", [value or {}])
    patterns = [part["pattern"]["Regex"] for part in parts if "Regex" in part.get("pattern", {})]
    for alphabet in get_args(Alphabet):
        for name in (*PRETOKENIZERS, *(REGEX_PREFIX + pattern for pattern in patterns)):
            options = TrainOptions(alphabet=alphabet, pretokenize=PretokenizeOptions(pretokenizer=name))
            try:
                if pre_tokenizer(options) == value:
                    return alphabet, name
            except OptionError:
                continue  # a pattern that this project would not have written
    return None


def _cuts(name: str) -> list[Json]:
    match name:
        case "none":
            return []
        case "whitespace":
            return [{"type": "Whitespace"}]
        case "bert":
            return [{"type": "BertPreTokenizer"}]
        case "metaspace":
            return [_METASPACE]
    pattern = ONIGURUMA_PATTERNS.get(name)
    if pattern is None:
        rule = PRETOKENIZERS.get(name)
        pattern = oniguruma((rule.pattern if rule else None) or name.removeprefix(REGEX_PREFIX))
    return [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}]


def _byte_level(*, use_regex: bool) -> Json:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _decoder_that_guesses_spaces(options: TrainOptions) -> Json | None:
    if options.end_of_word is not None:
        return {"type": "BPEDecoder", "suffix": options.end_of_word}
    if options.continuing_prefix is not None:
        return {"type": "WordPiece", "prefix": options.continuing_prefix, "cleanup": False}
    return None


def _cut_off(pattern: str) -> Json:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": ""}


def _one_or_sequence(parts: list[Json], plural: str) -> Json | None:
    if len(parts) > 1:
        return {"type": "Sequence", plural: parts}
    return parts[0] if parts else None
