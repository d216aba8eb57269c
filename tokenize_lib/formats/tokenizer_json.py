"""``tokenizer.json``: the file that Hugging Face ``tokenizers`` saves and loads.

The text is byte for byte what ``Tokenizer.save(path, pretty=True)`` writes for a tokenizer that is configured and
trained alike. Source: https://github.com/huggingface/tokenizers (version "1.0" of the file).
"""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring as quoted
from typing import Any

import pyarrow as pa

from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.formats import hugging_face
from tokenize_lib.formats.byte_characters import BYTES, CHARACTERS
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
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


def read(text: str, source: str) -> Vocabulary:
    """The vocabulary of a file that ``render`` wrote; ``source`` names it in errors. It has no pair counts.

    What the file does not tell (``min_frequency``, ``tie_break`` and the like) has its default in ``options``.

    Raises:
        InputError: It is not such a file.
    """
    try:
        document = json.loads(text)
        vocab: dict[str, int] = document["model"]["vocab"]
        pairs: list[tuple[str, str]] = document["model"]["merges"]
        options = _options_of(document)
        strings = sorted(vocab, key=vocab.__getitem__)
        first_merge_id = len(strings) - len(pairs)
        is_bytes = options.alphabet == "bytes"
        alphabet = [
            bytes(map(BYTES.__getitem__, string)) if is_bytes else string.encode()
            for string in strings[len(options.special_tokens) : first_merge_id]
        ]
        left_ids = pa.array([vocab[left] for left, _ in pairs], pa.int32())
        right_ids = pa.array([vocab[right] for _, right in pairs], pa.int32())
        vocabulary = Vocabulary.of_merges(options, alphabet, left_ids, right_ids)
        is_ours = json.loads(render(vocabulary)) == document
    except (ValueError, KeyError, TypeError, IndexError, OptionError) as error:
        raise InputError(f"{source}: not a tokenizer.json that tokenbeam wrote ({error!r})") from error
    if not is_ours:
        raise InputError(f"{source}: not a tokenizer.json that tokenbeam wrote (it has parts that tokenbeam has not)")
    return vocabulary


def _options_of(document: dict[str, Any]) -> TrainOptions:
    model = document["model"]
    cut = hugging_face.read_pre_tokenizer(document["pre_tokenizer"])
    normal = hugging_face.read_normalizer(document["normalizer"])
    if cut is None or normal is None:
        raise ValueError("an unknown normalizer or pre_tokenizer")
    (alphabet, pretokenizer), (normalize, lowercase) = cut, normal
    return TrainOptions(
        vocab_size=len(model["vocab"]),
        alphabet=alphabet,
        unk_token=model["unk_token"],
        end_of_word=model["end_of_word_suffix"],
        end_of_word_mark="attached" if model["end_of_word_suffix"] is not None else None,
        continuing_prefix=model["continuing_subword_prefix"],
        pretokenize=PretokenizeOptions(
            pretokenizer=pretokenizer,
            normalize=normalize,
            lowercase=lowercase,
            special_tokens=tuple(token["content"] for token in document["added_tokens"]),
        ),
    )


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
