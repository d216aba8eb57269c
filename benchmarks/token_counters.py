# ruff: noqa: PLC0415 - a process imports the one counter that it runs
"""The counters, each in a process of its own: ``python -m benchmarks.token_counters NAME JOB`` (JOB is JSON).

A counter is loaded, then given all texts several times; its counts go to the job's output.
"""

import concurrent.futures
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from tokenize_lib.encodings import ENCODINGS
from tokenize_lib.pretokenizers import PRETOKENIZERS
from tokenize_lib.rank_files import read_ranks, render_ranks

Batches = list[Any]
"""What a counter is given: the texts of the corpus in arrays of some megabytes."""

Counter = Callable[[Any], list[int]]
"""Gives the tokens of each text of a batch."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What a process has to count.

    Attributes:
        encoding: Name of a published encoding.
        texts: An Arrow file, one column ``text: large_string``.
        threads: How many threads count.
        passes: How often all texts are counted.
        counts: Where the counts go: an Arrow file, one column ``tokens: int64``.
        result: Where the seconds go, as JSON.
        scratch: A directory for files that a counter needs.
    """

    encoding: str
    texts: str
    threads: int
    passes: int
    counts: str
    result: str
    scratch: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loaded:
    """A counter that is ready.

    Attributes:
        prepare: Makes of an Arrow array what the counter takes; not measured.
        count: Counts one batch.
        shares: It brings no threads of its own: batches are dealt to as many as are asked for.
    """

    prepare: Callable[[Any], Any]
    count: Counter
    shares: bool = False


def tokenbeam(job: Job) -> Loaded:
    """As the pipelines count: Arrow in, Arrow out."""
    from tokenize_lib.encodings import load_tokenizer

    tokenizer = load_tokenizer(job.encoding)
    return Loaded(prepare=lambda texts: texts, count=lambda texts: tokenizer.count(texts).to_pylist(), shares=True)


def toktok_rs(job: Job) -> Loaded:
    """Counts alone, a list of Python strings."""
    import toktok

    toktok.batch_count(["a"], job.encoding, threads=1)
    return Loaded(
        prepare=lambda texts: texts.to_pylist(),
        count=lambda texts: toktok.batch_count(texts, job.encoding, threads=job.threads),
    )


def gigatoken(job: Job) -> Loaded:
    """Encodes; Awkward arrays are its fastest way in."""
    import awkward
    from gigatoken import Tokenizer

    path = Path(job.scratch, f"{job.encoding}.tiktoken")
    path.write_bytes(render_ranks(_tokens(job.encoding)))
    tokenizer = Tokenizer.from_tiktoken(path)

    def count(texts: Any) -> list[int]:
        return awkward.num(tokenizer.encode_batch(texts, parallel=job.threads > 1)).to_list()

    return Loaded(prepare=awkward.from_arrow, count=count)


def quicktok(job: Job) -> Loaded:
    """Counts alone, a list of Python strings."""
    import quicktok as package

    encoding = package.get_encoding(job.encoding)
    return Loaded(
        prepare=lambda texts: texts.to_pylist(),
        count=lambda texts: list(package.count_batch(encoding, texts, threads=job.threads)),
    )


def tiktoken(job: Job) -> Loaded:
    """Encodes; what all others are held to."""
    from tiktoken import Encoding

    ranks = _ranks(job.encoding)
    encoding = Encoding(job.encoding, pat_str=_pattern(job.encoding), mergeable_ranks=dict(ranks), special_tokens={})

    def count(texts: list[str]) -> list[int]:
        return [len(ids) for ids in encoding.encode_ordinary_batch(texts, num_threads=job.threads)]

    return Loaded(prepare=lambda texts: texts.to_pylist(), count=count)


def tokenizers(job: Job) -> Loaded:
    """Encodes; Hugging Face's, with merges made of the ranks."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    ranks = _ranks(job.encoding)
    written = {token: _characters(token) for token in ranks}
    merges = [(written[left], written[right]) for left, right in _merges(ranks)]
    vocabulary = {written[token]: rank for token, rank in ranks.items()}
    pattern = _pattern(job.encoding).replace("{1,3}+", "{1,3}")  # its engine takes the + for a repeat
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )

    def count(texts: list[str]) -> list[int]:
        return [len(encoding) for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return Loaded(prepare=lambda texts: texts.to_pylist(), count=count)


COUNTERS: Mapping[str, Callable[[Job], Loaded]] = {
    "tokenbeam": tokenbeam,
    "toktok-rs": toktok_rs,
    "gigatoken": gigatoken,
    "quicktok-v1": quicktok,
    "tiktoken": tiktoken,
    "tokenizers": tokenizers,
}
"""By the name of the distribution."""


def run(name: str, job: Job) -> None:
    """Load a counter, let it count, write what it took and what it counted."""
    start = time.process_time()
    counter = COUNTERS[name](job)
    loading = time.process_time() - start
    with pa.memory_map(job.texts) as source:
        batches = [counter.prepare(batch["text"]) for batch in pa.ipc.open_file(source).read_all().to_batches()]
    passes = []
    with concurrent.futures.ThreadPoolExecutor(job.threads) as pool:
        deal = pool.map if counter.shares and job.threads > 1 else map
        for _ in range(job.passes):
            wall, cpu = time.monotonic(), time.process_time()
            counts = list(deal(counter.count, batches))
            passes.append((time.monotonic() - wall, time.process_time() - cpu))
    table = pa.table({"tokens": pa.array(itertools.chain.from_iterable(counts), pa.int64())})
    with pa.OSFile(job.counts, "wb") as target, pa.ipc.new_file(target, table.schema) as writer:
        writer.write_table(table)
    Path(job.result).write_text(json.dumps({"loading": loading, "passes": passes}), encoding="utf-8")


def _tokens(encoding: str) -> pa.LargeBinaryArray:
    return read_ranks(ENCODINGS[encoding].ranks)


def _ranks(encoding: str) -> dict[bytes, int]:
    return {token: rank for rank, token in enumerate(_tokens(encoding).to_pylist()) if token is not None}


def _pattern(encoding: str) -> str:
    return PRETOKENIZERS[ENCODINGS[encoding].pretokenizer].pattern or ""


def _merges(ranks: Mapping[bytes, int]) -> "list[tuple[bytes, bytes]]":
    """The pair that makes each token: what its bytes are merged to by lower ranks."""
    merges = []
    for token, limit in ranks.items():
        parts = [token[place : place + 1] for place in range(len(token))]
        while len(parts) > 2:
            ranked = [
                (rank, place)
                for place, pair in enumerate(itertools.pairwise(parts))
                if (rank := ranks.get(b"".join(pair), limit)) < limit
            ]
            if not ranked:
                break
            _, place = min(ranked)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
    return merges


def _characters(token: bytes) -> str:
    from tokenize_lib.formats.byte_characters import CHARACTERS

    return "".join([CHARACTERS[byte] for byte in token])


if __name__ == "__main__":
    run(sys.argv[1], Job(**json.loads(sys.argv[2])))
