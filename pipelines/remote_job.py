"""A pipeline that runs elsewhere: handed in, watched, told of, and cancelled when the command is stopped."""

import contextlib
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
import grpc
from apache_beam.metrics.metric import MetricResults, MetricsFilter
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, StandardOptions
from apache_beam.runners.runner import PipelineResult, PipelineState, create_runner

from pipelines.beam_options import Engine
from pipelines.flink_cluster import FlinkCluster
from pipelines.interruption import on_interrupt
from pipelines.job_servers import JobServer, job_server_for
from pipelines.jobs import Job, job_of
from pipelines.progress import METRICS, Progress
from pipelines.worker_errors import worker_error
from tokenize_lib.errors import OptionError, TokenbeamError

_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.05, 1.0
_HANDING_IN_SECONDS = 10.0
_FILES_SECONDS = 10.0
_LOST_SECONDS = 60.0
_CANCEL_SECONDS = 30.0
_SHORTLY_SECONDS = 3.0
_FLINK_CANCELLED = "Job was cancelled."
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


def run_remote(  # noqa: PLR0913 - one call a pipeline, all by name
    build: Callable[[beam.Pipeline], None],
    *,
    beam_args: tuple[str, ...],
    command: str,
    step: str,
    progress: Progress | None,
    finished: Callable[[], int] | None,
) -> None:
    """Build a pipeline and run it where the options say, to its end.

    Args:
        build: Applies the transforms to the pipeline it is given.
        beam_args: Options for Beam.
        command: What a person has started; part of the job's name.
        step: What the pipeline is for, in words.
        progress: Shows how far it is.
        finished: Gives what is finished, in the unit of `progress`, for runners that tell nothing meanwhile.

    Raises:
        TokenbeamError: What a worker raised, of its own class; or one line about anything else, with the job's id.
        OptionError: The Beam options cannot be used.
    """
    options = PipelineOptions(list(beam_args))
    engine = Engine.of(options)
    cloud = options.view_as(GoogleCloudOptions)
    cloud.job_name = cloud.job_name or _job_name(command, step)
    cluster = FlinkCluster.of(options)
    runner = _runner(options, engine)
    if progress is not None:
        progress.state = f"waiting for {engine.runner}"
    server = job_server_for(runner, options, engine.runner, beam_args)
    try:
        pipeline = beam.Pipeline(runner=runner, options=options)
    except ValueError as error:
        raise OptionError(f"Beam: {' '.join(str(error).split())} (after --)") from error
    build(pipeline)
    watched = _Watched(cloud.job_name, engine.runner, step, cluster, server)
    try:
        with on_interrupt(watched.cancel):
            watched.begin(_in_thread(pipeline.run, step))
            if progress is not None:
                progress.say(f"{progress.label}: {watched.name}")
            watched.wait(progress, finished)
    except KeyboardInterrupt:
        watched.cancel()
        raise
    finally:
        watched.close()


def _runner(options: PipelineOptions, engine: Engine) -> Any:
    try:
        return create_runner(options.view_as(StandardOptions).runner)
    except (ImportError, AttributeError, ValueError) as error:
        raise TokenbeamError(f"-- --runner {engine.runner}: {' '.join(str(error).split())}") from error


def _in_thread(call: Callable[[], Any], step: str) -> Any:
    """Wait for a call so that Ctrl-C is heard meanwhile."""
    ended = threading.Event()
    results: list[Any] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failures.append(error)
        ended.set()

    threading.Thread(target=run, name="beam-submit", daemon=True).start()
    while not ended.wait(_LOOK_SECONDS):
        pass
    if failures:
        raise worker_error(failures[0], step) from failures[0]
    return results[0]


