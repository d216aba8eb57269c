"""How a job elsewhere is told of, fails, is stopped, and what it leaves: nothing that runs."""

import dataclasses
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import flink
from engines.installed import Installed
from tests.engines.commands import Command, run_command
from tests.engines.conftest import Engine

COUNT = ("--tokenizer", "o200k_base")
COPIES = 40
NAME = r"job tokenbeam-count-tokens-[0-9a-f]{8}(?:_[0-9a-f-]{36}| \(job-\d+\)) on (?:Portable|Prism|Flink)Runner"


@dataclasses.dataclass(frozen=True)
class OwnJobServer:
    """A cluster whose job server the command starts, by a Java that writes down each start."""

    cluster: flink.Cluster
    starts: Path
    beam_args: tuple[str, ...]

    def started(self) -> list[int]:
        """The process ids of the job servers that were started."""
        return [int(line) for line in self.starts.read_text().split()] if self.starts.exists() else []


def _java(directory: Path) -> tuple[Path, Path]:
    starts, java = directory / "starts", directory / "java"
    java.write_text(f'#!/bin/sh\necho $$ >> "{starts}"\nexec java "$@"\n')
    java.chmod(0o755)
    return java, starts


@pytest.fixture(scope="module")
def cluster(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[flink.Cluster]:
    with flink.cluster(installed, tmp_path_factory.mktemp("cluster"), task_managers=1) as cluster:
        yield cluster


@pytest.fixture
def own(installed: Installed, cluster: flink.Cluster, tmp_path: Path) -> OwnJobServer:
    java, starts = _java(tmp_path)
    beam_args = (
        "--runner=FlinkRunner",
        f"--flink_job_server_jar={installed.job_server}",
        f"--job_server_java_launcher={java}",
        f"--flink_master={cluster.rest}",
        "--environment_type=LOOPBACK",
    )
    return OwnJobServer(cluster, starts, beam_args)


@pytest.fixture(scope="module")
def large(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough to be stopped in the middle of."""
    directory = tmp_path_factory.mktemp("large")
    text = b"".join(path.read_bytes() for path in sorted(corpus.iterdir()))
    for number in range(COPIES):
        (directory / f"{number}.txt").write_bytes(text)
    return directory


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_until_all_have_ended(processes: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(map(_is_running, processes)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_bad_record_is_one_line_with_the_job(engine: Engine, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "good"}\n{"other": 1}\n')
    arguments = ["count", str(bad), "-o", str(tmp_path / "out"), *COUNT, "--", *engine.beam_args]
    ended = run_command(arguments, log=tmp_path / "command.log")
    assert ended.returncode == 1
    *said, error = ended.stdout.splitlines()
    assert sum(re.fullmatch(f"Counting tokens: {NAME}", line) is not None for line in said) == 1
    assert re.fullmatch(
        rf'Error: {re.escape(str(bad))}: row 2 \(at byte \d+\): no field "text"; --on-bad-record skip sets such '
        rf"records aside, --text-field names another field \(counting tokens, {NAME}\)",
        error,
    )


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_cancels_the_job_on_the_cluster_itself(
    own: OwnJobServer, large: Path, tmp_path: Path, stop: signal.Signals, code: int
) -> None:
    arguments = ["count", str(large), "-o", str(tmp_path / "out"), *COUNT, "--", *own.beam_args]
    before = len(own.cluster.jobs())
    with Command(arguments, log=tmp_path / "command.log") as command:
        while not (len(own.cluster.jobs()) > before and own.cluster.jobs()[0][2] == "RUNNING"):
            assert command.process.poll() is None, command.said()
            time.sleep(0.1)
        os.killpg(command.process.pid, stop)  # as a terminal does: all of its processes get it
        ended = command.end()
    assert ended.returncode == code, ended.stdout
    assert own.cluster.jobs()[0][2] == "CANCELED"
    said = ended.stdout.splitlines()[-1]
    assert re.fullmatch(f"Stopped: {NAME} is cancelled. The same command with --resume goes on from here.", said)
    assert own.cluster.jobs()[0][1] in said
    assert len(own.started()) == 1
    _wait_until_all_have_ended(own.started())


def test_a_job_server_that_is_killed_takes_no_job_along(own: OwnJobServer, large: Path, tmp_path: Path) -> None:
    arguments = ["count", str(large), "-o", str(tmp_path / "out"), *COUNT, "--", *own.beam_args]
    before = len(own.cluster.jobs())
    with Command(arguments, log=tmp_path / "command.log") as command:
        while not (len(own.cluster.jobs()) > before and own.cluster.jobs()[0][2] == "RUNNING"):
            assert command.process.poll() is None, command.said()
            time.sleep(0.1)
        os.kill(own.started()[0], signal.SIGKILL)
        ended = command.end()
    assert ended.returncode == 1, ended.stdout
    assert re.fullmatch(
        f"Error: counting tokens failed: {NAME}: its job server ended with exit code -9: go on with --resume",
        ended.stdout.splitlines()[-1],
    )
    assert own.cluster.jobs()[0][2] == "CANCELED"


def test_a_cluster_that_is_not_there(own: OwnJobServer, tmp_path: Path) -> None:
    nowhere = [arg for arg in own.beam_args if not arg.startswith("--flink_master")] + ["--flink_master=localhost:1"]
    arguments = ["count", str(Path(__file__)), "-o", str(tmp_path / "out"), *COUNT, "--", *nowhere]
    ended = run_command(arguments, log=tmp_path / "command.log")
    assert ended.returncode == 1
    assert ended.stdout == (
        "Error: no Flink cluster answers at -- --flink_master localhost:1 ([Errno 111] Connection refused): "
        "give host and port of its REST interface\n"
    )
    assert own.started() == []


def test_one_job_server_serves_all_rounds_and_ends_with_the_command(
    installed: Installed, corpus: Path, tmp_path: Path
) -> None:
    java, starts = _java(tmp_path)
    beam_args = ["--runner=FlinkRunner", f"--flink_job_server_jar={installed.job_server}", "--flink_master=[local]"]
    arguments = ["train", str(corpus), "-o", str(tmp_path / "out"), "--vocab-size", "3000", "--memory", "20MiB", "--"]
    arguments += [*beam_args, f"--job_server_java_launcher={java}", "--environment_cache_millis=20000"]
    ended = run_command(arguments, log=tmp_path / "command.log")
    assert ended.returncode == 0, ended.stdout
    assert json.loads((tmp_path / "out" / "run.json").read_text())["results"]["rounds"] >= 3
    [server] = starts.read_text().split()
    _wait_until_all_have_ended([int(server)])
