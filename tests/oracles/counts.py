"""Counting, written plainly: a row a document, and sums and quantiles by looking at all documents."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

WHITE_SPACE = "".join(map(chr, [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F]))
_WORD = re.compile(f"[^{WHITE_SPACE}\u205f\u3000]+")

UNITS: dict[str, Callable[[str], int]] = {
    "bytes": lambda text: len(text.encode()),
    "chars": len,
    "words": lambda text: len(_WORD.findall(text)),
}


@dataclass(frozen=True)
class Document:
    source: str
    position: int
    text: str
    id: str | None = None
    groups: tuple[str | None, ...] = ()


def document_row(
    document: Document, group_columns: Sequence[str], tokenizers: dict[str, Callable[[str], int]]
) -> dict[str, object]:
    return {
        "source": document.source,
        "position": document.position,
        "id": document.id,
        **dict(zip(group_columns, document.groups, strict=True)),
        "bytes": UNITS["bytes"](document.text),
        "characters": UNITS["chars"](document.text),
        "words": UNITS["words"](document.text),
        **{f"tokens_{name}": count(document.text) for name, count in tokenizers.items()},
    }


def summary(
    documents: Sequence[Document],
    group_columns: Sequence[str],
    tokenizers: dict[str, Callable[[str], int]],
    context_limits: Sequence[int],
) -> list[dict[str, object]]:
    groups = sorted({document.groups for document in documents}, key=lambda g: [(v is not None, v or "") for v in g])
    nothing = dict.fromkeys(group_columns)
    rows = [{"whole": True, **nothing, **_figures(documents, tokenizers, context_limits)}]
    for group in groups if group_columns else []:
        members = [document for document in documents if document.groups == group]
        named = dict(zip(group_columns, group, strict=True))
        rows.append({"whole": False, **named, **_figures(members, tokenizers, context_limits)})
    return rows


def _figures(
    documents: Sequence[Document], tokenizers: dict[str, Callable[[str], int]], context_limits: Iterable[int]
) -> dict[str, object]:
    texts = [document.text for document in documents]
    size, characters, words = (sum(map(UNITS[unit], texts)) for unit in ("bytes", "chars", "words"))
    row: dict[str, object] = {
        "documents": len(texts),
        "empty": texts.count(""),
        "bytes": size,
        "characters": characters,
        "words": words,
    }
    for name, count in tokenizers.items():
        counts = [count(text) for text in texts]
        tokens = sum(counts)
        row[f"tokens_{name}"] = tokens
        row[f"mean_{name}"] = tokens / len(counts)
        for hundredths in (50, 90, 95, 99):
            row[f"p{hundredths}_{name}"] = nearest_rank(counts, hundredths)
        row[f"max_{name}"] = max(counts)
        row[f"characters_per_token_{name}"] = characters / tokens if tokens else None
        row[f"bytes_per_token_{name}"] = size / tokens if tokens else None
        row[f"tokens_per_word_{name}"] = tokens / words if words else None
        for limit in context_limits:
            row[f"over_{limit}_{name}"] = sum(value > limit for value in counts)
    return row


def nearest_rank(counts: Sequence[int], hundredths: int) -> int:
    """As numpy defines it; the fraction is exact, where a double nearest to it may name the next rank."""
    ordered = sorted(counts)
    numpys = int(np.quantile(ordered, hundredths / 100, method="inverted_cdf"))
    rank = next(rank for rank in range(1, len(ordered) + 1) if 100 * rank >= hundredths * len(ordered))
    if len(ordered) * hundredths % 100:
        assert ordered[rank - 1] == numpys
    return ordered[rank - 1]
