"""Each engine gives the bytes that the default runner gives."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engines.commands import SAMPLE, hashes, run_command
from tests.engines.conftest import Engine

Expected = Callable[[Sequence[str]], dict[str, str]]
TOKENIZERS = ("--tokenizer", "o200k_base", "--tokenizer", "words")
BY_GROUP = (*TOKENIZERS, "--on-bad-record", "skip", "--group-by", "lang", "--id-field", "id")
SEVERAL_ROUNDS = ("--vocab-size", "3000", "--memory", "160MiB")


def _bytes_from(engine: Engine, arguments: Sequence[str], directory: Path) -> dict[str, str]:
    ended = run_command(
        [*arguments, "-o", str(directory / "out"), "--", *engine.beam_args], log=directory / "command.log"
    )
    assert ended.returncode == 0, ended.stdout
    return hashes(directory / "out")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JSON Lines of which two are bad, and Parquet."""
    directory = tmp_path_factory.mktemp("records")
    rows = [{"id": f"d{n}", "lang": "km" if n % 5 < 2 else "en", "text": f"{n} words of text" * n} for n in range(500)]
    lines = [json.dumps(row) for row in rows[:250]]
    lines[100:100] = ['{"id": "no text"}', "not JSON"]
    (directory / "one.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows[250:]), directory / "two.parquet", row_group_size=40)
    return directory


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


def test_counting_by_group_with_bad_records_set_aside(engine: Engine, expected: Expected, records: Path) -> None:
    directory = records / engine.name
    directory.mkdir()
    arguments = ["count", str(records / "one.jsonl"), str(records / "two.parquet"), *BY_GROUP]
    found = _bytes_from(engine, arguments, directory)
    assert found == expected(arguments)
    assert "bad_records/part-00000.parquet" in found
    groups = pq.read_table(directory / "out" / "summary.parquet", columns=["lang", "documents"]).to_pylist()
    assert groups == [
        {"lang": None, "documents": 500},
        {"lang": "en", "documents": 300},
        {"lang": "km", "documents": 200},
    ]


def test_counting_again_reads_only_what_is_new(flink_embedded: Engine, records: Path, tmp_path: Path) -> None:
    first = ["count", str(records / "one.jsonl"), *BY_GROUP]
    _bytes_from(flink_embedded, first, tmp_path)
    both = ["count", str(records / "one.jsonl"), str(records / "two.parquet"), *BY_GROUP]
    again = [*both, "--incremental", str(tmp_path / "out")]
    (tmp_path / "again").mkdir()
    (tmp_path / "anew").mkdir()
    assert _bytes_from(flink_embedded, again, tmp_path / "again") == _bytes_from(
        flink_embedded, both, tmp_path / "anew"
    )
    said = (tmp_path / "again" / "command.log").read_text(encoding="utf-8")
    assert "1 of 2 files" in said
