"""The pretokenizers in the plainest way: the published patterns on the `regex` module, the rest character by character.

`regex` follows another Unicode version than the kernel, and Python's `unicodedata` an older one still: `is_comparable`
tells the characters that all of them class the same.
"""

import functools
import itertools
import unicodedata

import regex

from tokenize_lib.pretokenizers import PRETOKENIZERS, REGEX_PREFIX
from tokenize_lib.training_options import PretokenizeOptions

METASPACE = "\u2581"
ASCII_PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def split(text: str, options: PretokenizeOptions) -> list[str]:
    """Give the pretokens of a document in their order."""
    pretokens = []
    for section in sections(text, options.special_tokens):
        prepared = normalize(section, options.normalize)
        if options.lowercase:
            prepared = "".join(character.lower() for character in prepared)
        pretokens += cut(prepared, options.pretokenizer)
    return pretokens


def sections(text: str, special_tokens: tuple[str, ...]) -> list[str]:
    """Give what stands between the special tokens: at each place the longest that begins there is cut out."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    found, start, at = [], 0, 0
    while at < len(text):
        special = next((token for token in longest_first if text.startswith(token, at)), None)
        if special is None:
            at += 1
            continue
        found.append(text[start:at])
        at += len(special)
        start = at
    return [*found, text[start:]]


def normalize(text: str, form: str) -> str:
    return text if form == "none" else unicodedata.normalize(form.upper(), text)


def cut(text: str, spec: str) -> list[str]:
    if spec == "metaspace":
        return cut_metaspace(text)
    if spec.startswith(REGEX_PREFIX):
        return cut_at_matches(text, spec.removeprefix(REGEX_PREFIX))
    return [found[0] for found in compiled(PRETOKENIZERS[spec].pattern or "").finditer(text)]


def cut_metaspace(text: str) -> list[str]:
    marked = text.replace(" ", METASPACE)
    if marked and not marked.startswith(METASPACE):
        marked = METASPACE + marked
    pretokens: list[str] = []
    for character in marked:
        if character == METASPACE or not pretokens:
            pretokens.append("")
        pretokens[-1] += character
    return pretokens


def cut_at_matches(text: str, pattern: str) -> list[str]:
    edges = {0, len(text)}
    for found in compiled(pattern).finditer(text):
        edges |= {found.start(), found.end()}
    ordered = sorted(edges)
    return [text[start:end] for start, end in itertools.pairwise(ordered)]


@functools.cache
def compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION0)


@functools.cache
def is_comparable(character: str) -> bool:
    """Tell whether Python's `unicodedata` knows the character, so that no version newer than its own decides."""
    return unicodedata.category(character) not in ("Cn", "Cs")
