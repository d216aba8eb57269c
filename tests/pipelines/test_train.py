"""Training end to end: equal to the naive trainer, and the same bytes however it is run."""

import dataclasses
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipelines.rounds
import pipelines.train
from pipelines.inputs import ReadOptions
from pipelines.progress import Talk
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions, run_pipeline
from pipelines.train import train
from pipelines.train_summary import TrainSummary
from tests.oracles import bpe
from tests.oracles import pretokens as pretoken_oracle
from tokenize_lib.encoder import Encoder
from tokenize_lib.loading import load
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

GIB = 1 << 30
SMALL = TrainOptions(vocab_size=420, pretokenize=PretokenizeOptions(pretokenizer="gpt2"))
WORDS = [
    *("the", "low", "lower", "lowest", "new", "newer", "newest", "wide", "wider", "widest", "học", "sinh", "đi"),
    *("học", "ភាសា", "ខ្មែរ", "你好", "世界", "2026", "can't", "", "two"),
]


def documents() -> list[str]:
    """A few hundred texts whose words fall off as words do."""
    state = 7
    texts = []
    for number in range(300):
        words = []
        for _ in range(3 + number % 11):
            state = (state * 1103515245 + 12345) % 2**31
            rank = int(len(WORDS) * (state / 2**31) ** 2)
            words.append(WORDS[rank] + ("s" * (state % 3)))
        texts.append(" ".join(words))
    return texts


def write_shards(folder: Path, texts: Sequence[str], shards: int) -> list[str]:
    """Consecutive shards: JSONL, gzipped JSONL and plain text in turn; the documents' order is the order of paths."""
    folder.mkdir(parents=True)
    size = -(-len(texts) // shards)
    for shard in range(shards):
        part = texts[shard * size : (shard + 1) * size]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part).encode()
        if shard % 3 == 0:
            (folder / f"{shard:03d}.jsonl").write_bytes(lines)
        elif shard % 3 == 1:
            (folder / f"{shard:03d}.jsonl.gz").write_bytes(gzip.compress(lines))
        else:
            (folder / f"{shard:03d}.txt").write_text("".join(f"{text}\n" for text in part), encoding="utf-8")
    return [str(folder)]


def run(
    inputs: Sequence[str],
    output: Path,
    options: TrainOptions = SMALL,
    *,
    memory: int = GIB,
    workers: int = 1,
    beam_args: tuple[str, ...] = (),
    resume: bool = False,
    partitions: int = 3,
) -> TrainSummary:
    return train(
        inputs,
        str(output),
        options=options,
        read=ReadOptions(),
        runtime=RuntimeOptions(memory=memory, workers=workers, beam_args=beam_args),
        mode=RunMode(resume=resume),
        partitions=partitions,
        talk=Talk(quiet=True),
    )


def result_hashes(output: Path) -> dict[str, str]:
    """Hashes of all that must not depend on how a run went."""
    names = [*output.glob("pretokens/*.parquet"), *(output / name for name in ("merges.parquet", "vocab.parquet"))]
    names += [path for name in ("tokenizer.json", "tokenizer.tiktoken") if (path := output / name).exists()]
    return {str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(names)}


def made(output: Path) -> list[tuple[int, ...]]:
    table = pq.read_table(
        output / "merges.parquet", columns=["left_id", "right_id", "new_id", "pair_count", "replaced"]
    )
    return [tuple(row.values()) for row in table.to_pylist()]


def counted_pretokens(texts: Sequence[str], options: TrainOptions) -> list[tuple[bytes, int]]:
    return list(pretoken_oracle.count(texts, options.pretokenize).items())


def expected(texts: Sequence[str], options: TrainOptions) -> list[tuple[int, ...]]:
    counted = counted_pretokens(texts, options)
    return [dataclasses.astuple(merge) for merge in bpe.train(counted, options).merges]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_shards(tmp_path_factory.mktemp("corpus") / "shards", documents(), 4)


@pytest.fixture(scope="module")
def reference(corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("reference") / "run"
    run(corpus, output)
    return output


VARIANTS: dict[str, dict[str, Any]] = {
    "bytes": {},
    "first-seen": {"tie_break": "first-seen"},
    "max-token-length": {"max_token_length": 4},
    "min-frequency": {"min_frequency": 9},
    "characters": {"alphabet": "characters", "vocab_size": 200},
    "unk": {"alphabet": "characters", "vocab_size": 200, "unk_token": "[UNK]", "character_coverage": 0.9},
    "end of word": {"alphabet": "characters", "vocab_size": 200, "end_of_word": "</w>"},
    "separate end of word": {
        "alphabet": "characters",
        "vocab_size": 200,
        "end_of_word": "</w>",
        "tie_break": "first-seen",
    },
    "continuing prefix": {"alphabet": "characters", "vocab_size": 200, "continuing_prefix": "##"},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("memory", [GIB, 1 << 17], ids=["one round", "many rounds"])
def test_merges_equal_the_naive_trainer(corpus: list[str], tmp_path: Path, variant: str, memory: int) -> None:
    options = dataclasses.replace(SMALL, **VARIANTS[variant])
    summary = run(corpus, tmp_path / "run", options, memory=memory)
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


RUNNERS = {
    "in memory": ("--direct_running_mode=in_memory",),
    "threads": ("--direct_running_mode=multi_threading", "--direct_num_workers=3"),
    "processes": ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    "DirectRunner": ("--runner=DirectRunner",),
    "portable": ("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"),
}


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


def note_steps(patch: pytest.MonkeyPatch, steps: list[str], stop_after: int | None = None) -> None:
    """Write down each pipeline that is run from now on; be interrupted behind one of them."""
    steps.clear()

    def noting(build: Any, runtime: RuntimeOptions, step: str, **shown: Any) -> None:
        steps.append(step)
        run_pipeline(build, runtime, step, **shown)
        if len(steps) == stop_after:
            raise KeyboardInterrupt

    patch.setattr(pipelines.train, "run_pipeline", noting)
    patch.setattr(pipelines.rounds, "run_pipeline", noting)


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
