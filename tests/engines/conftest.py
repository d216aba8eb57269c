"""Engines, started once for all tests of a session and stopped behind them, and what the default runner leaves."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks import corpora
from engines import flink
from engines.installed import Installed
from tests.engines.commands import hashes, run_command

CORPUS_BYTES = 4_000_000


@dataclasses.dataclass(frozen=True)
class Engine:
    """A running engine, and what stands behind ``--`` to use it."""

    name: str
    beam_args: tuple[str, ...]


@pytest.fixture(scope="session")
def installed() -> Installed:
    return Installed.find()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes of words by Zipf's law, in files of several sizes."""
    directory = tmp_path_factory.mktemp("corpus")
    lines = list(corpora.generated(CORPUS_BYTES))
    for number, (first, end) in enumerate([(0, 1), (1, 6), (6, 11), (11, 16)]):
        part = lines[len(lines) * first // 16 : len(lines) * end // 16]
        (directory / f"part-{number}.txt").write_bytes(b"".join(part))
    return directory


@pytest.fixture(scope="session")
def flink_embedded(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Flink within the job server; workers are in the process of the command."""
    with flink.job_server(installed, tmp_path_factory.mktemp("flink-embedded")) as server:
        args = (
            "--runner=PortableRunner",
            f"--job_endpoint={server.endpoint}",
            "--environment_type=LOOPBACK",
            flink.WORKERS_STAY,
        )
        yield Engine("flink-embedded", args)


@dataclasses.dataclass(frozen=True)
class FlinkCluster(Engine):
    """One of several processes on loopback; task managers start workers as processes."""

    cluster: flink.Cluster


@pytest.fixture(scope="session")
def flink_cluster(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkCluster]:
    """A job manager and two task managers; jobs begin again where something dies."""
    with running_cluster(installed, tmp_path_factory.mktemp("flink-cluster"), restarts=True) as cluster:
        yield cluster


@contextlib.contextmanager
def running_cluster(installed: Installed, directory: Path, *, restarts: bool) -> Iterator[FlinkCluster]:
    with (
        flink.cluster(installed, directory / "cluster", restarts=restarts) as cluster,
        flink.job_server(installed, directory / "job-server", master=cluster.rest) as server,
    ):
        args = ("--runner=PortableRunner", f"--job_endpoint={server.endpoint}", *flink.worker_processes())
        yield FlinkCluster("flink-cluster", (*args, flink.WORKERS_STAY), cluster)


@pytest.fixture(scope="session")
def prism(installed: Installed) -> Engine:
    """Prism, which the command starts and stops itself."""
    args = ("--runner=PrismRunner", f"--prism_location={installed.prism}", "--environment_type=LOOPBACK")
    return Engine("prism", args)


@pytest.fixture(params=["flink_embedded", "flink_cluster", "prism"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[str]], dict[str, str]]:
    """Give what the default runner leaves, run once for each command."""
    known: dict[tuple[str, ...], dict[str, str]] = {}

    def run(arguments: Sequence[str]) -> dict[str, str]:
        if tuple(arguments) not in known:
            directory = tmp_path_factory.mktemp("expected")
            ended = run_command([*arguments, "-o", str(directory / "out")], log=directory / "command.log")
            assert ended.returncode == 0, ended.stdout
            known[tuple(arguments)] = hashes(directory / "out")
        return known[tuple(arguments)]

    return run
