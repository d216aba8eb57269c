"""The ``tokenizer.json`` files that the kernel can run: byte-level BPE, cut by one pattern. Of whatever origin.

What a file may have, and what it means, is read from https://github.com/huggingface/tokenizers (0.23).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from tokenize_lib.byte_pairs import BytePairs
from tokenize_lib.formats.byte_characters import BYTES
from tokenize_lib.formats.hugging_face import read_normalizer, read_pre_tokenizer
from tokenize_lib.pretokenizers import PRETOKENIZERS
from tokenize_lib.training_options import PretokenizeOptions

Json = dict[str, Any]

_NO_OTHER_MODEL = ("dropout", "byte_fallback", "continuing_subword_prefix", "end_of_word_suffix")
_NOT_IN_PLACE = ("single_word", "lstrip", "rstrip")


def byte_pairs_of(document: Json) -> BytePairs | None:
    """Give what a file's tokenizer is made of; None if the kernel would not encode exactly as Hugging Face does.

    Padding, truncation and what a post-processor adds are left out.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: It is no such file.
    """
    model = document["model"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model or any(map(model.get, _NO_OTHER_MODEL)):
        return None
    cut = _cut(document.get("pre_tokenizer"), document.get("normalizer"))
    vocab: dict[str, int] = model["vocab"]
    added = document.get("added_tokens") or []
    if cut is None or not _are_plain(added, vocab, is_normalized=cut.normalize != "none" or cut.lowercase):
        return None
    tokens = {place: _bytes_of(token) for token, place in vocab.items()}
    if (
        model.get("unk_token") is not None
        and len({token for token in tokens.values() if token and len(token) == 1}) < 256
    ):
        return None
    ids = {token["content"]: token["id"] for token in added}
    size = max(vocab.values(), default=-1) + 1
    return BytePairs(
        tokens=pa.array([tokens.get(place) for place in range(size)], pa.large_binary()),
        merges=_merges(model["merges"], vocab),
        whole_pretokens=bool(model.get("ignore_merges")),
        cut=cut,
        special={token["content"]: token["id"] for token in added if token["special"]},
        added={token["content"]: token["id"] for token in added if not token["special"]},
        unreachable={token: place for token, place in vocab.items() if tokens[place] is None and token not in ids},
    )


def _cut(pre_tokenizer: Json | None, normalizer: Json | None) -> PretokenizeOptions | None:
    parts = [_with_defaults(part) for part in _parts(pre_tokenizer, "pretokenizers")]
    removes = [part for part in parts if part.get("behavior") == "Removed" and part.get("invert") is True]
    for part in removes:  # what no match has is dropped, which is nothing where the pattern matches all of a text
        part.update(behavior="Isolated", invert=False)
    cut = read_pre_tokenizer(_one_or_sequence(parts, "pretokenizers"))
    normal = read_normalizer(_one_or_sequence(_parts(normalizer, "normalizers"), "normalizers"))
    if cut is None or normal is None or cut[0] != "bytes" or (removes and cut[1] not in PRETOKENIZERS):
        return None
    return PretokenizeOptions(pretokenizer=cut[1], normalize=normal[0], lowercase=normal[1])


def _with_defaults(part: Json) -> Json:
    if part["type"] != "ByteLevel":
        return dict(part)
    # Offsets are trimmed by the post-processor alone.
    return {"add_prefix_space": True, "use_regex": True, **part, "trim_offsets": True}


def _parts(value: Json | None, plural: str) -> list[Json]:
    if value is None:
        return []
    return (
        [inner for part in value[plural] for inner in _parts(part, plural)] if value["type"] == "Sequence" else [value]
    )


def _one_or_sequence(parts: list[Json], plural: str) -> Json | None:
    if len(parts) > 1:
        return {"type": "Sequence", plural: parts}
    return parts[0] if parts else None


def _bytes_of(token: str) -> bytes | None:
    try:
        return bytes(map(BYTES.__getitem__, token))
    except KeyError:
        return None


def _merges(pairs: list[Any], vocab: dict[str, int]) -> pa.RecordBatch:
    rows = [pair.split(" ") if isinstance(pair, str) else pair for pair in pairs]
    ids = [(vocab[left], vocab[right], vocab[left + right]) for left, right in rows]
    left, right, new = np.array(ids, np.uint32).reshape(-1, 3).T
    return pa.RecordBatch.from_pydict({"left": pa.array(left), "right": pa.array(right), "new": pa.array(new)})


def _are_plain(added: list[Json], vocab: dict[str, int], *, is_normalized: bool) -> bool:
    """True if added tokens have the ids that the file says, and one search for all finds what Hugging Face's do."""
    texts = [token["content"] for token in added]
    if any(token[flag] for token in added for flag in _NOT_IN_PLACE) or "" in texts or len({*texts}) < len(texts):
        return False
    if is_normalized and any(token["normalized"] for token in added):
        return False
    next_id = len(vocab)  # ids of the file count only where they are what adding one by one gives
    for token in added:
        expected = vocab.get(token["content"], next_id)
        if token["id"] != expected:
            return False
        next_id = max(next_id, expected + 1)
    # It looks for some first, and skips others when they are text; that is one search unless their texts overlap.
    return all(
        _are_apart({t["content"] for t in added if t[flag]}, {t["content"] for t in added if not t[flag]})
        for flag in ("special", "normalized")
    )


def _are_apart(some: set[str], others: set[str]) -> bool:
    """True if no text of one set overlaps with one of the other."""
    if not some or not others:
        return True
    ends = [{text[cut:] for text in texts for cut in range(1, len(text))} for texts in (some, others)]
    starts = [{text[:cut] for text in texts for cut in range(1, len(text))} for texts in (some, others)]
    return not (
        ends[0] & starts[1] or ends[1] & starts[0] or _contains_one(some, others) or _contains_one(others, some)
    )


def _contains_one(texts: set[str], parts: Iterable[str]) -> bool:
    joined = "\0".join(texts)
    return any(part in joined for part in parts)