class _Watched:
    """A job while it runs.

    Args:
        job_name: Its name.
        runner: Where it runs, for people.
        step: What it is for.
        cluster: The Flink cluster that it runs on, if it is known.
        server: The job server that it is handed to, if there is one.
    """

    def __init__(
        self, job_name: str, runner: str, step: str, cluster: FlinkCluster | None, server: JobServer | None
    ) -> None:
        self._job_name, self._runner, self._step = job_name, runner, step
        self._cluster, self._server = cluster, server
        self._job: Job | None = None
        self._begun = threading.Event()

    def begin(self, result: PipelineResult) -> None:
        """Know of the job, once it is handed in."""
        self._job = job_of(result, self._server)
        self._begun.set()

    @property
    def name(self) -> str:
        """What people read of it: name, id and runner."""
        job_id = self._job.id if self._job is not None else ""
        both = job_id if job_id.startswith(self._job_name) else f"{self._job_name} ({job_id})"
        return f"job {both if job_id else self._job_name} on {self._runner}"

    def wait(self, progress: Progress | None, finished: Callable[[], int] | None) -> None:
        """Wait for its end; raise what it failed of."""
        job = self._known()
        looks = None if progress is None else _Looks(job, progress, finished, self._tasks)
        pause = _FIRST_LOOK_SECONDS
        state = self._state(job)
        while not PipelineState.is_terminal(state):
            if looks is not None:
                looks.look(state)
            time.sleep(pause)
            pause = min(1.5 * pause, _LOOK_SECONDS)
            state = self._state(job)
        if looks is not None:
            looks.look_at_metrics()
        if state == PipelineState.DONE:
            return
        failure = job.failure()
        if state == PipelineState.CANCELLED or _FLINK_CANCELLED in str(failure):
            raise TokenbeamError(f"{self._step} failed: {self.name} was cancelled there: go on with --resume")
        raise worker_error(failure, self._step, self.name) from failure

    def cancel(self) -> str:
        """End it, and wait until it has; say what became of it."""
        self._begun.wait(_HANDING_IN_SECONDS)
        try:
            if self._cluster is not None:
                return self._cancel_on(self._cluster)
            if self._job is None:
                return f"{self.name} may have been handed in: see there that it ends"
            return self._cancel(self._job)
        except Exception as error:  # noqa: BLE001 - it may have gone before us
            return f"{self.name} may still run ({_told(error)}): end it there"

    def _cancel_on(self, cluster: FlinkCluster) -> str:
        is_ours = self._server is not None and self._server.stop is not None
        if cluster.cancel(self._job_name, _SHORTLY_SECONDS if is_ours else _CANCEL_SECONDS):
            return f"{self.name} is cancelled"
        if self._server is not None and self._server.stop is not None:
            self._server.stop()  # what it had not handed on yet, it never does
            if not cluster.has(self._job_name):
                return f"{self.name} was not begun"
            if cluster.cancel(self._job_name, _CANCEL_SECONDS):
                return f"{self.name} is cancelled"
        return f"{self.name} is not seen to end at {cluster.address}: see there that it does"

    def _cancel(self, job: Job) -> str:
        if not PipelineState.is_terminal(state := job.state()):
            job.cancel()
        deadline = time.monotonic() + _CANCEL_SECONDS
        while not PipelineState.is_terminal(state := job.state()):
            if time.monotonic() > deadline:
                return f"{self.name} was told to stop, and is {state.lower()}: see there that it ends"
            time.sleep(_FIRST_LOOK_SECONDS)
        # Flink's, for one, says so of jobs that go on.
        who = ", says its job server" if self._server is not None and self._server.stop is None else ""
        return f"{self.name} is {state.lower()}{who}"

    def close(self) -> None:
        """Let go of what served it on this side."""
        if self._job is not None:
            self._job.close()

    def _known(self) -> Job:
        if self._job is None:
            raise TokenbeamError(f"{self._step}: {self.name} was not handed in")
        return self._job

    def _tasks(self) -> str | None:
        return None if self._cluster is None else self._cluster.tasks(self._job_name)

    def _state(self, job: Job) -> str:
        """Ask for the state, for a while also where nobody answers."""
        lost: float | None = None
        while True:
            try:
                return job.state()
            except TokenbeamError as error:
                raise self._lost(str(error), has_ended=True) from error
            except (grpc.RpcError, ValueError) as error:  # a closed channel is a ValueError
                lost = lost or time.monotonic()
                code = error.code() if isinstance(error, grpc.RpcError) else None
                if code == grpc.StatusCode.NOT_FOUND:
                    raise self._lost("its job server does not know of it any more") from error
                if time.monotonic() - lost > _LOST_SECONDS:
                    raise self._lost(
                        f"nothing is heard from its job server for {_LOST_SECONDS:.0f} s ({_told(error)})"
                    ) from error
                time.sleep(_LOOK_SECONDS)

    def _lost(self, why: str, *, has_ended: bool = False) -> TokenbeamError:
        """Give the error for a job of which nothing is heard any more, which must not go on by itself."""
        if self._cluster is not None:
            has_ended = False
            with contextlib.suppress(OSError):
                has_ended = self._cluster.cancel(self._job_name, _CANCEL_SECONDS)
        first = "" if has_ended else "see there that it has ended, then "
        return TokenbeamError(f"{self._step} failed: {self.name}: {why}: {first}go on with --resume")


class _Looks:
    """How far a job is: by its metrics, or where the runner gives none before the end, by what is finished."""

    def __init__(
        self,
        job: Job,
        progress: Progress,
        finished: Callable[[], int] | None,
        tasks: Callable[[], str | None],
    ) -> None:
        self._job, self._progress, self._finished, self._tasks = job, progress, finished, tasks
        self._wanted = f"{progress.step} {progress.unit}"
        self._next_files = time.monotonic() + _FILES_SECONDS
        self._last_state = ""

    def look(self, state: str) -> None:
        if state != PipelineState.RUNNING:
            self._progress.state = state.lower()
        elif state != self._last_state:
            self._progress.state = ""
        self._last_state = state
        self.look_at_metrics()
        is_told = self._progress.done > self._progress.finished
        if is_told or time.monotonic() < self._next_files:
            return
        before = time.monotonic()
        with contextlib.suppress(Exception):  # the run fails of what matters
            if self._finished is not None:
                self._progress.finished = self._finished()
        with contextlib.suppress(Exception):
            self._progress.state = self._tasks() or ""
        self._next_files = time.monotonic() + max(_FILES_SECONDS, 10 * (time.monotonic() - before))

    def look_at_metrics(self) -> None:
        with contextlib.suppress(Exception):
            self._progress.elsewhere = max(self._progress.elsewhere, sum(self._counters()))

    def _counters(self) -> Iterator[int]:
        found = self._job.metrics().query(MetricsFilter().with_namespace(METRICS).with_name(self._wanted))
        for counter in found[MetricResults.COUNTERS]:
            yield max(counter.committed or 0, counter.attempted or 0)


def _job_name(command: str, step: str) -> str:
    """Give a name that engines take: letters, digits and hyphens, a letter first, unlike all others."""
    words = f"{command} {step.removeprefix('counting ')}"
    return f"{_NOT_IN_A_NAME.sub('-', words.lower()).strip('-')}-{uuid.uuid4().hex[:8]}"


def _told(error: BaseException) -> str:
    details = getattr(error, "details", None)
    text = details() if callable(details) else str(error)
    return " ".join(str(text).split()) or type(error).__name__
