r"""Regular expressions in the dialect of Hugging Face's files.

tiktoken runs the syntax of Rust's ``regex`` and ``fancy-regex`` crates, as tokenbeam does. Hugging Face's ``Split``
runs Oniguruma with Ruby's syntax, where ``$`` ends a line, ``{1,3}+`` is not possessive and ``\w`` is another set.

Sources: https://github.com/kkos/oniguruma/blob/master/doc/RE, https://docs.rs/regex/latest/regex/#syntax
"""

import re

from tokenize_lib.errors import OptionError

ONIGURUMA_PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s+\z|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""Where ``oniguruma`` does not know how to write the published pattern."""

# Rust's \w follows UTS #18; Oniguruma's has the superscript and fraction characters and lacks the two joiners.
_WORD_CHARACTER = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_TRANSLATED = {r"\w": f"[{_WORD_CHARACTER}]", r"\W": f"[^{_WORD_CHARACTER}]", "^": r"\A", "$": r"\z"}

# Apart from the published contractions, (?i) is refused: in Oniguruma it lets "ss" match "ß".
_PIECE = re.compile(
    r"""(?P<contractions>\(\?i:(?:'s\|'t\|'re\|'ve\|'m\|'ll\|'d|\[sdmt]\|ll\|ve\|re)\))
      | (?P<escape>\\[pPx]\{[^}]*\} | \\.)
      | (?P<flags>\(\?(?:P<|[a-zA-Z-]+[:)]))
      | (?P<possessive_range>\{\d+,?\d*\}\+)
      | (?P<class_operator>--|~~|\[:(?=\^?[a-z]+:\]))
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


def oniguruma(pattern: str) -> str:
    """A pattern of the Rust dialect in Oniguruma's, matching the same texts.

    Raises:
        OptionError: It has a construct that has no equal there, or that this function does not know to be equal.
    """
    translated: list[str] = []
    class_depth = 0
    for match in _PIECE.finditer(pattern):
        piece, kind = match.group(), match.lastgroup
        if _has_no_equal(piece, kind, in_class=class_depth > 0):
            raise OptionError(
                f"--pretokenizer regex: {piece!r} at character {match.start()} means something else in "
                "Hugging Face's regular expressions: leave it out to get a tokenizer.json"
            )
        if kind == "other":
            class_depth += {"[": 1, "]": -1 if class_depth else 0}.get(piece, 0)
        outside_only = piece in "^$"
        translated.append(piece if outside_only and class_depth else _TRANSLATED.get(piece, piece))
    return "".join(translated)


def _has_no_equal(piece: str, kind: str | None, *, in_class: bool) -> bool:
    match kind:
        case "escape":
            return piece[1] in "bBuUGKZ<>" or piece[1].isdigit()
        case "flags" | "possessive_range":
            return not in_class
        case "class_operator":
            return in_class
    return False
