"""Tokenizers by name: the published encodings, the models that use them, units; and by path."""

from __future__ import annotations

import functools
import re

from tokenize_lib.backends.units import UNITS, Units
from tokenize_lib.errors import OptionError
from tokenize_lib.tokenizer import Tokenizer


def load_tokenizer(spec: str, *, pretokenizer: str | None = None) -> Tokenizer:
    """Load a tokenizer; one that was loaded before in this process is given again.

    Args:
        spec: The name of an encoding (``o200k_base``), of a model (``gpt-4o``), ``chars``, ``words`` or ``bytes``; or a
            local path.
        pretokenizer: For tiktoken ranks, which do not say it: where text is cut.

    Raises:
        OptionError: There is no such tokenizer.
        InputError: A file cannot be read, or holds no tokenizer.
    """
    del pretokenizer
    return _named(spec)


def column_name(tokenizer: Tokenizer | str) -> str:
    """Give the name for a column: ASCII letters, digits and ``_``; others become ``_``.

    Args:
        tokenizer: The tokenizer, or a name.
    """
    name = tokenizer if isinstance(tokenizer, str) else tokenizer.name
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


@functools.cache
def _named(name: str) -> Tokenizer:
    if name in UNITS:
        return Units(name)
    raise OptionError(f"no tokenizer {name!r}")
