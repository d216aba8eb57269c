"""Where a document is cut into pretokens: the rules by name, each with its pattern and the source of that.

The character classes are those of Unicode 16.0 (``_native.UNICODE_VERSION``), the version of the engine that tiktoken
runs its patterns on; a character that a later version assigns counts as none of them. Hugging Face tokenizers 0.23
class every character the same for ``gpt2`` and ``whitespace``; their ``bert`` takes punctuation as Unicode 8 had it,
where 142 characters differ.
"""

import dataclasses
import difflib
from collections.abc import Mapping
from types import MappingProxyType

from tokenize_lib._native import Pretokenizer
from tokenize_lib.errors import OptionError
from tokenize_lib.training_options import PretokenizeOptions

REGEX_PREFIX = "regex:"

_TIKTOKEN = "tiktoken 0.14.0, tiktoken_ext/openai_public.py"
_HUGGING_FACE = "Hugging Face tokenizers 0.23"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretokenizerRule:
    """One way to cut a text.

    Attributes:
        name: What ``--pretokenizer`` takes.
        meaning: What a pretoken is, in one line.
        pattern: The pattern whose matches, from left to right, are the pretokens, as published or, where nothing was
            published, as equivalent; None where no single pattern says it. White space between matches of
            ``whitespace`` and ``bert`` is in no pretoken; every other rule keeps all of the text.
        source: Where the rule was published.
    """

    name: str
    meaning: str
    pattern: str | None
    source: str


_RULES = (
    PretokenizerRule(
        name="gpt2",
        meaning="A word, a number or a run of other characters, each with one space before it; contractions apart.",
        pattern=r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        source=f"{_TIKTOKEN}, r50k_base (equivalent to the pattern of the GPT-2 release)",
    ),
    PretokenizerRule(
        name="cl100k",
        meaning="As gpt2, but numbers in threes, lines kept together, and any one character before a word joins it.",
        pattern=(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        source=f"{_TIKTOKEN}, cl100k_base",
    ),
    PretokenizerRule(
        name="o200k",
        meaning="As cl100k, but words end where capitals begin, keep their combining marks and their contractions.",
        pattern="|".join(  # noqa: FLY002 - the alternatives one below the other, as published
            [
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            ]
        ),
        source=f"{_TIKTOKEN}, o200k_base",
    ),
    PretokenizerRule(
        name="whitespace",
        meaning="A run of word characters, or a run of others; white space is dropped.",
        pattern=r"\w+|[^\w\s]+",
        source=f"{_HUGGING_FACE}, pre_tokenizers.Whitespace",
    ),
    PretokenizerRule(
        name="bert",
        meaning="A word, or one punctuation character; white space is dropped.",
        pattern=r"[\p{P}!-/:-@\[-`{-~]|[^\s\p{P}!-/:-@\[-`{-~]+",
        source=f"{_HUGGING_FACE}, pre_tokenizers.BertPreTokenizer, after BERT's BasicTokenizer",
    ),
    PretokenizerRule(
        name="metaspace",
        meaning="A word with ▁ (U+2581) for the space before it; a text begins with one.",
        pattern=None,
        source=f"{_HUGGING_FACE}, pre_tokenizers.Metaspace with prepend_scheme always, after sentencepiece",
    ),
    PretokenizerRule(
        name="space-prefixed",
        meaning="What is not white space, with one space before it, or else a run of white space.",
        pattern=r" ?\S+|\s+",
        source="tokenbeam; minimal splitting for scripts that put spaces between phrases",
    ),
    PretokenizerRule(
        name="none",
        meaning="The whole document is one pretoken.",
        pattern=r"(?s:.)+",
        source="sentencepiece's and superword training",
    ),
)

PRETOKENIZERS: Mapping[str, PretokenizerRule] = MappingProxyType({rule.name: rule for rule in _RULES})
"""The rules by name. Beside them there is ``regex:PATTERN``: matches and the gaps between them are the pretokens.

An empty match cuts too, so ``regex:(?=\\p{Lu})`` cuts before capitals, and ``regex:a*`` between all characters but a.
"""


def build_pretokenizer(options: PretokenizeOptions) -> Pretokenizer:
    """Make the kernel's pretokenizer: it cuts out special tokens, normalizes the rest, then cuts it by the rule.

    Returns:
        A pretokenizer that may be pickled and used by several threads at once.

    Raises:
        OptionError: There is no such rule, or the pattern of ``regex:PATTERN`` cannot be run.
    """
    name = options.pretokenizer
    if name not in PRETOKENIZERS and not name.startswith(REGEX_PREFIX):
        near = difflib.get_close_matches(name.lower(), PRETOKENIZERS, n=1)
        meant = f"did you mean {near[0]}? There" if near else "there"
        raise OptionError(
            f"--pretokenizer {name!r}: no such rule; {meant} are {', '.join(PRETOKENIZERS)} and regex:PATTERN"
        )
    try:
        return Pretokenizer(name, options.special_tokens, options.normalize, options.lowercase)
    except ValueError as error:
        raise OptionError(f"--pretokenizer: {error}") from error


def pretokenizer_warning(options: PretokenizeOptions) -> str | None:
    """Say what the person who chose the options may not have meant; None if there is nothing."""
    if not build_pretokenizer(options).cuts_everywhere:
        return None
    return (
        f"--pretokenizer {options.pretokenizer}: the pattern matches the empty text, so what it does not match "
        "otherwise is cut into single characters, which no merge joins: + in place of * leaves it whole"
    )
