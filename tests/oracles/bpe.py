"""Textbook BPE training and encoding: every pair is counted again at every step.

What "exact" means in this project is what this module does. It follows Sennrich et al. 2016, algorithm 1
(https://aclanthology.org/P16-1162), with the ties, ids and alphabets of Hugging Face's ``BpeTrainer``.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tokenize_lib.training_options import TrainOptions

Pretokens = Sequence[tuple[bytes | str, int]]
"""Each distinct pretoken with its count, in the order of first occurrence in the corpus."""

BARRIER = -1
"""Stands in a pretoken for a character outside the alphabet: no pair holds it."""


@dataclasses.dataclass(frozen=True)
class Merge:
    left: int
    right: int
    new: int
    count: int
    replaced: int


@dataclasses.dataclass(frozen=True)
class Model:
    """``tokens[id]`` is the token's string as UTF-8, marks included, or its bytes with alphabet ``bytes``."""

    options: TrainOptions
    tokens: tuple[bytes, ...]
    alphabet_size: int
    merges: tuple[Merge, ...]

    @property
    def first_merge_id(self) -> int:
        return len(self.options.special_tokens) + self.alphabet_size


def train(pretokens: Pretokens, options: TrainOptions) -> Model:
    specials = [token.encode() for token in options.special_tokens]
    alphabet = start_alphabet(pretokens, options)
    ids = {string: place for place, string in enumerate(alphabet, start=len(specials))}
    words = [([ids.get(symbol, BARRIER) for symbol in symbols(text, options)], count) for text, count in pretokens]
    tokens = [*specials, *alphabet]
    lengths = [0] * len(specials) + [text_length(symbol, options) for symbol in alphabet]
    merges: list[Merge] = []
    barred: set[tuple[int, int]] = set()
    while len(tokens) < options.vocab_size:
        counts = {
            pair: count
            for pair, count in count_pairs(words).items()
            if pair not in barred and not is_too_long(lengths[pair[0]] + lengths[pair[1]], options)
        }
        if not counts or max(counts.values()) < options.min_frequency:
            break
        pair = best_pair(counts, options)
        string = join(tokens[pair[0]], tokens[pair[1]], options)
        if any(string == token for token in tokens):
            barred.add(pair)  # two ids for one string: no vocabulary file could hold it
            continue
        before = sum(len(word) * count for word, count in words)
        words = [(merge_pair(word, pair, len(tokens)), count) for word, count in words]
        replaced = before - sum(len(word) * count for word, count in words)
        merges.append(Merge(*pair, new=len(tokens), count=counts[pair], replaced=replaced))
        lengths.append(lengths[pair[0]] + lengths[pair[1]])
        tokens.append(string)
    return Model(options, tuple(tokens), len(alphabet), tuple(merges))


def count_pairs(words: Iterable[tuple[Sequence[int], int]]) -> dict[tuple[int, int], int]:
    """Keys in the order in which the pairs first stand in the corpus; overlapping places count each."""
    counts: dict[tuple[int, int], int] = {}
    for word, count in words:
        for pair in itertools.pairwise(word):
            if BARRIER not in pair:
                counts[pair] = counts.get(pair, 0) + count
    return counts


def best_pair(counts: Mapping[tuple[int, int], int], options: TrainOptions) -> tuple[int, int]:
    best = max(counts.values())
    ties = [pair for pair, count in counts.items() if count == best]
    return ties[0] if options.tie_break == "first-seen" else min(ties)


def merge_pair(word: Sequence[int], pair: tuple[int, int], new: int) -> list[int]:
    """Left to right, not overlapping: ``aaa`` becomes ``(aa) a``."""
    merged: list[int] = []
    place = 0
    while place < len(word):
        if tuple(word[place : place + 2]) == pair:
            merged.append(new)
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return merged


