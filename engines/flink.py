"""Flink: Beam's job server with its embedded cluster, and a standalone cluster with workers of its own."""

import contextlib
import dataclasses
import json
import os
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from engines.installed import Installed
from engines.processes import Process, free_port

EMBEDDED = "[local]"
WORKERS_STAY = "--environment_cache_millis=5000"
"""Option with which workers stay from one stage of a job to the next, instead of each stage waiting for new ones."""
_HERE = Path(__file__).parent
_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
# Flink 1.19 and its serializers look into the JDK; its own start scripts give the same list for Java 17.
_OPENED = (
    "java.io",
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
    "sun.nio.ch",
)
_JAVA = ("java", *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED))
# The delay is longer than WORKERS_STAY says: a job that begins again before is given the dead worker, and fails of it.
_RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 3,
    "restart-strategy.fixed-delay.delay": "10 s",
}
_HEAP = "512m"
_DIRECT = "384m"  # network, and what the framework and the tasks hold off the heap


@contextlib.contextmanager
def job_server(
    installed: Installed, directory: Path, *, master: str = EMBEDDED, slots: int = 2
) -> Iterator["JobServer"]:
    """Run a job server until the block ends.

    Args:
        installed: The engines.
        directory: For its log and what it stages.
        master: ``HOST:PORT`` of a cluster's REST endpoint; by default each job gets a cluster within the job server.
        slots: How wide a job runs, unless its options say.
    """
    config = directory / "job-server-conf"
    config.mkdir(parents=True)
    _write_config(config, {"parallelism.default": slots, "taskmanager.numberOfTaskSlots": slots})
    command = [*_JAVA, "-Xmx1g", "-jar", str(installed.job_server), "--flink-master", master]
    ports = ["--job-port", "0", "--artifact-port", "0", "--expansion-port", "-1"]
    folders = ["--flink-conf-dir", str(config), "--artifacts-dir", str(directory / "artifacts")]
    with Process.start("job-server", [*command, *ports, *folders], directory=directory) as process:
        endpoint = process.wait_for_line(r"JobService started on (\S+:\d+)")[1]
        yield JobServer(process, endpoint)


@dataclasses.dataclass(frozen=True)
class JobServer:
    """A running job server; jobs go to its endpoint, ``HOST:PORT``."""

    process: Process
    endpoint: str


@dataclasses.dataclass
class Cluster:
    """A standalone cluster on loopback.

    Attributes:
        rest: ``HOST:PORT`` of its REST endpoint.
        job_manager: Process of the one job manager.
        task_managers: Those of the task managers that were started, also if they are dead.
    """

    installed: Installed
    directory: Path
    rest: str
    job_manager: Process
    task_managers: list[Process]
    _stack: contextlib.ExitStack

    def add_task_manager(self) -> Process:
        """Start one more task manager, and wait until the job manager knows it."""
        before = self.known_task_managers()
        name = f"task-manager-{len(self.task_managers) + 1}"
        process = self._stack.enter_context(
            Process.start(name, _java(self.installed, self.directory, _TASK_MANAGER), directory=self.directory)
        )
        self.task_managers.append(process)
        process.wait_for(lambda: self.known_task_managers() - before, "to register with the job manager")
        return process

    def known_task_managers(self) -> frozenset[str]:
        """Give the ids of the task managers that the job manager takes for alive."""
        found = self._get("taskmanagers")
        return frozenset(str(manager["id"]) for manager in (found or {}).get("taskmanagers", ()))

    def jobs(self) -> list[tuple[str, str, str]]:
        """Give id, name and state of every job that the cluster remembers, the newest first."""
        jobs = (self._get("jobs/overview") or {}).get("jobs", [])
        return [(j["jid"], j["name"], j["state"]) for j in sorted(jobs, key=lambda job: -job["start-time"])]

    def _get(self, path: str) -> dict[str, list[dict[str, str]]] | None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{self.rest}/{path}", timeout=10) as answer:
            found: dict[str, list[dict[str, str]]] = json.load(answer)
            return found
        return None


