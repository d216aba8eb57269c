"""The start alphabet: the symbols that training begins with, and their ids."""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tokenize_lib import _native
from tokenize_lib.formats import byte_characters
from tokenize_lib.training_options import TrainOptions
from tokenize_lib.vocabulary import Vocabulary

_CONTINUING = 1  # as in _kernel/src/alphabet.rs
_LAST = 2

FORMS = pa.schema(
    [
        pa.field("character", pa.uint32(), nullable=False),
        pa.field("form", pa.uint8(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
    ]
)
"""How often each form of a character stands in the corpus."""


@dataclasses.dataclass(frozen=True)
class StartAlphabet:
    """Symbols in the order of their ids, which begin behind the special tokens.

    Attributes:
        options: What is trained.
        symbols: The bytes of each symbol, marks included.
        characters: With the characters alphabet, the code point of each symbol but a separate end-of-word mark.
        forms: Beside `characters`: which of a character's forms it is (continuing 1, last 2).
    """

    options: TrainOptions
    symbols: tuple[bytes, ...]
    characters: tuple[int, ...] = ()
    forms: tuple[int, ...] = ()

    @property
    def first_id(self) -> int:
        """Id of the first symbol: the number of special tokens."""
        return len(self.options.special_tokens)

    def kernel(self) -> _native.Alphabet:
        """Give the kernel's encoder of pretokens into start symbols."""
        if self.options.alphabet == "bytes":
            ids = np.empty(256, np.uint32)
            ids[[symbol[0] for symbol in self.symbols]] = np.arange(self.first_id, self.first_id + 256)
            return _native.Alphabet.bytes(pa.array(ids))
        mark = _separate_mark(self.options)
        return _native.Alphabet.characters(
            pa.array(self.characters, pa.uint32()),
            pa.array(self.forms, pa.uint8()),
            self.first_id,
            mark=self.first_id + self.symbols.index(mark) if mark in self.symbols else None,
            **form_rule(self.options),
        )

    def lengths(self) -> "pa.UInt32Array":
        """Give the length of every special token (0) and symbol, in the unit of ``max_token_length``."""
        mark = _separate_mark(self.options)
        return pa.array([0] * self.first_id + [int(symbol != mark) for symbol in self.symbols], pa.uint32())


def form_rule(options: TrainOptions) -> dict[str, bool]:
    """Which places of a pretoken have forms of characters of their own."""
    return {
        "continuing": options.continuing_prefix is not None,
        "last": options.end_of_word is not None and options.end_of_word_mark == "attached",
    }


def start_alphabet(options: TrainOptions, forms: Iterable[pa.RecordBatch]) -> StartAlphabet:
    """The alphabet that the options ask for.

    Args:
        options: What is trained.
        forms: Partial counts of `FORMS`, any number of them; only looked at where the alphabet is of characters.
    """
    if options.alphabet == "bytes":
        return byte_alphabet(options)
    return character_alphabet(options, pa.Table.from_batches(forms, FORMS))


def byte_alphabet(options: TrainOptions) -> StartAlphabet:
    """The 256 bytes, in the order in which Hugging Face gives them ids."""
    return StartAlphabet(options, byte_characters.ALPHABET)


def character_alphabet(options: TrainOptions, forms: pa.Table) -> StartAlphabet:
    """The characters that cover `options.character_coverage` of the corpus, in all their forms that occur.

    The most frequent characters are kept, ties by code point. Plain forms come first, by code point, then marked
    forms, by their string, then a separate end-of-word mark.

    Args:
        options: What is trained.
        forms: A table of `FORMS`; partial counts in any number of rows.
    """
    counts: Counter[int] = Counter()
    marked: set[tuple[bytes, int, int]] = set()
    columns = (forms[name].to_pylist() for name in ("character", "form", "count"))
    for character, form, count in zip(*columns, strict=True):
        counts[character] += count
        if form:
            marked.add((_string(character, form, options), character, form))
    kept = _covering(counts, options.character_coverage)
    order = [(chr(character).encode(), character, 0) for character in sorted(kept)]
    order += sorted(form for form in marked if form[1] in kept)
    symbols = [string for string, _, _ in order]
    mark = _separate_mark(options)
    if mark is not None and mark not in symbols:
        symbols.append(mark)
    return StartAlphabet(
        options,
        tuple(symbols),
        tuple(character for _, character, _ in order),
        tuple(form for _, _, form in order),
    )


def alphabet_of(vocabulary: Vocabulary) -> StartAlphabet:
    """The start alphabet of a finished vocabulary, its characters read off the symbols' strings."""
    options, symbols = vocabulary.options, vocabulary.alphabet
    if options.alphabet == "bytes":
        return StartAlphabet(options, tuple(symbols))
    mark = _separate_mark(options)
    forms = [_form(symbol.decode(), options) for symbol in symbols if symbol != mark or len(symbol.decode()) == 1]
    return StartAlphabet(
        options, tuple(symbols), tuple(character for character, _ in forms), tuple(form for _, form in forms)
    )


def _form(string: str, options: TrainOptions) -> tuple[int, int]:
    form = 0
    rule = form_rule(options)
    if rule["continuing"] and len(string) > 1:
        string = string.removeprefix(options.continuing_prefix or "")
        form |= _CONTINUING
    if rule["last"] and len(string) > 1:
        string = string.removesuffix(options.end_of_word or "")
        form |= _LAST
    return ord(string), form


def _covering(counts: Counter[int], coverage: float) -> set[int]:
    wanted = Fraction(str(coverage)) * counts.total()
    kept: set[int] = set()
    covered = 0
    for character in sorted(counts, key=lambda character: (-counts[character], character)):
        if covered >= wanted:
            break
        kept.add(character)
        covered += counts[character]
    return kept


def _string(character: int, form: int, options: TrainOptions) -> bytes:
    prefix = options.continuing_prefix if form & _CONTINUING else None
    suffix = options.end_of_word if form & _LAST else None
    return f"{prefix or ''}{chr(character)}{suffix or ''}".encode()


def _separate_mark(options: TrainOptions) -> bytes | None:
    if options.end_of_word is None or options.end_of_word_mark != "separate":
        return None
    return options.end_of_word.encode()