def symbols(pretoken: bytes | str, options: TrainOptions) -> list[bytes]:
    """The start symbols of a pretoken, before it is known which of them the alphabet keeps."""
    if options.alphabet == "bytes":
        data = pretoken.encode() if isinstance(pretoken, str) else pretoken
        return [bytes([byte]) for byte in data]
    characters = list(pretoken if isinstance(pretoken, str) else pretoken.decode())
    if options.continuing_prefix is not None:
        characters[1:] = [options.continuing_prefix + character for character in characters[1:]]
    if options.end_of_word is not None:
        if options.end_of_word_mark == "separate":
            characters.append(options.end_of_word)
        else:
            characters[-1] += options.end_of_word
    return [character.encode() for character in characters]


def start_alphabet(pretokens: Pretokens, options: TrainOptions) -> list[bytes]:
    """Bytes by GPT-2's character for them; characters by code point, the plain ones before the marked ones."""
    if options.alphabet == "bytes":
        return [bytes([byte]) for byte in sorted(range(256), key=gpt2_character)]
    plain = kept_characters(pretokens, options)
    marked = {
        symbol
        for text, _ in pretokens
        for symbol, character in zip(symbols(text, options), [*decoded(text), None], strict=False)
        if character is None or character in plain  # None: behind the last character stands a separate mark
    }
    forms = {character.encode() for character in plain}
    return sorted(forms) + sorted(marked - forms)


def kept_characters(pretokens: Pretokens, options: TrainOptions) -> set[str]:
    """The most frequent characters, ties by code point, until their share of the corpus is the coverage or more."""
    counts: Counter[str] = Counter()
    for text, count in pretokens:
        for character in decoded(text):
            counts[character] += count
    wanted = Fraction(str(options.character_coverage)) * sum(counts.values())
    kept: set[str] = set()
    covered = 0
    for character in sorted(counts, key=lambda character: (-counts[character], character)):
        if covered >= wanted:
            break
        kept.add(character)
        covered += counts[character]
    return kept


def decoded(pretoken: bytes | str) -> list[str]:
    return list(pretoken if isinstance(pretoken, str) else pretoken.decode())


def join(left: bytes, right: bytes, options: TrainOptions) -> bytes:
    """The string of a merged token: the right part loses its continuing prefix (``to`` + ``##ken`` is ``token``)."""
    if options.continuing_prefix is not None:
        right = right.removeprefix(options.continuing_prefix.encode())
    return left + right


def text_length(symbol: bytes, options: TrainOptions) -> int:
    """Bytes or characters of the text that a start symbol covers; a separate mark covers none."""
    is_separate_mark = options.end_of_word_mark == "separate" and symbol.decode() == options.end_of_word
    return 0 if is_separate_mark else 1


def is_too_long(length: int, options: TrainOptions) -> bool:
    return options.max_token_length is not None and length > options.max_token_length


def gpt2_character(byte: int) -> str:
    """GPT-2's printable character for a byte: itself where it prints, else the next one from U+0100 on."""
    prints = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    if byte in prints:
        return chr(byte)
    return chr(256 + [other for other in range(256) if other not in prints].index(byte))


def encode(pretoken: bytes | str, model: Model, merges: int | None = None) -> list[int]:
    """The ids of one pretoken: its start symbols, with the first ``merges`` merges (all by default) applied in order.

    ``BARRIER`` stands for a character outside the alphabet.
    """
    start = len(model.options.special_tokens)
    ids = {model.tokens[place]: place for place in range(start, model.first_merge_id)}
    word = [ids.get(symbol, BARRIER) for symbol in symbols(pretoken, model.options)]
    for merge in model.merges[:merges]:
        word = merge_pair(word, (merge.left, merge.right), merge.new)
    return word


def pieces(pretoken: bytes | str, model: Model, merges: int | None = None) -> list[bytes]:
    """As ``encode``, but the tokens' strings; the unknown token's string for a character outside the alphabet."""
    unknown = (model.options.unk_token or "").encode()
    return [unknown if token == BARRIER else model.tokens[token] for token in encode(pretoken, model, merges)]


def corpus_tokens(pretokens: Pretokens, model: Model, merges: int | None = None) -> int:
    """How many tokens the corpus is after the first ``merges`` merges."""
    return sum(count * len(encode(text, model, merges)) for text, count in pretokens)
