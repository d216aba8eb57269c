"""Tokenizers by name: the published encodings, the models that use them, units; and by path."""

from __future__ import annotations

import dataclasses
import difflib
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tokenize_lib.backends.units import UNITS, Units
from tokenize_lib.errors import OptionError
from tokenize_lib.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoding:
    """A published encoding.

    Attributes:
        ranks: The rank file, a name of ``tokenize_lib.rank_files.RANK_FILES``.
        pretokenizer: A name of ``tokenize_lib.pretokenizers.PRETOKENIZERS``.
        special_tokens: The special tokens and their ids.
    """

    ranks: str
    pretokenizer: str
    special_tokens: Mapping[str, int]


_O200K = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
_HARMONY = {
    "<|startoftext|>": 199_998,
    "<|return|>": 200_002,
    "<|constrain|>": 200_003,
    "<|channel|>": 200_005,
    "<|start|>": 200_006,
    "<|end|>": 200_007,
    "<|message|>": 200_008,
    "<|call|>": 200_012,
}
_FILL_IN = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


def _harmony() -> dict[str, int]:
    named = {**_O200K, **_HARMONY}
    unused = set(range(200_000, 201_088)) - set(_HARMONY.values())
    # The place of <|endofprompt|> is reserved as well: two texts are one id.
    return {**named, **{f"<|reserved_{place}|>": place for place in sorted(unused)}}


ENCODINGS: Mapping[str, Encoding] = MappingProxyType(
    {
        "o200k_base": Encoding(ranks="o200k_base", pretokenizer="o200k", special_tokens=_O200K),
        "cl100k_base": Encoding(
            ranks="cl100k_base",
            pretokenizer="cl100k",
            special_tokens={
                "<|endoftext|>": 100_257,
                **{token: place for place, token in enumerate(_FILL_IN, start=100_258)},
                "<|endofprompt|>": 100_276,
            },
        ),
        "p50k_base": Encoding(ranks="p50k_base", pretokenizer="gpt2", special_tokens={"<|endoftext|>": 50_256}),
        "r50k_base": Encoding(ranks="r50k_base", pretokenizer="gpt2", special_tokens={"<|endoftext|>": 50_256}),
        "gpt2": Encoding(ranks="r50k_base", pretokenizer="gpt2", special_tokens={"<|endoftext|>": 50_256}),
        "p50k_edit": Encoding(
            ranks="p50k_base",
            pretokenizer="gpt2",
            special_tokens={
                "<|endoftext|>": 50_256,
                **{token: place for place, token in enumerate(_FILL_IN, start=50_281)},
            },
        ),
        "o200k_harmony": Encoding(ranks="o200k_base", pretokenizer="o200k", special_tokens=_harmony()),
    }
)
"""The encodings by name, as tiktoken 0.14.0 has them in ``tiktoken_ext/openai_public.py``."""

_loaded: dict[str, Tokenizer] = {}
_lock = threading.RLock()


def load_tokenizer(spec: str, *, pretokenizer: str | None = None) -> Tokenizer:
    """Load a tokenizer; a name that was loaded before in this process gives the same one again.

    Args:
        spec: The name of an encoding (``o200k_base``), of a model (``gpt-4o``), ``chars``, ``words`` or ``bytes``; or
            the local path of a run of ``tokenbeam train``, of a ``tokenizer.json``, of a file of tiktoken's ranks, or
            of a sentencepiece ``.model``. A file that has such a name is given as ``./o200k_base``.
        pretokenizer: For tiktoken's ranks, which do not say it: where text is cut, as `PretokenizeOptions` has it.

    Raises:
        OptionError: There is no such tokenizer.
        InputError: A file cannot be read, or holds no tokenizer.
    """
    if not spec.strip():
        raise OptionError("--tokenizer is empty: give a name such as o200k_base, or a path")
    if spec in ENCODINGS or spec in UNITS:
        return _named(spec)
    if Path(spec).exists() or _reads_as_path(spec):
        from tokenize_lib.tokenizer_files import TokenizerFiles, tokenizer_of_files  # noqa: PLC0415

        return tokenizer_of_files(TokenizerFiles.read(Path(spec), pretokenizer))
    encoding = encoding_for_model(spec)
    if encoding is None:
        raise OptionError(_no_such(spec))
    return _named(encoding)


def encoding_for_model(model: str) -> str | None:
    """Give the encoding that a model of OpenAI's uses, by tiktoken's table; None if it is not in there.

    Names with a date or behind ``ft:`` are found by how they begin.
    """
    from tiktoken.model import encoding_name_for_model  # noqa: PLC0415 - no other tokenizer needs the library

    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


def column_name(tokenizer: Tokenizer | str) -> str:
    """Give a tokenizer's name, or any, as a name for columns: ASCII letters, digits and ``_``; others become ``_``."""
    name = tokenizer if isinstance(tokenizer, str) else tokenizer.name
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _named(name: str) -> Tokenizer:
    with _lock:  # threads that ask at once share one
        found = _loaded.get(name)
        if found is None:
            found = _loaded[name] = Units(name) if name in UNITS else _load(name)
        return found


def _load(name: str) -> Tokenizer:
    # The kernel is loaded with the first encoding.
    from tokenize_lib.backends.kernel import BytePairTokenizer  # noqa: PLC0415
    from tokenize_lib.byte_pairs import BytePairs  # noqa: PLC0415
    from tokenize_lib.rank_files import RANK_FILES, read_ranks  # noqa: PLC0415
    from tokenize_lib.training_options import PretokenizeOptions  # noqa: PLC0415

    encoding = ENCODINGS[name]
    parts = BytePairs(
        tokens=read_ranks(encoding.ranks),
        cut=PretokenizeOptions(pretokenizer=encoding.pretokenizer),
        special=encoding.special_tokens,
    )
    return BytePairTokenizer(name, RANK_FILES[encoding.ranks].published_sha256, parts, (_named, (name,)))


def _reads_as_path(spec: str) -> bool:
    return "/" in spec or spec.endswith((".json", ".tiktoken", ".model"))


def _no_such(spec: str) -> str:
    from tiktoken.model import MODEL_TO_ENCODING  # noqa: PLC0415

    names = [*ENCODINGS, *UNITS, *MODEL_TO_ENCODING]
    near = difflib.get_close_matches(spec, names, n=3)
    meant = f"; did you mean {' or '.join(near)}" if near else ""
    return (
        f"--tokenizer {spec!r}: no such tokenizer or file{meant}? There are {', '.join((*ENCODINGS, *UNITS))}, "
        "OpenAI's models by name, and by path a training run, a tokenizer.json, a .tiktoken and a sentencepiece .model"
    )
