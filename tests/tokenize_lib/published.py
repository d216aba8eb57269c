"""The published encodings, run by tiktoken on the ranks of this package; nothing is downloaded."""

import functools
import inspect
from unittest.mock import patch

import tiktoken
from tiktoken_ext import openai_public

from tokenize_lib.encodings import ENCODINGS
from tokenize_lib.rank_files import read_ranks


@functools.cache
def published(name: str) -> tiktoken.Encoding:
    tokens = read_ranks(ENCODINGS[name].ranks).to_pylist()
    ranks = {token: rank for rank, token in enumerate(tokens) if token is not None}
    loaders = {name for name, _ in inspect.getmembers(openai_public, inspect.isfunction) if name.endswith("_ranks")}
    with patch.multiple(openai_public, **dict.fromkeys({*loaders, "load_tiktoken_bpe"}, lambda *_, **__: ranks)):
        arguments = openai_public.ENCODING_CONSTRUCTORS[name]()
    return tiktoken.Encoding(**arguments)
