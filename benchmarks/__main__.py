"""``python -m benchmarks``: trains on the same documents with each trainer in turn, and prints what each took."""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import corpora, report
from benchmarks.contenders import CONTENDERS, tokens_learned
from benchmarks.job import Job
from benchmarks.measure import Cost, FailedError, median, run

WORST_CASE_MERGES = 2_000
WORST_CASE_TIMEOUT = 120.0

NOTES = """\
Every trainer gets the same lines; a line is a document. start-up is CPU of the imports alone (tokenbeam: and of an
empty pipeline), net CPU is without it. peak is that of the largest process. The x columns divide by tokenbeam's figure.
gigabpe and tokenizers read the file themselves and keep the line feed at a document's end, so their merges are compared
with those of tokenbeam on JSON lines that have it too; the others' with those of tokenbeam on the plain text."""


def main() -> None:
    """Run what the command line asks for."""
    arguments = _arguments()
    _say(report.machine())
    _say(NOTES)
    with tempfile.TemporaryDirectory(prefix="tokenbeam-bench-", dir=arguments.scratch) as scratch:
        directory = Path(scratch)
        names = [name for name in arguments.only if arguments.pretokenizer in CONTENDERS[name].pretokenizers]
        start_ups = _start_ups(names, arguments, directory)
        for series in _series(arguments, directory):
            job = _job(series, directory, arguments.pretokenizer, with_records="tokenbeam jsonl" in names)
            size = f"{series.lines.stat().st_size / 1e6:.1f} MB"
            _say(f"\n{series.title}: {size}, {series.merge_count:,} merges, median of {series.repeats}")
            costs = _costs(names, job, series)
            _say(report.table(report.HEADER, _rows(names, costs, start_ups, job)))
    if arguments.counting:
        _say("\nCounting kernel alone, one thread")
        corpus = [str(arguments.corpus)] if arguments.corpus else []
        subprocess.run([sys.executable, "-m", "benchmarks.counting", *corpus], check=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--corpus", type=Path, help="file or directory (.jsonl, .txt, .c, .h, .rst; .zst and .gz too)")
    parser.add_argument("--large", type=Path, help="another, of a gigabyte or more")
    parser.add_argument("--generated-bytes", type=int, default=30_000_000, help="without --corpus: make one this large")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--pretokenizer", choices=["gpt2", "none"], default="gpt2")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each trainer, in turn; medians are shown")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="TRAINER")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which a trainer is stopped")
    parser.add_argument("--worst-case-bytes", type=int, default=4_000_000, help="size of each worst case; 0: none")
    parser.add_argument("--no-counting", dest="counting", action="store_false", help="leave out the counting kernel")
    parser.add_argument("--scratch", type=Path, help="where corpora and outputs are written; default: the system's")
    return parser.parse_args()


@dataclasses.dataclass(frozen=True)
class Series:
    """One table: a corpus, and how each trainer is run on it."""

    title: str
    lines: Path
    merge_count: int
    repeats: int
    timeout: float


def _series(arguments: argparse.Namespace, directory: Path) -> Iterator[Series]:
    """Each corpus is prepared when its turn comes, over the one before."""
    lines = directory / "lines.txt"
    merge_count = arguments.vocab_size - 256
    if arguments.corpus is None:
        corpora.write_blocks(corpora.generated(arguments.generated_bytes), lines)
    else:
        corpora.write_lines(arguments.corpus, lines)
    title = str(arguments.corpus or "generated text")
    yield Series(title, lines, merge_count, arguments.repeats, arguments.timeout)
    if arguments.large is not None:
        corpora.write_lines(arguments.large, lines)
        yield Series(str(arguments.large), lines, merge_count, arguments.repeats, arguments.timeout)
    for name, generate in corpora.WORST_CASES.items() if arguments.worst_case_bytes else ():
        corpora.write_blocks(generate(arguments.worst_case_bytes), lines)
        timeout = min(arguments.timeout, WORST_CASE_TIMEOUT)
        yield Series(f"worst case, {name}", lines, min(merge_count, WORST_CASE_MERGES), 1, timeout)


def _job(series: Series, directory: Path, pretokenizer: str, *, with_records: bool) -> Job:
    records = directory / "lines.jsonl"
    if with_records:
        corpora.write_jsonl(series.lines, records)
    return Job(
        lines=str(series.lines),
        records=str(records),
        output=str(directory),
        pretokenizer=pretokenizer,
        merge_count=series.merge_count,
        seen_bytes=corpora.distinct_bytes(series.lines),
    )


def _start_ups(names: list[str], arguments: argparse.Namespace, directory: Path) -> dict[str, Cost]:
    log = directory / "start-up.log"
    return {
        name: median([run(CONTENDERS[name].start_up, log=log, timeout=60) for _ in range(max(3, arguments.repeats))])
        for name in names
    }


def _costs(names: list[str], job: Job, series: Series) -> dict[str, Cost | str]:
    """The medians, or a few words for a trainer that failed. Trainers take turns, so that a slow minute hits all."""
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    failures: dict[str, str] = {}
    for _ in range(series.repeats):
        for name in names:
            if name in failures:
                continue
            log = job.path(f"{name.replace(' ', '-')}.log")
            try:
                costs[name].append(run(CONTENDERS[name].command(job), log=log, timeout=series.timeout))
            except FailedError as failure:
                failures[name] = str(failure)
                if os.environ.get("TOKENBEAM_BENCH_LOGS"):
                    _say(log.read_text(errors="replace")[-4_000:])
    return {name: failures.get(name) or median(costs[name]) for name in names}


def _rows(
    names: list[str], costs: dict[str, Cost | str], start_ups: dict[str, Cost], job: Job
) -> list[tuple[str, ...]]:
    learned = {name: tokens_learned(CONTENDERS[name].learned(job)) for name in names if isinstance(costs[name], Cost)}
    ours = {
        CONTENDERS[name].keeps_line_feed: learned[name] for name in ("tokenbeam", "tokenbeam jsonl") if name in learned
    }
    rows = []
    for name in names:
        contender, cost = CONTENDERS[name], costs[name]
        head = (name, report.version(contender.package))
        if isinstance(cost, str):
            rows.append(report.failed_row(head, cost))
            continue
        our_cost = costs.get("tokenbeam")
        ratios = None
        if isinstance(our_cost, Cost):
            ratios = report.Ratios.of(cost, start_ups[name], our_cost, start_ups["tokenbeam"])
        agreement = report.agreement(learned[name], ours.get(contender.keeps_line_feed))
        rows.append(report.cost_row(head, cost, start_ups[name], ratios, agreement))
    return rows


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