@contextlib.contextmanager
def cluster(
    installed: Installed, directory: Path, *, task_managers: int = 2, slots: int = 2, restarts: bool = True
) -> Iterator[Cluster]:
    """Run a job manager and task managers until the block ends.

    Args:
        installed: The engines.
        directory: For their logs, configuration and spilled files.
        task_managers: How many.
        slots: Of each.
        restarts: Whether a job begins again where something of it died. By itself, Flink restarts no batch job.
    """
    rest_port = free_port()
    directory.mkdir(parents=True, exist_ok=True)
    strategy = _RESTARTS if restarts else {}
    _write_config(directory, {**_cluster_config(directory, rest_port, slots), **strategy})
    with contextlib.ExitStack() as stack:
        command = _java(installed, directory, _JOB_MANAGER)
        job_manager = stack.enter_context(Process.start("job-manager", command, directory=directory))
        running = Cluster(installed, directory, f"localhost:{rest_port}", job_manager, [], stack)
        job_manager.wait_for(lambda: running._get("overview"), "to answer")  # noqa: SLF001 - its own module
        for _ in range(task_managers):
            running.add_task_manager()
        yield running


def worker_processes(*, python: Path = Path(sys.executable)) -> tuple[str, str]:
    """Give the options with which task managers start workers, as processes of their own group.

    Args:
        python: Whose packages the workers have.
    """
    # Where this Python's packages do not hold ours, it has them from the checkout.
    checkout = {"PYTHONPATH": str(_HERE.parent)} if python == Path(sys.executable) else {}
    config = {"command": str(_HERE / "worker"), "env": {**checkout, "TOKENBEAM_WORKER_PYTHON": str(python)}}
    return "--environment_type=PROCESS", f"--environment_config={json.dumps(config)}"


@contextlib.contextmanager
def worker_pool(directory: Path, *, python: Path = Path(sys.executable)) -> Iterator[tuple[Process, str]]:
    """Run a pool that starts Python workers for one task manager; give it and its ``HOST:PORT``.

    A pool serves one: task managers all number their workers from 1-1, and a pool that two share stops, for the one,
    the worker of the other, whose job then waits for ever.

    Args:
        directory: For its log.
        python: Whose packages the workers have.
    """
    # The pool starts "python", whichever comes first.
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    port = free_port()
    module = "apache_beam.runners.worker.worker_pool_main"
    command = [str(python), "-u", "-m", module, f"--service_port={port}"]
    with Process.start("worker-pool", command, directory=directory, environment=path) as process:
        process.wait_for_line("Started worker pool servicer")
        yield process, f"localhost:{port}"


def _java(installed: Installed, directory: Path, main: str) -> list[str]:
    memory = [f"-Xmx{_HEAP}", f"-XX:MaxDirectMemorySize={_DIRECT}", "-XX:MaxMetaspaceSize=256m"]
    options = [*memory, f"-Dlog4j2.configurationFile={_HERE / 'flink' / 'log4j2.properties'}"]
    # Beam's runner stands where Flink's own classes do. As a part of each job it would let its workers go whenever a
    # stage ends, and every stage would wait for new ones.
    classes = f"{installed.flink_lib}/*{os.pathsep}{installed.job_server}"
    return [*_JAVA, *options, "-cp", classes, main, "--configDir", str(directory)]


def _cluster_config(directory: Path, rest_port: int, slots: int) -> dict[str, object]:
    return {
        "jobmanager.rpc.address": "localhost",
        "jobmanager.rpc.port": free_port(),
        "jobmanager.bind-host": "localhost",
        "jobmanager.memory.process.size": "1024m",
        "rest.address": "localhost",
        "rest.bind-address": "localhost",
        "rest.port": rest_port,
        "taskmanager.host": "localhost",
        "taskmanager.bind-host": "localhost",
        "taskmanager.numberOfTaskSlots": slots,
        # All of these, as there is no start script that would work them out from one.
        "taskmanager.cpu.cores": slots,
        "taskmanager.memory.framework.heap.size": "128m",
        "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.jvm-metaspace.size": "256m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "taskmanager.memory.task.heap.size": "384m",
        "taskmanager.memory.task.off-heap.size": "64m",
        "taskmanager.memory.network.min": "128m",
        "taskmanager.memory.network.max": "128m",
        "taskmanager.memory.managed.size": "128m",
        "io.tmp.dirs": str(directory),
        "classloader.resolve-order": "parent-first",
        # Both task managers get work, also where one has slots enough.
        "cluster.evenly-spread-out-slots": "true",
        # A dead task manager is missed at the second call that it does not take; one that is only slow has a minute.
        "heartbeat.interval": 1000,
        "heartbeat.timeout": 60000,
    }


def _write_config(directory: Path, values: dict[str, object]) -> None:
    lines: Sequence[str] = [f"{name}: {value}\n" for name, value in values.items()]
    (directory / "flink-conf.yaml").write_text("".join(lines), encoding="utf-8")
