"""The kernel that cuts and counts pretokens, by itself on one thread: ``python -m benchmarks.counting [CORPUS]``."""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from tokenize_lib.pretokenizers import build_pretokenizer

from benchmarks import corpora, report
from tokenize_lib._native import PretokenCounter
from tokenize_lib.training_options import PretokenizeOptions

_NAMES = ("gpt2", "cl100k", "o200k", "whitespace", "bert", "metaspace", "space-prefixed")
_REPEATS = 3
_BATCH_BYTES = 8_000_000
_LARGEST = 100_000_000


HEADER = ("pretokenizer", "MB/s", "pretokens", "distinct")


def counting_rows(corpus: Path | None) -> list[tuple[str, str, str, str]]:
    """For each pretokenizer: its name, MB of CPU second, pretokens, distinct pretokens. At most 100 MB are read."""
    batches = list(_batches(corpora.documents(corpus) if corpus else corpora.generated(30_000_000)))
    size = sum(batch.nbytes for batch in batches)
    rows = []
    for name in _NAMES:
        seconds = []
        for _ in range(_REPEATS):
            counter = PretokenCounter(build_pretokenizer(PretokenizeOptions(pretokenizer=name)), first_seen=False)
            start = time.process_time()
            pretokens = sum(counter.add(batch) for batch in batches)
            seconds.append(time.process_time() - start)
        rows.append((name, f"{size / 1e6 / statistics.median(seconds):.0f}", f"{pretokens:,}", f"{counter.distinct:,}"))
    return rows


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
    rows = counting_rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    sys.stdout.write(report.table(HEADER, rows) + "\n")
