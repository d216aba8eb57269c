"""What dies in the middle of a job on a cluster: the job recovers, or fails in one line and is gone on with.

The moment is chosen by the files that workers have begun, so that it is the middle on any machine.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from engines.installed import Installed
from tests.engines.commands import Command, hashes, run_command
from tests.engines.conftest import FlinkCluster, running_cluster

Expected = Callable[[Sequence[str]], dict[str, str]]
TRAINING = ("--vocab-size", "3000", "--memory", "160MiB")
ROUND_2 = ".work/round-0002/partial-pairs/*.arrow"
A_PART_BEGUN = ".work/unfinished/part-*.parquet-*"
COPIES = 8


@pytest.fixture(scope="session")
def large_corpus(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same several times over: several parts for each worker to count."""
    directory = tmp_path_factory.mktemp("large-corpus")
    for number in range(COPIES):
        with (directory / f"copy-{number}.txt").open("wb") as copy:
            for path in sorted(corpus.iterdir()):
                copy.write(path.read_bytes())
    return directory


@pytest.fixture
def cluster(flink_cluster: FlinkCluster) -> Iterator[FlinkCluster]:
    """The cluster, with two task managers again when the test is over."""
    yield flink_cluster
    _complete(flink_cluster)


@pytest.fixture(scope="module")
def _without_restarts(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkCluster]:
    with running_cluster(installed, tmp_path_factory.mktemp("without-restarts"), restarts=False) as cluster:
        yield cluster


@pytest.fixture
def cluster_without_restarts(_without_restarts: FlinkCluster) -> Iterator[FlinkCluster]:
    """Another, on which a job fails where something dies."""
    yield _without_restarts
    _complete(_without_restarts)


def _complete(cluster: FlinkCluster) -> None:
    while sum(manager.popen.poll() is None for manager in cluster.cluster.task_managers) < 2:
        cluster.cluster.add_task_manager()


def _wait_for_file(command: Command, directory: Path, pattern: str) -> Path:
    while not (found := next(directory.glob(pattern), None)):
        assert command.process.poll() is None, f"ended before there was {pattern}:\n{command.said()}"
        time.sleep(0.01)
    return found


def _kill_task_manager(cluster: FlinkCluster) -> None:
    next(manager for manager in cluster.cluster.task_managers if manager.popen.poll() is None).kill()


def _kill_worker(cluster: FlinkCluster) -> None:
    groups = {manager.pid for manager in cluster.cluster.task_managers}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if b"engines/worker.py" in command and os.getpgid(int(process.name)) in groups:
                os.kill(int(process.name), signal.SIGKILL)
                return
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise AssertionError("no worker runs")


def _one_line(said: str) -> None:
    """What a failed command has said last is a line with the cause, and no more."""
    assert "Traceback" not in said
    assert "\tat " not in said
    errors = [line for line in said.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, said
    assert "tokenbeam-" in errors[0], "the job is named"


@pytest.mark.parametrize("kill", [_kill_task_manager, _kill_worker])
def test_training_recovers_when_something_dies_in_a_round(
    cluster: FlinkCluster,
    corpus: Path,
    expected: Expected,
    tmp_path: Path,
    kill: Callable[[FlinkCluster], None],
) -> None:
    arguments = ["train", str(corpus), *TRAINING]
    out = tmp_path / "out"
    with Command([*arguments, "-o", str(out), "--", *cluster.beam_args], log=tmp_path / "log") as command:
        _wait_for_file(command, out, ROUND_2)
        kill(cluster)
        ended = command.end()
    assert ended.returncode == 0, ended.stdout
    assert hashes(out) == expected(arguments)


def test_training_fails_in_one_line_and_resumes(
    cluster_without_restarts: FlinkCluster, corpus: Path, expected: Expected, tmp_path: Path
) -> None:
    arguments = ["train", str(corpus), *TRAINING]
    out = tmp_path / "out"
    beam = ["--", *cluster_without_restarts.beam_args]
    with Command([*arguments, "-o", str(out), *beam], log=tmp_path / "log") as command:
        _wait_for_file(command, out, ROUND_2)
        _kill_task_manager(cluster_without_restarts)
        ended = command.end()
    assert ended.returncode == 1, ended.stdout
    _one_line(ended.stdout)
    assert (out / ".work" / "rounds" / "0001.json").exists(), "the first round need not be done again"
    ended = run_command([*arguments, "-o", str(out), "--resume", *beam], log=tmp_path / "log")
    assert ended.returncode == 0, ended.stdout
    assert "Round 1" not in ended.stdout
    assert hashes(out) == expected(arguments)


@pytest.mark.parametrize("kill", [_kill_task_manager, _kill_worker])
def test_counting_recovers_when_something_dies(
    cluster: FlinkCluster,
    large_corpus: Path,
    expected: Expected,
    tmp_path: Path,
    kill: Callable[[FlinkCluster], None],
) -> None:
    arguments = ["count", str(large_corpus), "--tokenizer", "o200k_base", "--tokenizer", "words"]
    out = tmp_path / "out"
    with Command([*arguments, "-o", str(out), "--", *cluster.beam_args], log=tmp_path / "log") as command:
        _wait_for_file(command, out, A_PART_BEGUN)
        kill(cluster)
        ended = command.end()
    assert ended.returncode == 0, ended.stdout
    assert hashes(out) == expected(arguments)


def test_counting_fails_in_one_line_and_resumes(
    cluster_without_restarts: FlinkCluster, large_corpus: Path, expected: Expected, tmp_path: Path
) -> None:
    arguments = ["count", str(large_corpus), "--tokenizer", "o200k_base", "--tokenizer", "words"]
    out = tmp_path / "out"
    beam = ["--", *cluster_without_restarts.beam_args]
    with Command([*arguments, "-o", str(out), *beam], log=tmp_path / "log") as command:
        _wait_for_file(command, out, ".work/parts/*.json")
        _kill_task_manager(cluster_without_restarts)
        ended = command.end()
    assert ended.returncode == 1, ended.stdout
    _one_line(ended.stdout)
    ended = run_command([*arguments, "-o", str(out), "--resume", *beam], log=tmp_path / "log")
    assert ended.returncode == 0, ended.stdout
    assert hashes(out) == expected(arguments)
    records = json.loads((out / "run.json").read_text(encoding="utf-8"))["records"]
    lines = sum(path.read_bytes().count(b"\n") for path in large_corpus.iterdir())
    assert records["read"] == records["kept"] == lines
