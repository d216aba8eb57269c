"""``tokenizer.json``: the file that Hugging Face ``tokenizers`` saves and loads.

The text is byte for byte what ``Tokenizer.save(path, pretty=True)`` writes for a tokenizer that is configured and
trained alike. Source: https://github.com/huggingface/tokenizers (version "1.0" of the file).
"""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring as quoted

from tokenize_lib.errors import OptionError
from tokenize_lib.formats import hugging_face
from tokenize_lib.formats.byte_characters import CHARACTERS
from tokenize_lib.training_options import TrainOptions
from tokenize_lib.vocabulary import Vocabulary

_EMPTY_MODEL = '"vocab": {},\n    "merges": []\n  }\n}'


def obstacle(vocabulary: Vocabulary) -> str | None:
    """Why no ``tokenizer.json`` can encode as the training did, as a sentence; None if one can."""
    return _obstacle(vocabulary.options, _quoted_tokens(vocabulary))


def _obstacle(options: TrainOptions, tokens: Sequence[str]) -> str | None:
    if options.end_of_word_mark == "separate":
        return (
            "Hugging Face tokenizers has no end-of-word mark that is a symbol of its own: "
            "train with --end-of-word-mark attached to get a tokenizer.json"
        )
    try:
        hugging_face.pre_tokenizer(options)
    except OptionError as error:
        return str(error)
    if len(set(tokens)) < len(tokens):
        return "a special token is written like another token: give it another text to get a tokenizer.json"
    return None


def render(vocabulary: Vocabulary) -> str:
    """The text of the file.

    Raises:
        ValueError: There is an ``obstacle``.
    """
    tokens = _quoted_tokens(vocabulary)
    problem = _obstacle(vocabulary.options, tokens)
    if problem is not None:
        raise ValueError(problem)
    vocab = ",\n".join([f"      {token}: {place}" for place, token in enumerate(tokens)])
    pairs = zip(vocabulary.left_ids.to_numpy().tolist(), vocabulary.right_ids.to_numpy().tolist(), strict=True)
    merges = ",\n".join(
        [f"      [\n        {tokens[left]},\n        {tokens[right]}\n      ]" for left, right in pairs]
    )
    frame = json.dumps(_without_vocabulary(vocabulary.options), ensure_ascii=False, indent=2)
    model = f'"vocab": {{\n{vocab}\n    }},\n    "merges": ' + (f"[\n{merges}\n    ]" if merges else "[]") + "\n  }\n}"
    return frame.removesuffix(_EMPTY_MODEL) + model


def _without_vocabulary(options: TrainOptions) -> dict[str, object]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": place,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for place, token in enumerate(options.special_tokens)
        ],
        "normalizer": hugging_face.normalizer(options.pretokenize),
        "pre_tokenizer": hugging_face.pre_tokenizer(options),
        "post_processor": None,
        "decoder": hugging_face.decoder(options),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": options.unk_token,
            "continuing_subword_prefix": options.continuing_prefix,
            "end_of_word_suffix": options.end_of_word,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {},
            "merges": [],
        },
    }


def _quoted_tokens(vocabulary: Vocabulary) -> list[str]:
    """Each token as a JSON string. A merged token's is put together from its parts', which saves quoting it."""
    is_bytes = vocabulary.options.alphabet == "bytes"
    alphabet = [CHARACTERS[symbol[0]] if is_bytes else symbol.decode() for symbol in vocabulary.alphabet]
    inner = [quoted(token)[1:-1] for token in (*vocabulary.options.special_tokens, *alphabet)]
    prefix = quoted(vocabulary.options.continuing_prefix or "")[1:-1]
    pairs = zip(vocabulary.left_ids.to_numpy().tolist(), vocabulary.right_ids.to_numpy().tolist(), strict=True)
    for left, right in pairs:
        inner.append(inner[left] + inner[right].removeprefix(prefix))
    return [f'"{token}"' for token in inner]
