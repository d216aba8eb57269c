"""Counting tokens, beside other counters in one run: ``python -m benchmarks.token_counting [CORPUS...]``."""

import argparse
import dataclasses
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from benchmarks import corpora, report
from benchmarks.token_counters import COUNTERS, Job

NOTES = """\
Each counter has a process of its own, gets the same documents in batches of 8 MB, as the type it takes fastest, and
gives the tokens of each. first: MB (10^6 bytes of UTF-8) a CPU second in the first pass over the corpus, caches empty;
again: in later passes, their median; wall: the same by the clock, which with two threads shows what the second adds.
load: CPU seconds until it could count. agrees: documents counted as tiktoken does. tokenizers is given less."""

HEADER = ("counter", "version", "threads", "load s", "first", "again", "first wall", "again wall", "agrees")
REFERENCE = "tiktoken"
_BATCH_BYTES = 8_000_000
_SLOW = {"tokenizers": 5_000_000}
"""Bytes for those that would take minutes."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a counter took, and what it counted."""

    loading: float
    passes: list[tuple[float, float]]
    counts: list[int]


def main() -> None:
    """Run what the command line asks for."""
    arguments = _arguments()
    _say(report.machine())
    _say(NOTES)
    for corpus in arguments.corpus or [None]:
        documents = corpora.documents(corpus) if corpus else corpora.generated(30_000_000)
        title = corpus.name if corpus else "generated"
        with tempfile.TemporaryDirectory(prefix="tokenbeam-bench-", dir=arguments.scratch) as scratch:
            texts = {name: Path(scratch, f"{name}.arrow") for name in ("all", *_SLOW)}
            batches = list(_batches(documents, arguments.bytes))
            sizes = {"all": _write(batches, texts["all"])}
            sizes |= {name: _write(_first(batches, most), texts[name]) for name, most in _SLOW.items()}
            for encoding in arguments.encodings:
                _say(f"\n{title}, {encoding}: {sizes['all'] / 1e6:.1f} MB, {sum(map(len, batches)):,} documents")
                _say(report.table(HEADER, list(_rows(arguments, encoding, texts, sizes, Path(scratch)))))


def _rows(
    arguments: argparse.Namespace, encoding: str, texts: dict[str, Path], sizes: dict[str, int], scratch: Path
) -> Iterator[tuple[str, ...]]:
    def job(part: str, threads: int, passes: int) -> Job:
        return Job(
            encoding=encoding,
            texts=str(texts[part]),
            threads=threads,
            passes=passes,
            counts=str(scratch / "counts.arrow"),
            result=str(scratch / "result.json"),
            scratch=str(scratch),
        )

    expected = _run(REFERENCE, job("all", 1, 1))
    if isinstance(expected, str):
        raise SystemExit(f"{REFERENCE}: {expected}")
    for threads in arguments.threads:
        for name in arguments.only:
            part, passes = (name, 1) if name in _SLOW else ("all", 1 + arguments.repeats)
            figures = _run(name, job(part, threads, passes))
            head = (name, report.version(name), str(threads))
            if isinstance(figures, str):
                yield (*head, *["-"] * 5, figures)
                continue
            rates = [[sizes[part] / 1e6 / seconds[clock] for seconds in figures.passes] for clock in (1, 0)]
            speeds = [f"{rate:.0f}" for first, *again in rates for rate in (first, statistics.median(again or [first]))]
            yield (*head, f"{figures.loading:.2f}", *speeds, _agreement(figures.counts, expected.counts))


def _run(name: str, job: Job) -> Figures | str:
    """What it took, or in a few words why it did not run."""
    command = [sys.executable, "-m", "benchmarks.token_counters", name, json.dumps(dataclasses.asdict(job))]
    threads = {"RAYON_NUM_THREADS": str(job.threads), "TOKENIZERS_PARALLELISM": str(job.threads > 1).lower()}
    ran = subprocess.run(command, env=os.environ | threads, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        return (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1][:80]
    with pa.memory_map(job.counts) as source:
        counted = pa.ipc.open_file(source).read_all()["tokens"].to_pylist()
    return Figures(counts=counted, **json.loads(Path(job.result).read_text(encoding="utf-8")))


def _agreement(counts: list[int], expected: list[int]) -> str:
    pairs = list(zip(counts, expected, strict=False))
    wrong = sum(counted != right for counted, right in pairs)
    return f"all {len(pairs):,}" if wrong == 0 else f"WRONG in {wrong:,} of {len(pairs):,}"


def _batches(documents: Iterable[bytes], most: int) -> "Iterator[list[str]]":
    batch: list[str] = []
    size = read = 0
    for document in documents:
        if read + size + len(document) > most:
            break
        batch.append(document.decode())
        size += len(document)
        if size >= _BATCH_BYTES:
            yield batch
            read += size
            batch, size = [], 0
    if batch:
        yield batch


def _first(batches: list[list[str]], most: int) -> list[list[str]]:
    documents = (text.encode() for text in itertools.chain.from_iterable(batches))
    return list(_batches(documents, most))


def _write(batches: list[list[str]], path: Path) -> int:
    """Writes an Arrow file, and gives the bytes of its texts."""
    with pa.OSFile(str(path), "wb") as target:
        schema = pa.schema({"text": pa.large_string()})
        with pa.ipc.new_file(target, schema) as writer:
            for batch in batches:
                writer.write_batch(pa.record_batch({"text": pa.array(batch, pa.large_string())}))
    return sum(len(text.encode()) for batch in batches for text in batch)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.token_counting", description=__doc__)
    parser.add_argument("corpus", nargs="*", type=Path, help="files or directories, each counted by itself")
    parser.add_argument("--encodings", nargs="+", default=["o200k_base", "cl100k_base"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2, help="passes after the first")
    parser.add_argument("--bytes", type=int, default=100_000_000, help="at most so much of each corpus")
    parser.add_argument("--only", nargs="+", choices=COUNTERS, default=list(COUNTERS), metavar="COUNTER")
    parser.add_argument("--scratch", type=Path, help="where texts are written; default: the system's")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
