"""Byte-pair encoding on bytes, taken apart: what files of several formats hold, and what the kernel runs."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa

from tokenize_lib.training_options import PretokenizeOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class BytePairs:
    """What byte-pair encoding on bytes is made of.

    Attributes:
        tokens: ``large_binary``, the bytes of each id; null where the model has no such id, as for special tokens.
        merges: ``left``, ``right`` and ``new``, ``uint32``, in the order of their ranks. None: by tiktoken's rule
            neighbours merge if their bytes together are a token, the lowest id first.
        whole_pretokens: A pretoken that is a token is that token, whatever its merges would give.
        cut: How texts become pretokens; its special tokens are not looked at.
        special: Special tokens and their ids; they are text unless a caller allows them.
        added: Texts that always are one token, and their ids.
        unreachable: Tokens that no text becomes, and their ids.
    """

    tokens: pa.LargeBinaryArray
    merges: pa.RecordBatch | None = None
    whole_pretokens: bool = True
    cut: PretokenizeOptions
    special: Mapping[str, int] = dataclasses.field(default_factory=dict)
    added: Mapping[str, int] = dataclasses.field(default_factory=dict)
    unreachable: Mapping[str, int] = dataclasses.field(default_factory=dict)
