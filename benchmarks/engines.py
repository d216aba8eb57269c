"""Training and counting on real engines, beside the default runner: ``python -m benchmarks.engines CORPUS``.

Each engine gets the same files and must leave the same bytes. MB are of text. CPU is that of all processes: the command
with the workers in it, and the engine with the workers that it starts. ``make engines`` installs the engines.

A share of the corpus is so many of its files. Shuffled are the bytes of the partial tables between workers: those of
the pretokens (as seen while they lay in the run's directory), and those of all rounds.
"""

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import report
from benchmarks.measure import Cost, FailedError, run
from engines import flink, prism
from engines.installed import Installed
from engines.processes import Process

HEADER = ("engine", "share", "slots", "command", "MB", "wall s", "CPU s", "of engine", "rounds", "shuffled MB", "bytes")
_LOOK_SECONDS = 0.05
_HOW_NOT_WHAT = ("run.json", "rounds.parquet")


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured together."""

    engine: str
    share: Fraction
    slots: int


@dataclasses.dataclass(frozen=True)
class Running:
    """An engine that runs: what stands behind ``--`` to use it, and its processes."""

    beam_args: tuple[str, ...] = ()
    processes: tuple[Process, ...] = ()

    def cpu(self) -> float:
        """Seconds that its processes, and those they have started, have used so far."""
        return sum(_session_cpu(process.pid) for process in self.processes)


@contextlib.contextmanager
def _default(_installed: Installed, _directory: Path, _slots: int) -> Iterator[Running]:
    yield Running()


@contextlib.contextmanager
def _flink_embedded(installed: Installed, directory: Path, slots: int) -> Iterator[Running]:
    with flink.job_server(installed, directory, slots=slots) as server:
        args = ("--runner=PortableRunner", f"--job_endpoint={server.endpoint}", "--environment_type=LOOPBACK")
        yield Running((*args, flink.WORKERS_STAY, f"--parallelism={slots}"), (server.process,))


@contextlib.contextmanager
def _flink_cluster(installed: Installed, directory: Path, slots: int) -> Iterator[Running]:
    each = max(1, slots // 2)
    with (
        flink.cluster(installed, directory, slots=each) as cluster,
        flink.job_server(installed, directory / "server", master=cluster.rest, slots=slots) as server,
    ):
        args = ("--runner=PortableRunner", f"--job_endpoint={server.endpoint}", *flink.worker_processes())
        processes = (server.process, cluster.job_manager, *cluster.task_managers)
        yield Running((*args, flink.WORKERS_STAY, f"--parallelism={slots}"), processes)


@contextlib.contextmanager
def _prism(installed: Installed, directory: Path, _slots: int) -> Iterator[Running]:
    with prism.job_server(installed, directory) as (process, endpoint):
        args = ("--runner=PortableRunner", f"--job_endpoint={endpoint}", "--environment_type=LOOPBACK")
        yield Running(args, (process,))


ENGINES: dict[str, Callable[[Installed, Path, int], contextlib.AbstractContextManager[Running]]] = {
    "FnApiRunner": _default,
    "Flink embedded": _flink_embedded,
    "Flink cluster": _flink_cluster,
    "Prism": _prism,
}


def main() -> None:
    """Print a table, a row for each engine, share and number of slots, and for each command."""
    arguments = _arguments()
    installed = Installed.find()
    _say(report.machine())
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory(prefix="tokenbeam-engines-", dir=arguments.scratch) as name:
        for number, case in enumerate(_cases(arguments)):
            scratch = Path(name, str(number))
            scratch.mkdir()
            with ENGINES[case.engine](installed, scratch, case.slots) as running:
                found = list(_measure(running, case, arguments, scratch))
            rows += found
            for row in found:
                _say("  ".join(row))
            shutil.rmtree(scratch)
    _say("\n" + report.table(HEADER, rows))


def _cases(arguments: argparse.Namespace) -> Iterator[Case]:
    for share in arguments.share:
        for engine in arguments.engine:
            # The default runner and Prism have no slots: once is enough.
            for slots in arguments.slots if engine.startswith("Flink") else arguments.slots[-1:]:
                yield Case(engine, share, slots)


def _measure(running: Running, case: Case, arguments: argparse.Namespace, scratch: Path) -> Iterator[tuple[str, ...]]:
    inputs = _files(arguments.corpus, case.share)
    tokenizers = [word for tokenizer in arguments.tokenizer for word in ("--tokenizer", tokenizer)]
    commands = {"train": ["--vocab-size", str(arguments.vocab_size)], "count": tokenizers}
    has_slots = case.engine.startswith("Flink")
    for command, options in commands.items():
        head = (case.engine, str(case.share), str(case.slots) if has_slots else "", command)
        out = scratch / command
        words = [command, *inputs, "-o", str(out), "--quiet", *options, "--", *running.beam_args]
        partials = _Partials(out / ".work" / "partial-pretokens")
        before = running.cpu()
        try:
            with partials:
                cost = run([sys.executable, "-m", "pipelines.cli.main", *words], log=scratch / "log", timeout=3600)
        except FailedError as failure:
            _say((scratch / "log").read_text(errors="replace")[-2000:])
            yield (*head, "", str(failure), *[""] * 5)
            continue
        same = _compare(out, scratch.parent / "expected" / f"{command}-{str(case.share).replace('/', '-')}")
        yield (*head, *_figures(cost, running.cpu() - before, out, partials.bytes), same)


def _figures(cost: Cost, engine_cpu: float, out: Path, pretoken_bytes: int) -> tuple[str, ...]:
    text_bytes = json.loads((out / "run.json").read_text(encoding="utf-8"))["results"]["text_bytes"]
    shown = (f"{text_bytes / 1e6:.0f}", f"{cost.wall:.1f}", f"{cost.cpu + engine_cpu:.1f}", f"{engine_cpu:.1f}")
    if not (out / "rounds.parquet").exists():
        return (*shown, "", "0")
    rounds = pq.read_table(out / "rounds.parquet")
    in_rounds = sum(rounds["bytes_shuffled"].to_pylist())
    return (*shown, str(rounds.num_rows), f"{pretoken_bytes / 1e6:.1f} + {in_rounds / 1e6:.1f}")


def _files(corpus: Path, share: Fraction) -> list[str]:
    """Give the first of the files, so many as the share says."""
    files = [path for path in sorted(corpus.rglob("*")) if path.is_file()] if corpus.is_dir() else [corpus]
    return [str(path) for path in files[: max(1, round(len(files) * share))]]


def _compare(out: Path, noted: Path) -> str:
    """Note the hashes of a run's files, or compare them with what was noted of the first engine."""
    lines = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out)}\n"
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in _HOW_NOT_WHAT
    )
    if noted.exists():
        return "same" if noted.read_text(encoding="utf-8") == lines else "OTHERS"
    noted.parent.mkdir(exist_ok=True)
    noted.write_text(lines, encoding="utf-8")
    return "first"


class _Partials:
    """Watches the partial tables of pretokens, which are gone when the run is done: the most bytes that there were."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def _watch(self) -> None:
        while not self._done.wait(_LOOK_SECONDS):
            with contextlib.suppress(FileNotFoundError):
                self.bytes = max(self.bytes, sum(path.stat().st_size for path in self._folder.glob("*")))

    def __enter__(self) -> None:
        self._watcher.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()


def _session_cpu(session: int) -> float:
    """Give the CPU seconds of all processes of a session, and of those that they have waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=Path("tests/data/sample"), help="file or directory")
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="again for more; default: all")
    parser.add_argument("--share", type=Fraction, nargs="+", default=[Fraction(1)], help="as 1/8 1/4 1/2 1")
    parser.add_argument("--slots", type=int, nargs="+", default=[2], help="of Flink, as 1 2 4")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--tokenizer", nargs="+", default=["o200k_base", "cl100k_base"], help="to count with")
    parser.add_argument("--scratch", type=Path, help="where runs are written; default: the system's")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or list(ENGINES)
    return arguments


if __name__ == "__main__":
    main()
