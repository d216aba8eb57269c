"""How each trainer is started, and what it says it learned."""

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.job import MIN_FREQUENCY, Job


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contender:
    """A trainer as it is run here.

    Attributes:
        package: Its distribution, for the version.
        command: Trains, in a process of its own.
        start_up: Does what the command does before it sees the corpus.
        learned: Where the command leaves what it learned.
        keeps_line_feed: It sees the line feed that ends a document, which makes some merges differ.
        pretokenizers: Those it can be given.
    """

    package: str
    command: Callable[[Job], list[str]]
    start_up: list[str]
    learned: Callable[[Job], Path]
    keeps_line_feed: bool
    pretokenizers: tuple[str, ...] = ("gpt2",)


def tokens_learned(learned: Path) -> list[tuple[str, str]] | list[str]:
    """The merges in order, or only the tokens made; parts and tokens in GPT-2's byte characters."""
    content = json.loads(learned.read_text(encoding="utf-8"))
    merges = content["model"]["merges"] if isinstance(content, dict) else content
    return merges if merges and isinstance(merges[0], str) else [(left, right) for left, right in merges]


def _tokenbeam(name: str, *, keeps_line_feed: bool) -> Contender:
    def output(job: Job) -> Path:
        return job.path(name.replace(" ", "-"))

    def command(job: Job) -> list[str]:
        source = ["--format", "jsonl", job.records] if keeps_line_feed else ["--format", "text", job.lines]
        train = [sys.executable, "-m", "pipelines.cli.main", "train", *source, "-o", str(output(job)), "--replace"]
        train += ["--pretokenizer", job.pretokenizer, "--vocab-size", str(256 + job.merge_count)]
        return [*train, "--min-frequency", str(MIN_FREQUENCY), "--quiet"]

    return Contender(
        package="tokenbeam",
        command=command,
        start_up=[sys.executable, "-m", "benchmarks.empty_pipeline"],
        learned=lambda job: output(job) / "tokenizer.json",
        keeps_line_feed=keeps_line_feed,
        pretokenizers=("gpt2", "none"),
    )


def _peer(name: str, *, keeps_line_feed: bool, pretokenizers: tuple[str, ...] = ("gpt2",)) -> Contender:
    return Contender(
        package=name,
        command=lambda job: [sys.executable, "-m", "benchmarks.peers", name, json.dumps(dataclasses.asdict(job))],
        start_up=[sys.executable, "-c", f"import {name}"],
        learned=lambda job: job.path(f"{name}.json"),
        keeps_line_feed=keeps_line_feed,
        pretokenizers=pretokenizers,
    )


CONTENDERS = {
    "tokenbeam": _tokenbeam("tokenbeam", keeps_line_feed=False),
    "tokenbeam jsonl": _tokenbeam("tokenbeam jsonl", keeps_line_feed=True),
    "gigabpe": _peer("gigabpe", keeps_line_feed=True),
    "gigatoken": _peer("gigatoken", keeps_line_feed=False),
    "rustbpe": _peer("rustbpe", keeps_line_feed=False),
    "tokenizers": _peer("tokenizers", keeps_line_feed=True, pretokenizers=("gpt2", "none")),
}
