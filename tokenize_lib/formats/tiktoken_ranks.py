"""``tokenizer.tiktoken``: a token a line, its bytes in base64, a space, its id.

The ids are those of ``vocab.parquet`` and ``tokenizer.json``: with special tokens they do not begin at 0. Special
tokens are not in the file. ``tiktoken.Encoding(**encoding_arguments(name, vocabulary))`` is the encoding; by hand it is
made from ``tiktoken.load.load_tiktoken_bpe`` (the ranks) and ``pattern``.

tiktoken joins the two neighbours whose joined bytes have the lowest id. That a trained vocabulary makes each token
through one pair only (docs/threshold-rounds.md, "One derivation") is why this encodes as replaying the merges does.

Source: https://github.com/openai/tiktoken/blob/main/tiktoken/load.py
"""

from binascii import b2a_base64
from typing import Any

from tokenize_lib.formats.patterns import REGEX_PREFIX, RUST_PATTERNS
from tokenize_lib.training_options import TrainOptions
from tokenize_lib.vocabulary import Vocabulary


def obstacle(options: TrainOptions) -> str | None:
    """Why tiktoken cannot encode as the training did, as a sentence; None if it can."""
    if options.alphabet != "bytes":
        return "tiktoken knows no alphabet but bytes"
    if options.pretokenize.normalize != "none" or options.pretokenize.lowercase:
        return "tiktoken does not normalize text"
    if pattern(options.pretokenize.pretokenizer) is None:
        return f"tiktoken cannot cut text as --pretokenizer {options.pretokenize.pretokenizer} does"
    return None


def pattern(pretokenizer: str) -> str | None:
    """Tiktoken's ``pat_str`` for a pretokenizer; None when no regular expression cuts as it does."""
    if pretokenizer.startswith(REGEX_PREFIX):
        given = pretokenizer.removeprefix(REGEX_PREFIX)
        # tiktoken drops what the pattern does not match; in training that is a pretoken of its own.
        return rf"(?:{given})|(?:(?!{given})[\s\S])+"
    return RUST_PATTERNS.get(pretokenizer)


def render(vocabulary: Vocabulary) -> bytes:
    """The content of the file.

    Raises:
        ValueError: There is an ``obstacle``.
    """
    problem = obstacle(vocabulary.options)
    if problem is not None:
        raise ValueError(problem)
    return b"".join([b"%b %d\n" % (b2a_base64(token, newline=False), rank) for token, rank in _ranks(vocabulary)])


def encoding_arguments(name: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """The arguments of ``tiktoken.Encoding``; its ids are this vocabulary's.

    Raises:
        ValueError: There is an ``obstacle``.
    """
    problem = obstacle(vocabulary.options)
    if problem is not None:
        raise ValueError(problem)
    return {
        "name": name,
        "pat_str": pattern(vocabulary.options.pretokenize.pretokenizer),
        "mergeable_ranks": dict(_ranks(vocabulary)),
        "special_tokens": {token: place for place, token in enumerate(vocabulary.options.special_tokens)},
    }


def _ranks(vocabulary: Vocabulary) -> list[tuple[bytes, int]]:
    first = vocabulary.special_size
    return [(token, rank) for rank, token in enumerate(vocabulary.tokens[first:], start=first)]
