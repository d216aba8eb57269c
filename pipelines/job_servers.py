"""Job servers: where a pipeline is handed in that runs elsewhere.

Beam starts one a pipeline for the runners that need it, a Java machine each time. Here one serves all pipelines of the
command, apart from the terminal, so that Ctrl-C reaches the job through it before it ends.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import grpc
from apache_beam.options.pipeline_options import JobServerOptions, PipelineOptions, PortableOptions
from apache_beam.portability.api import beam_job_api_pb2_grpc
from apache_beam.runners.portability import job_server
from apache_beam.runners.portability.local_job_service import LocalJobServicer
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineRunner

from pipelines.flink_cluster import FlinkCluster
from pipelines.interruption import at_interrupt
from tokenize_lib.errors import TokenbeamError

_EMBEDDED = "embed"
_ANSWER_SECONDS = 30.0
_START_SECONDS = 180.0
_STOP_SECONDS = 10.0
_LOOK_SECONDS = 0.1
_BEFORE_A_STACK = ("panic:", "fatal error:", "Exception in thread", "Error:", "Caused by:")
# Linux sends the signal to what is run when the thread that asked is gone, however it went.
_END_WITH_STARTER = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
except AttributeError:
    pass
os.execvp(sys.argv[1], sys.argv[1:])
"""


