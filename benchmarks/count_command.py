"""The whole command against the kernel alone: ``python -m benchmarks.count_command [CORPUS]``.

A JSONL file is made of the corpus' documents, spliced so that they do not repeat. The kernel counts its texts in
memory, in blocks as the reader makes them; the command reads the file, counts, and writes Parquet. Both in turns, so
that what else the machine does falls on both.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pyarrow as pa

from benchmarks import corpora, report
from benchmarks.measure import Cost, run
from pipelines.documents import DocumentBatch, read_splits
from pipelines.inputs import ReadOptions, plan_input
from tokenize_lib.encodings import load_tokenizer

_TIMEOUT = 3600.0
_KERNEL_BYTES = 300_000_000  # of the file; its speed is the same on all of it


def main() -> None:
    """Run what the command line asks for."""
    arguments = _arguments()
    if arguments.kernel:
        sys.stdout.write(json.dumps(_count_in_memory(arguments.corpus, arguments.encoding, arguments.workers)))
        return
    sys.stdout.write(report.machine() + "\n")
    with tempfile.TemporaryDirectory(prefix="tokenbeam-count-", dir=arguments.scratch) as name:
        scratch = Path(name)
        text_bytes = _write(arguments.corpus, scratch / "corpus.jsonl", arguments.bytes)
        (scratch / "one.jsonl").write_text('{"text": "one document"}\n', encoding="utf-8")
        kernels, commands, starts = [], [], []
        for _ in range(arguments.repeats):
            kernels.append(_kernel(scratch, arguments))
            commands.append(_command(scratch, "corpus.jsonl", arguments))
            starts.append(_command(scratch, "one.jsonl", arguments))
    for line in _lines(text_bytes, kernels, commands, starts):
        sys.stdout.write(line + "\n")


def _lines(
    text_bytes: int, kernels: list[tuple[float, float]], commands: list[Cost], starts: list[Cost]
) -> Iterator[str]:
    kernel, kernel_cpu = (median(speeds) / 1e6 for speeds in zip(*kernels, strict=True))
    wall, cpu = (median(getattr(cost, figure) for cost in commands) for figure in ("wall", "cpu"))
    start, start_cpu = (median(getattr(cost, figure) for cost in starts) for figure in ("wall", "cpu"))
    size = text_bytes / 1e6
    yield f"text              {size:,.0f} MB, median of {len(commands)}"
    yield f"kernel in memory  {kernel:,.0f} MB/s, {kernel_cpu:,.0f} MB a second of CPU"
    yield f"command           {wall:.1f} s, {cpu:.1f} s of CPU; of that start-up {start:.1f} s and {start_cpu:.1f} s"
    yield f"  to the kernel   {size / wall / kernel:.2f} by the clock, {size / cpu / kernel_cpu:.2f} by CPU"
    net, net_cpu = size / (wall - start), size / (cpu - start_cpu)
    yield f"  but start-up    {net / kernel:.2f} by the clock, {net_cpu / kernel_cpu:.2f} by CPU"
    yield f"peak              {max(cost.peak for cost in commands) / 2**20:,.0f} MiB"


def _kernel(scratch: Path, arguments: argparse.Namespace) -> tuple[float, float]:
    log = scratch / "kernel.json"
    command = [sys.executable, "-m", "benchmarks.count_command", str(scratch / "corpus.jsonl"), "--kernel"]
    run([*command, "--encoding", arguments.encoding, "--workers", str(arguments.workers)], log=log, timeout=_TIMEOUT)
    wall, cpu = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    return float(wall), float(cpu)


def _command(scratch: Path, name: str, arguments: argparse.Namespace) -> Cost:
    command = [sys.executable, "-m", "pipelines.cli.main", "count", str(scratch / name), "-o", str(scratch / "counts")]
    options = ["--replace", "--quiet", "--tokenizer", arguments.encoding, "--workers", str(arguments.workers)]
    return run([*command, *options, "--memory", "1GiB"], log=scratch / "command.log", timeout=_TIMEOUT)


def _count_in_memory(path: Path, encoding: str, threads: int) -> tuple[float, float]:
    """Give the bytes of text that so many threads count in a second, and in a second of CPU."""
    tokenizer = load_tokenizer(encoding)
    read = ReadOptions()
    blocks: list[pa.LargeBinaryArray] = []
    size = 0
    for item in read_splits(sorted(plan_input([str(path)], read).splits, key=lambda split: split.start), read):
        if isinstance(item, DocumentBatch) and size < _KERNEL_BYTES:
            blocks.append(item.texts)
            size += item.texts.total_values_length
    tokenizer.count(blocks[0])
    waiting = iter(blocks)
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                block = next(waiting, None)
            if block is None:
                return
            tokenizer.count(block)

    started, used = time.monotonic(), time.process_time()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return size / (time.monotonic() - started), size / (time.process_time() - used)


def _write(corpus: Path, target: Path, size: int) -> int:
    """Write about `size` bytes of records, each of two pieces of documents; give the bytes of their texts."""
    chance = random.Random(1)
    texts = [document.decode() for document in corpora.documents(corpus)]
    written = text_bytes = 0
    with target.open("wb") as lines:
        while written < size:
            one, other = chance.choice(texts), chance.choice(texts)
            text = one[chance.randrange(len(one) + 1) :] + other[: chance.randrange(len(other) + 1)]
            line = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
            lines.write(line)
            written += len(line)
            text_bytes += len(text.encode())
    return text_bytes


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.count_command", description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=Path("tests/data/sample"), help="file or directory")
    parser.add_argument("--bytes", type=int, default=1_000_000_000, help="of the file that is made")
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scratch", type=Path, help="where the file is written; default: the system's")
    parser.add_argument("--kernel", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
