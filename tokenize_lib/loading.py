"""Loading a trained vocabulary from what `tokenbeam train` or others wrote."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tokenize_lib.errors import InputError
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
from tokenize_lib.vocabulary import Vocabulary

_MERGE_COLUMNS = ("left_id", "right_id", "pair_count", "replaced")


def load(path: str | Path, pretokenize: PretokenizeOptions | None = None) -> Vocabulary:
    """Load a vocabulary.

    Args:
        path: The directory of a finished training run, a ``tokenizer.json``, or a file of tiktoken ranks.
        pretokenize: For tiktoken ranks, which do not say it: where text is cut. The default is o200k.

    Raises:
        InputError: There is no such file, or it holds no vocabulary that this encoder can run.
    """
    path = Path(path)
    if path.is_dir():
        return _load_run(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix == ".json":
        return tokenizer_json.read(content.decode(errors="replace"), str(path))
    return tiktoken_ranks.read(content, pretokenize or PretokenizeOptions(), str(path))


def _load_run(directory: Path) -> Vocabulary:
    record = directory / "run.json"
    if not record.exists():
        raise InputError(f"{directory} holds no finished run (no run.json): finish it with --resume")
    options = _options(json.loads(record.read_text())["options"])
    vocab: Any = pq.read_table(directory / "vocab.parquet")
    merges: Any = pq.read_table(directory / "merges.parquet")
    columns = (merges[name].combine_chunks() for name in _MERGE_COLUMNS)
    return Vocabulary(
        options,
        vocab["token"].to_pylist(),
        sum(kind == "alphabet" for kind in vocab["kind"].to_pylist()),
        *columns,
    )


def _options(found: dict[str, Any]) -> TrainOptions:
    pretokenize = _known(PretokenizeOptions, found["pretokenize"])
    pretokenize["special_tokens"] = tuple(pretokenize["special_tokens"])
    return TrainOptions(**{**_known(TrainOptions, found), "pretokenize": PretokenizeOptions(**pretokenize)})


def _known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    return {field.name: values[field.name] for field in dataclasses.fields(kind) if field.name in values}
