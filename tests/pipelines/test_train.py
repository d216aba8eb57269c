"""Training end to end: equal to the naive trainer, and the same bytes however it is run."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.oracles import bpe
from tests.pipelines.training import (
    GIB,
    RUNNERS,
    SMALL,
    VARIANTS,
    counted_pretokens,
    documents,
    expected,
    made,
    note_steps,
    result_hashes,
    run,
    write_shards,
)
from tokenize_lib.encoder import Encoder
from tokenize_lib.errors import InputError
from tokenize_lib.loading import load


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_shards(tmp_path_factory.mktemp("corpus") / "shards", documents(), 4)


@pytest.fixture(scope="module")
def reference(corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("reference") / "run"
    run(corpus, output)
    return output


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("memory", "rounds_per_job"),
    [(GIB, 1), (1 << 17, 1), (1 << 17, 3)],
    ids=["one round", "many rounds", "many rounds, three a job"],
)
def test_merges_equal_the_naive_trainer(
    corpus: list[str], tmp_path: Path, variant: str, memory: int, rounds_per_job: int
) -> None:
    options = dataclasses.replace(SMALL, **VARIANTS[variant])
    summary = run(corpus, tmp_path / "run", options, memory=memory, rounds_per_job=rounds_per_job)
    assert made(tmp_path / "run") == expected(documents(), options)
    assert summary.merges == len(made(tmp_path / "run"))


def test_the_summary_counts_what_there_was(reference: Path, corpus: list[str]) -> None:
    record = json.loads((reference / "run.json").read_text())
    texts = documents()
    counted = counted_pretokens(texts, SMALL)
    model = bpe.train(counted, SMALL)
    assert record["records"] == {"read": 300, "kept": 300, "empty": 0, "bad": 0, "mended": 0, "not_nfc": 0}
    assert record["results"] == {
        "text_bytes": sum(len(text.encode()) for text in texts),
        "pretokens": sum(count for _, count in counted),
        "distinct_pretokens": len(counted),
        "rounds": 1,
        "merges": len(model.merges),
        "vocab_size": len(model.tokens),
        "corpus_tokens": bpe.corpus_tokens(counted, model),
    }
    assert [file["path"] for file in record["inputs"]] == sorted(str(path) for path in Path(corpus[0]).iterdir())
    for file in record["inputs"]:
        assert file["sha256"] == hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest()
    for file in record["outputs"]:
        assert file["sha256"] == hashlib.sha256((reference / file["name"]).read_bytes()).hexdigest()
    assert not (reference / ".work").exists()


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_sharding_changes_no_byte(reference: Path, tmp_path: Path, shards: int) -> None:
    run(write_shards(tmp_path / "other", documents(), shards), tmp_path / "run")
    assert result_hashes(tmp_path / "run") == result_hashes(reference)


def test_the_order_of_documents_changes_no_byte(reference: Path, tmp_path: Path) -> None:
    run(write_shards(tmp_path / "other", documents()[::-1], 3), tmp_path / "run")
    assert result_hashes(tmp_path / "run") == result_hashes(reference)


@pytest.mark.parametrize("memory", [1, 1 << 17, 64 << 20])
def test_the_memory_budget_changes_no_byte(reference: Path, corpus: list[str], tmp_path: Path, memory: int) -> None:
    run(corpus, tmp_path / "run", memory=memory, workers=2)
    assert result_hashes(tmp_path / "run") == result_hashes(reference)


def test_a_small_budget_takes_more_rounds(corpus: list[str], tmp_path: Path) -> None:
    assert run(corpus, tmp_path / "run", memory=1 << 17).rounds > 2
    rounds = pq.read_table(tmp_path / "run" / "rounds.parquet").to_pylist()
    assert [row["first_rank"] for row in rounds] == [
        sum(row["merges"] for row in rounds[:number]) for number in range(len(rounds))
    ]
    thresholds = [row["threshold"] for row in rounds]
    assert thresholds == sorted(thresholds, reverse=True)
    assert len(set(thresholds)) == len(thresholds)


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_runner_changes_no_byte(reference: Path, corpus: list[str], tmp_path: Path, runner: str) -> None:
    run(corpus, tmp_path / "run", workers=2, beam_args=RUNNERS[runner])
    assert result_hashes(tmp_path / "run") == result_hashes(reference)


@pytest.mark.parametrize("variant", ["bytes", "first-seen"])
def test_a_run_stopped_anywhere_is_resumed_to_the_same_bytes(
    corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    options = dataclasses.replace(SMALL, **VARIANTS[variant])
    rounds = run(corpus, tmp_path / "whole", options, memory=1 << 18).rounds
    whole = result_hashes(tmp_path / "whole")
    steps: list[str] = []
    for stop in range(1, rounds + 2):
        output = tmp_path / f"stopped-{stop}"
        with monkeypatch.context() as patch:
            note_steps(patch, steps, stop_after=stop)
            with pytest.raises(KeyboardInterrupt):
                run(corpus, output, options, memory=1 << 18)
        with monkeypatch.context() as patch:
            note_steps(patch, steps)
            run(corpus, output, options, memory=1 << 18, resume=True)
        assert result_hashes(output) == whole
        # The pass over the corpus is not repeated; of the rounds only the one that was stopped before its merges.
        assert "counting pretokens" not in steps
        assert len(steps) == rounds - max(stop - 2, 0)


def test_tables_are_as_their_schemas_say(reference: Path) -> None:
    for name in ("merges", "vocab", "rounds"):
        schema = pq.read_schema(reference / f"{name}.parquet")
        assert all(set(field.metadata) >= {b"meaning", b"unit"} for field in schema)
        metadata = pq.ParquetFile(reference / f"{name}.parquet").metadata
        assert metadata.row_group(0).column(0).compression == "ZSTD"
    parts = [pq.read_table(path) for path in sorted(reference.glob("pretokens/*.parquet"))]
    for part in parts:
        assert part["pretoken"].to_pylist() == sorted(part["pretoken"].to_pylist())
    table = pa.concat_tables(parts)
    counted = counted_pretokens(documents(), SMALL)
    assert dict(zip(table["pretoken"].to_pylist(), table["count"].to_pylist(), strict=True)) == dict(counted)


def test_a_run_directory_is_loaded(reference: Path) -> None:
    loaded = load(reference)
    assert loaded.options == SMALL
    model = bpe.train(counted_pretokens(documents(), SMALL), SMALL)
    assert tuple(loaded.tokens) == model.tokens
    assert Encoder(loaded).encode("lowest") == bpe.encode("lowest", model)


def test_no_document_at_all(tmp_path: Path) -> None:
    (tmp_path / "blank.jsonl").write_text("\n\n")
    for _ in range(2):  # what is of no use is not left in the way
        with pytest.raises(InputError, match="no document: the input has no record"):
            run([str(tmp_path / "blank.jsonl")], tmp_path / "out")
        assert not (tmp_path / "out").exists()
