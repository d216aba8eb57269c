"""Small trainings for tests: documents, shards, runs, and what of a run must never change."""

import dataclasses
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    rounds_per_job: int = 1,
) -> TrainSummary:
    return train(
        inputs,
        str(output),
        options=options,
        read=ReadOptions(),
        runtime=RuntimeOptions(memory=memory, workers=workers, beam_args=beam_args, rounds_per_job=rounds_per_job),
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

RUNNERS = {
    "in memory": ("--direct_running_mode=in_memory",),
    "threads": ("--direct_running_mode=multi_threading", "--direct_num_workers=3"),
    "processes": ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    "DirectRunner": ("--runner=DirectRunner",),
    "portable": ("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"),
}


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
