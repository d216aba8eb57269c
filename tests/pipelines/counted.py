"""Directories as ``tokenbeam count`` leaves them, made from given counts."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.document_tokens import document_tokens

O200K = {"name": "o200k_base", "column": "o200k_base", "backend": "kernel", "spec": "gpt-4o"}
CL100K = {"name": "cl100k_base", "column": "cl100k_base", "backend": "kernel", "spec": "cl100k_base"}


def counted(directory, parts, *, groups=(), tokenizers=(O200K,), options=None, more=()):
    """Write a finished count.

    Args:
        directory: Where to.
        parts: Rows of each part, dictionaries: ``tokens`` (for all tokenizers, or a list of one each), group fields,
            ``id``, ``bytes`` and the columns of `more`.
        groups: Columns of group fields.
        tokenizers: As they stand in ``run.json``.
        options: More options for ``run.json``.
        more: Fields behind the others.
    """
    schema = document_tokens(groups, [tokenizer["column"] for tokenizer in tokenizers])
    for field in more:
        schema = schema.append(field)
    (directory / "documents").mkdir(parents=True)
    outputs = []
    for number, rows in enumerate(parts):
        name = f"documents/part-{number:05d}.parquet"
        table = pa.Table.from_pylist([full_row(row, place, tokenizers) for place, row in enumerate(rows)], schema)
        pq.write_table(table, directory / name)
        outputs.append({"name": name, "bytes": (directory / name).stat().st_size, "sha256": "", "rows": len(rows)})
    record = {
        "command": "count",
        "options": {"group_by": list(groups), "id_field": None, **(options or {})},
        "tokenizers": list(tokenizers),
        "outputs": outputs,
    }
    (directory / "run.json").write_text(json.dumps(record))
    return str(directory)


def full_row(row, place, tokenizers):
    tokens = row["tokens"] if isinstance(row["tokens"], list) else [row["tokens"]] * len(tokenizers)
    counts = {f"tokens_{t['column']}": count for t, count in zip(tokenizers, tokens, strict=True)}
    plain = {"source": "a.jsonl", "position": place, "bytes": 4, "characters": 4, "words": 1}
    return {**plain, **{name: value for name, value in row.items() if name != "tokens"}, **counts}
