"""Each engine gives the bytes that the default runner gives."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from tests.engines.commands import SAMPLE, hashes, run_command
from tests.engines.conftest import Engine

Expected = Callable[[Sequence[str]], dict[str, str]]
TOKENIZERS = ("--tokenizer", "o200k_base", "--tokenizer", "words")
SEVERAL_ROUNDS = ("--vocab-size", "3000", "--memory", "160MiB")


def _bytes_from(engine: Engine, arguments: Sequence[str], directory: Path) -> dict[str, str]:
    ended = run_command(
        [*arguments, "-o", str(directory / "out"), "--", *engine.beam_args], log=directory / "command.log"
    )
    assert ended.returncode == 0, ended.stdout
    return hashes(directory / "out")


def test_training_on_jsonl_text_and_compressed_files(engine: Engine, expected: Expected, tmp_path: Path) -> None:
    arguments = ["train", *SAMPLE, "--vocab-size", "2000"]
    assert _bytes_from(engine, arguments, tmp_path) == expected(arguments)


def test_training_in_several_rounds(engine: Engine, corpus: Path, expected: Expected, tmp_path: Path) -> None:
    arguments = ["train", str(corpus), *SEVERAL_ROUNDS]
    assert _bytes_from(engine, arguments, tmp_path) == expected(arguments)
    assert pq.read_metadata(tmp_path / "out" / "rounds.parquet").num_rows >= 3


def test_counting_with_two_tokenizers(engine: Engine, corpus: Path, expected: Expected, tmp_path: Path) -> None:
    arguments = ["count", *SAMPLE, str(corpus), *TOKENIZERS]
    assert _bytes_from(engine, arguments, tmp_path) == expected(arguments)