class JobServer:
    """A job server that answers.

    Attributes:
        endpoint: Its host and port.
        stub: Its calls.
    """

    def __init__(
        self, endpoint: str, ended: Callable[[], str | None] = lambda: None, stop: Callable[[], None] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.ended = ended
        """Says how it ended, if it was started here and did."""
        self.stop = stop
        """Ends it, if it was started here."""
        self._channel = grpc.insecure_channel(
            endpoint, options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        )
        self.stub = beam_job_api_pb2_grpc.JobServiceStub(self._channel)

    def answers(self, seconds: float) -> bool:
        """Wait until it can be spoken to; tell whether it can."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            return False
        return True

    def close(self) -> None:
        """Let go of it."""
        self._channel.close()


class _Started:
    """One of our own processes with a job server in it."""

    def __init__(self, command: list[str], endpoint: str, folder: str, runner: str) -> None:
        self._folder = folder
        self._log = Path(folder) / "log"
        self._runner = runner
        with self._log.open("wb") as log:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the runner's own command
                    [sys.executable, "-I", "-S", "-c", _END_WITH_STARTER, *command],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise TokenbeamError(f"the job server of {runner} cannot be started: {error.strerror}") from error
        self.server = JobServer(endpoint, self.ended, self.stop)

    def ended(self) -> str | None:
        code = self._process.poll()
        return None if code is None else f"ended with exit code {code}{self._cause()}"

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self.server.answers(_LOOK_SECONDS):
            ended = self.ended()
            if ended is not None:
                raise TokenbeamError(f"the job server of {self._runner} {ended}")
            if time.monotonic() > deadline:
                raise TokenbeamError(
                    f"the job server of {self._runner} does not answer at {self.server.endpoint} "
                    f"after {_START_SECONDS:.0f} s{self._cause()}"
                )

    def stop(self) -> None:
        self.server.close()
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _cause(self) -> str:
        """What it said of its end, if it did so itself: the line before a stack, or else its last."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith(_BEFORE_A_STACK)), lines[-1] if lines else "")
        was_killed = (self._process.poll() or 0) < 0
        return f" ({' '.join(said.split())})" if said and not was_killed else ""


_lock = threading.Lock()
_started: dict[tuple[str, ...], _Started] = {}
_known: dict[str, JobServer] = {}


def job_server_for(
    runner: PipelineRunner, options: PipelineOptions, name: str, beam_args: tuple[str, ...]
) -> JobServer | None:
    """Give a job server that answers, and tell Beam of it: ``--job_endpoint``.

    Args:
        runner: Beam's.
        options: The pipeline's; changed.
        name: The runner's, for people.
        beam_args: What stands after ``--``.

    Returns:
        The one that an earlier pipeline with the same `beam_args` used, if it was started here. None where the runner
        has none, or none that outlives its pipeline.

    Raises:
        TokenbeamError: None answers, or none can be started.
    """
    if not isinstance(runner, PortableRunner):
        return None
    portable = options.view_as(PortableOptions)
    if portable.job_endpoint is None:
        with _lock:
            return _own(runner, options, name, beam_args)
    server = _known.get(portable.job_endpoint) or _know(portable.job_endpoint)
    portable.job_endpoint = server.endpoint
    seconds = _answer_seconds(portable)
    if server.answers(seconds):
        return server
    raise TokenbeamError(
        f"no job server answers at {portable.job_endpoint} (asked for {seconds:g} s): check --job_endpoint after --, "
        "and that it runs"
    )


def stop_job_servers() -> None:
    """End those that were started here."""
    while _started:
        _, started = _started.popitem()
        started.stop()


atexit.register(stop_job_servers)
at_interrupt(stop_job_servers)


def _own(runner: PortableRunner, options: PipelineOptions, name: str, beam_args: tuple[str, ...]) -> JobServer | None:
    started = _started.get(beam_args)
    if started is not None and started.ended() is None:
        options.view_as(PortableOptions).job_endpoint = started.server.endpoint
        return started.server
    folder = tempfile.mkdtemp(prefix="tokenbeam-job-server-")
    try:
        command, endpoint = _command(runner, options, name, folder)
        if not command:
            shutil.rmtree(folder)
            return None
        started = _Started(command, endpoint, folder, name)
        _started[beam_args] = started
        started.wait_until_it_answers()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    options.view_as(PortableOptions).job_endpoint = endpoint
    return started.server


def _command(runner: PortableRunner, options: PipelineOptions, name: str, folder: str) -> tuple[list[str], str]:
    """Give the command that starts the runner's job server, and its endpoint; none where it has no process."""
    cluster = FlinkCluster.of(options) if name == "FlinkRunner" else None
    if cluster is not None:
        try:
            cluster.check()
        except OSError as error:
            reason = " ".join(str(getattr(error, "reason", error)).split())
            raise TokenbeamError(
                f"no Flink cluster answers at -- --flink_master {cluster.address} ({reason}): "
                "give host and port of its REST interface"
            ) from error
    where = options.view_as(JobServerOptions)
    where.artifacts_dir = where.artifacts_dir or folder
    try:
        server = runner.default_job_server(options)
        if isinstance(server, job_server.StopOnExitJobServer):
            server = server._job_server  # noqa: SLF001 - its own start would take the process' signals
        if not isinstance(server, job_server.SubprocessJobServer):
            return [], ""
        command, endpoint = server.subprocess_cmd_and_endpoint()
    except NotImplementedError as error:
        raise TokenbeamError(f"{name} needs --job_endpoint HOST:PORT after --, where a job server listens") from error
    except (URLError, OSError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).partition(". Also failed")[0].split())
        option = "prism_location" if name == "PrismRunner" else f"{name.lower().removesuffix('runner')}_job_server_jar"
        raise TokenbeamError(
            f"{name} has no job server to start ({why}): name one with --{option} after --, "
            "or one that runs with --job_endpoint HOST:PORT"
        ) from error
    command = [str(part) for part in command]
    if shutil.which(command[0]) is None:
        raise TokenbeamError(
            f"{command[0]} is not there, with which {name} starts its job server: install it, or name a job server "
            "that runs with --job_endpoint HOST:PORT"
        )
    return command, endpoint


def _know(endpoint: str) -> JobServer:
    """Keep a connection to a job server; ``embed`` is Beam's that runs in this process, for tests."""
    address = f"localhost:{LocalJobServicer().start_grpc_server()}" if endpoint == _EMBEDDED else endpoint
    _known[endpoint] = JobServer(address)
    return _known[endpoint]


def _answer_seconds(portable: PortableOptions) -> float:
    """Beam's default is five minutes; what a user gave is used."""
    default = PipelineOptions([]).view_as(PortableOptions).job_server_timeout
    given = float(portable.job_server_timeout)
    return _ANSWER_SECONDS if given == default else given
