"""What is computed: functions over Arrow arrays and tables. No Beam, no command line, no network, no clock.

To count and encode::

    from tokenize_lib import load_tokenizer

    tokenizer = load_tokenizer("o200k_base")
    tokenizer.count(texts), tokenizer.encode("low lower lowest")

To train, for data that fits in memory::

    from tokenize_lib import Encoder, PretokenizeOptions, TrainOptions, count_pretokens, train

    options = TrainOptions(vocab_size=8000, pretokenize=PretokenizeOptions(pretokenizer="gpt2"))
    vocabulary = train(count_pretokens(texts, options.pretokenize), options)
    ids = Encoder(vocabulary).encode("low lower lowest")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenize_lib.bpe import train
    from tokenize_lib.encoder import Encoder
    from tokenize_lib.encodings import load_tokenizer
    from tokenize_lib.errors import InputError, OptionError, OutputError, TokenbeamError
    from tokenize_lib.loading import load
    from tokenize_lib.pretokens import count_pretokens
    from tokenize_lib.tokenizer import Token, Tokenizer
    from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
    from tokenize_lib.vocabulary import Vocabulary

__all__ = [
    "Encoder",
    "InputError",
    "OptionError",
    "OutputError",
    "PretokenizeOptions",
    "Token",
    "TokenbeamError",
    "Tokenizer",
    "TrainOptions",
    "Vocabulary",
    "count_pretokens",
    "load",
    "load_tokenizer",
    "train",
]

_MODULES = {
    "Encoder": "encoder",
    "InputError": "errors",
    "OptionError": "errors",
    "OutputError": "errors",
    "PretokenizeOptions": "training_options",
    "Token": "tokenizer",
    "TokenbeamError": "errors",
    "Tokenizer": "tokenizer",
    "TrainOptions": "training_options",
    "Vocabulary": "vocabulary",
    "count_pretokens": "pretokens",
    "load": "loading",
    "load_tokenizer": "encodings",
    "train": "bpe",
}


def __getattr__(name: str) -> Any:
    # On demand: whoever wants only the options or the errors does not wait for Arrow and the kernel.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
