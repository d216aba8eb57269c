"""The kernel that cuts and counts pretokens, by itself on one thread: ``python -m benchmarks.counting [CORPUS]``."""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks import corpora, report
from tokenize_lib._native import PretokenCounter
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.training_options import PretokenizeOptions

_NAMES = ("gpt2", "cl100k", "o200k", "whitespace", "bert", "metaspace", "space-prefixed")
_REPEATS = 3
_BATCH_BYTES = 8_000_000
_LARGEST = 100_000_000
_WORST_CASE_BYTES = 20_000_000


HEADER = ("text", "pretokenizer", "MB/s", "MB/s with first_seen", "pretokens", "distinct")


def counting_rows(corpus: Path | None) -> Iterator[tuple[str, ...]]:
    """For the corpus and each worst case, by pretokenizer: MB a CPU second, pretokens, distinct pretokens.

    At most 100 MB of the corpus are read.
    """
    documents = corpora.documents(corpus) if corpus else corpora.generated(30_000_000)
    yield from _rows(corpus.name if corpus else "generated", documents)
    for title, worst_case in corpora.WORST_CASES.items():
        yield from _rows(title, worst_case(_WORST_CASE_BYTES))


def _rows(title: str, documents: Iterator[bytes]) -> Iterator[tuple[str, ...]]:
    batches = list(_batches(documents))
    size = sum(batch.nbytes for batch in batches) / 1e6
    for name in _NAMES:
        seconds, pretokens, distinct = _count(name, batches, first_seen=False)
        seconds_with_places, *_ = _count(name, batches, first_seen=True)
        rates = [f"{size / seconds:.0f}", f"{size / seconds_with_places:.0f}"]
        yield title, name, *rates, f"{pretokens:,}", f"{distinct:,}"


def _count(name: str, batches: "list[pa.LargeBinaryArray]", *, first_seen: bool) -> tuple[float, int, int]:
    """Seconds of CPU, the middle of some runs; pretokens; distinct pretokens."""
    pretokenizer = build_pretokenizer(PretokenizeOptions(pretokenizer=name))
    seconds = []
    for _ in range(_REPEATS):
        counter = PretokenCounter(pretokenizer, first_seen=first_seen)
        pretokens = 0
        start = time.process_time()
        for source, batch in enumerate(batches):
            pretokens += counter.add(batch, source, pa.array(range(len(batch)), pa.int64()) if first_seen else None)
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), pretokens, counter.distinct


def _batches(documents: Iterator[bytes]) -> "Iterator[pa.LargeBinaryArray]":
    batch: list[bytes] = []
    size = read = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= _BATCH_BYTES:
            yield pa.array(batch, pa.large_binary())
            read += size
            batch, size = [], 0
            if read >= _LARGEST:
                return
    if batch:
        yield pa.array(batch, pa.large_binary())


if __name__ == "__main__":
    rows = list(counting_rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
    sys.stdout.write(report.table(HEADER, rows) + "\n")
