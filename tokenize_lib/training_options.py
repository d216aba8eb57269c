"""What decides a trained vocabulary: every option that changes its bytes, checked once, written into run.json.

How fast a run is, how much memory it takes and where it runs is decided elsewhere: those change no byte of the result.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal, get_args

from tokenize_lib.errors import OptionError

Normalization = Literal["none", "nfc", "nfd", "nfkc", "nfkd"]
Alphabet = Literal["bytes", "characters"]
EndOfWordMark = Literal["attached", "separate"]
TieBreak = Literal["ids", "first-seen"]

MODELS = ("bpe", "wordpiece", "unigram")
BYTES_IN_ALPHABET = 256
_MOST_TOKENS = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretokenizeOptions:
    """How a document becomes pretokens. Encoding with the vocabulary must use the same, or its tokens differ.

    Attributes:
        pretokenizer: Where documents are cut; merges never cross a cut. A name (``gpt2``, ``cl100k``, ``o200k``,
            ``whitespace``, ``bert``, ``metaspace``, ``space-prefixed``, ``none``) or ``regex:PATTERN``. ``none`` lets
            tokens span words, which suits scripts without spaces and costs more time.
        normalize: Unicode normalization before the cut. ``none`` keeps text lossless; the others make texts that look
            alike share tokens, and decoding then gives the normalized text.
        lowercase: Lower-case before the cut: a smaller vocabulary, and capitals are lost.
        special_tokens: Texts that are one token each, cut out first and never merged; they take the ids from 0 on, in
            this order.

    Raises:
        OptionError: A value is not one of these, or a special token is empty or given twice.
    """

    pretokenizer: str = "o200k"
    normalize: Normalization = "none"
    lowercase: bool = False
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.pretokenizer:
            raise OptionError("--pretokenizer is empty: give a name such as o200k, or regex:PATTERN")
        if self.pretokenizer == "regex:":
            raise OptionError("--pretokenizer regex: has no pattern: write one behind the colon")
        _require_unicode("--pretokenizer", self.pretokenizer)
        _require_one_of("--normalize", self.normalize, get_args(Normalization))
        _require_distinct_texts("--special-token", self.special_tokens)

    def as_dict(self) -> dict[str, object]:
        """Give the options as JSON values, in the order of the fields."""
        return {**dataclasses.asdict(self), "special_tokens": list(self.special_tokens)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """What is trained. Two runs with equal options on equal documents give equal bytes, wherever they run.

    Attributes:
        model: ``bpe``. Frequency WordPiece is ``bpe`` on characters with a ``continuing_prefix``.
        vocab_size: Entries of the vocabulary: special tokens, start alphabet and merges together. Fewer come out when
            no pair is left that counts ``min_frequency``.
        alphabet: What is merged. With ``bytes`` nothing is ever unknown and any text comes back whole; with
            ``characters`` (code points) a character that training did not keep is unknown.
        unk_token: Stands for characters outside the alphabet; a special token, put before the others when it is not
            among them. Without one, such characters cannot be encoded.
        character_coverage: Share of the corpus' characters (by occurrence) that the alphabet must cover; the rarest
            beyond it become ``unk_token``. Under 1 it keeps stray characters from taking up the vocabulary.
        end_of_word: Text that marks the end of a pretoken, so that ``est`` at the end of a word and inside are
            different tokens (Sennrich et al. 2016, https://aclanthology.org/P16-1162).
        end_of_word_mark: ``separate``: the mark is a symbol of its own behind the last character, as in the paper;
            ``attached``: it belongs to the last character, as in subword-nmt since 0.2 and Hugging Face tokenizers.
            By default ``separate`` with ``tie_break`` ``first-seen`` (the paper's teaching rule), else ``attached``.
        continuing_prefix: Text before every symbol that does not begin a pretoken (``##``, as BERT's vocabulary has).
        max_token_length: Longest token a merge may make: bytes with alphabet ``bytes``, code points with
            ``characters``, marks not counted. None: no limit.
        min_frequency: Training ends when the best pair counts less. Rare merges spend vocabulary on noise.
        tie_break: Which of the pairs with the same best count is merged first: the one with the smallest ids, or the
            one that stands first in the corpus (files in the order of their paths). The second costs 16 bytes more a
            pretoken.
        pretokenize: How documents become pretokens.

    Raises:
        OptionError: A value is out of range, or two options exclude each other.
    """

    model: str = "bpe"
    vocab_size: int = 32_000
    alphabet: Alphabet = "bytes"
    unk_token: str | None = None
    character_coverage: float = 1.0
    end_of_word: str | None = None
    end_of_word_mark: EndOfWordMark | None = None
    continuing_prefix: str | None = None
    max_token_length: int | None = None
    min_frequency: int = 2
    tie_break: TieBreak = "ids"
    pretokenize: PretokenizeOptions = dataclasses.field(default_factory=PretokenizeOptions)

    def __post_init__(self) -> None:
        self._check_model()
        _require_one_of("--alphabet", self.alphabet, get_args(Alphabet))
        _require_one_of("--tie-break", self.tie_break, get_args(TieBreak))
        _require_at_least("--min-frequency", self.min_frequency, 1)
        if self.max_token_length is not None:
            _require_at_least("--max-token-length", self.max_token_length, 1)
        self._check_characters_only()
        self._check_coverage()
        self._settle_end_of_word_mark()
        self._settle_unk_token()
        self._check_vocab_size()

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens in the order of their ids, ``unk_token`` among them."""
        return self.pretokenize.special_tokens

    def as_dict(self) -> dict[str, object]:
        """Give the options as JSON values, in the order of the fields; ``pretokenize`` is a dictionary inside."""
        return {**dataclasses.asdict(self), "pretokenize": self.pretokenize.as_dict()}

    def _check_model(self) -> None:
        _require_one_of("--model", self.model, MODELS)
        if self.model != "bpe":
            raise OptionError(
                f"--model {self.model}: only bpe is trained in this version; "
                "--model bpe --alphabet characters --continuing-prefix '##' trains WordPiece by frequency"
            )

    def _check_characters_only(self) -> None:
        for flag, value in (
            ("--unk-token", self.unk_token),
            ("--end-of-word", self.end_of_word),
            ("--continuing-prefix", self.continuing_prefix),
        ):
            if value is None:
                continue
            _require_unicode(flag, value)
            if not value:
                raise OptionError(f"{flag} is empty: give the text of the mark, or leave the option out")
            if self.alphabet != "characters":
                raise OptionError(f"{flag} {value!r} needs --alphabet characters; the alphabet is {self.alphabet}")
        if self.end_of_word is not None and self.continuing_prefix is not None:
            raise OptionError("--end-of-word and --continuing-prefix both mark where words end: give one of them")

    def _check_coverage(self) -> None:
        coverage = self.character_coverage
        if not 0 < coverage <= 1:
            raise OptionError(f"--character-coverage {coverage} is not over 0 and at most 1 (0.9995 is usual)")
        if coverage < 1 and self.unk_token is None:
            raise OptionError(
                f"--character-coverage {coverage} leaves characters out: say with --unk-token what stands for them"
            )

    def _settle_end_of_word_mark(self) -> None:
        if self.end_of_word is None:
            if self.end_of_word_mark is not None:
                raise OptionError(f"--end-of-word-mark {self.end_of_word_mark} needs --end-of-word, such as '</w>'")
            return
        mark = self.end_of_word_mark or ("separate" if self.tie_break == "first-seen" else "attached")
        _require_one_of("--end-of-word-mark", mark, get_args(EndOfWordMark))
        object.__setattr__(self, "end_of_word_mark", mark)

    def _settle_unk_token(self) -> None:
        if self.unk_token is None or self.unk_token in self.pretokenize.special_tokens:
            return
        special_tokens = (self.unk_token, *self.pretokenize.special_tokens)
        object.__setattr__(self, "pretokenize", dataclasses.replace(self.pretokenize, special_tokens=special_tokens))

    def _check_vocab_size(self) -> None:
        alphabet_size = BYTES_IN_ALPHABET if self.alphabet == "bytes" else 1
        smallest = len(self.special_tokens) + alphabet_size
        if self.vocab_size > _MOST_TOKENS:
            raise OptionError(f"--vocab-size {self.vocab_size} is too large: give at most {_MOST_TOKENS} (32-bit ids)")
        if self.vocab_size < smallest:
            alphabet = "the 256 bytes" if self.alphabet == "bytes" else "one character"
            specials = f" and {len(self.special_tokens)} special tokens" if self.special_tokens else ""
            raise OptionError(
                f"--vocab-size {self.vocab_size} has no room for {alphabet}{specials}: give at least {smallest}"
            )


def _require_one_of(flag: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(f"{flag} {value!r} is not one of {', '.join(allowed)}")


def _require_at_least(flag: str, value: int, smallest: int) -> None:
    if value < smallest:
        raise OptionError(f"{flag} {value} is too small: give at least {smallest}")


def _require_unicode(flag: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{flag} {text!r} is not UTF-8: give it as Unicode text") from None


def _require_distinct_texts(flag: str, texts: Sequence[str]) -> None:
    seen = set()
    for text in texts:
        if not text:
            raise OptionError(f"{flag} is empty: give the text of the token")
        _require_unicode(flag, text)
        if text in seen:
            raise OptionError(f"{flag} {text!r} is given twice: leave one out")
        seen.add(text)
