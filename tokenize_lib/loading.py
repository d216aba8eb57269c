"""Loading a trained vocabulary from what `tokenbeam train` or others wrote."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokenize_lib.errors import InputError
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions
from tokenize_lib.vocabulary import Vocabulary

RUN_FILES = ("run.json", "vocab.parquet", "merges.parquet")
"""The files of a training run that tell its vocabulary."""

_MERGE_COLUMNS = ("left_id", "right_id", "pair_count", "replaced")


def load(path: str | Path, pretokenize: PretokenizeOptions | None = None) -> Vocabulary:
    """Load a vocabulary: its tokens, merges and options. What counts and encodes is `tokenize_lib.load_tokenizer`.

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
    if not (directory / "run.json").exists():
        raise InputError(f"{directory} holds no finished run (no run.json): finish it with --resume")
    try:
        return read_run({name: (directory / name).read_bytes() for name in RUN_FILES}, str(directory))
    except OSError as error:
        raise InputError(f"{error.filename or directory} cannot be read: {error.strerror}") from error


def read_run(files: Mapping[str, bytes], place: str) -> Vocabulary:
    """The vocabulary of a finished training run.

    Args:
        files: The content of ``RUN_FILES``.
        place: What the run's directory is called in errors.

    Raises:
        InputError: One of them is damaged, or of another kind.
    """
    with _damage(f"{place}/run.json"):
        options = _options(json.loads(files["run.json"])["options"])
    with _damage(f"{place}/vocab.parquet"):
        vocab: Any = pq.read_table(pa.BufferReader(files["vocab.parquet"]), columns=["token", "kind"])
    with _damage(f"{place}/merges.parquet"):
        merges: Any = pq.read_table(pa.BufferReader(files["merges.parquet"]), columns=list(_MERGE_COLUMNS))
    columns = (merges[name].combine_chunks() for name in _MERGE_COLUMNS)
    return Vocabulary(
        options,
        vocab["token"].to_pylist(),
        sum(kind == "alphabet" for kind in vocab["kind"].to_pylist()),
        *columns,
    )


@contextlib.contextmanager
def _damage(path: str) -> Iterator[None]:
    """Name the file that cannot be used. Arrow raises an OSError or a ValueError for broken bytes."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path} is damaged, or not of a training run ({type(error).__name__}: {reason}): train anew, or name "
            "another tokenizer"
        ) from error


def _options(found: dict[str, Any]) -> TrainOptions:
    pretokenize = _known(PretokenizeOptions, found["pretokenize"])
    pretokenize["special_tokens"] = tuple(pretokenize["special_tokens"])
    return TrainOptions(**{**_known(TrainOptions, found), "pretokenize": PretokenizeOptions(**pretokenize)})


def _known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    return {field.name: values[field.name] for field in dataclasses.fields(kind) if field.name in values}
