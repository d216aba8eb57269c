"""Runs a Beam pipeline: in this process unless Beam options say where else.

The default is `FnApiRunner`, Beam's in-process portable runner, and so is what ``--runner DirectRunner`` names here:
Beam's own switch of that name first tries to download another runner.
"""

import contextlib
import dataclasses
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineState
from apache_beam.runners.worker.statesampler import DEFAULT_SAMPLING_PERIOD_MS, StateSampler
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipelines.beam_options import Engine, check_beam_args
from pipelines.memory import MemoryShares
from pipelines.progress import Progress
from pipelines.remote_job import run_remote
from pipelines.worker_errors import worker_error
from tokenize_lib.errors import OptionError, TokenbeamError

_SAMPLING_MS = 10
_WORK_WORTH_A_WORKER = 4 << 20
_MOST_ROUNDS_PER_JOB = 64
_WORKER_MODULE = "pipelines.worker_main"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """Where and how wide a run goes. None of it changes a byte of the result.

    Attributes:
        memory: Bytes that this process may use, driver and in-process workers together. Less means more passes over
            the data and more spilled files, never another result.
        workers: Threads that work at a time in this process.
        worker_memory: Bytes that one worker slot of a cluster may use; None: `pipelines.memory.WORKER_MEMORY`.
        rounds_per_job: Merge rounds of training that are one job. With more than one, workers merge too.
        command: What the user has started; the names of jobs elsewhere begin with it.
        beam_args: Options for Beam, as on its command line.
        debug: Let Beam's log and the tracebacks of workers through.

    Raises:
        OptionError: A value is too small, or too large.
    """

    memory: int
    workers: int
    worker_memory: int | None = None
    rounds_per_job: int = 1
    command: str = "tokenbeam"
    beam_args: tuple[str, ...] = ()
    debug: bool = False

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise OptionError(f"--memory {self.memory} is too small: give at least 1 byte")
        if self.workers < 1:
            raise OptionError(f"--workers {self.workers} is too small: give at least 1")
        if self.worker_memory is not None and self.worker_memory < 1:
            raise OptionError(f"--worker-memory {self.worker_memory} is too small: give at least 1 byte")
        if not 1 <= self.rounds_per_job <= _MOST_ROUNDS_PER_JOB:
            raise OptionError(
                f"--rounds-per-job {self.rounds_per_job} is out of range: give 1 to {_MOST_ROUNDS_PER_JOB}"
            )

    @property
    def shares(self) -> MemoryShares:
        """What driver and workers may hold of tables that grow with the corpus."""
        engine = Engine.of(PipelineOptions(list(self.beam_args)))
        if engine.workers_elsewhere or (self.worker_memory is not None and not engine.in_process):
            return MemoryShares.of_cluster(self.memory, self.worker_memory, workers_merge=self.rounds_per_job > 1)
        return MemoryShares.of(self.memory, self.workers)

    def for_work(self, size: int) -> "RuntimeOptions":
        """The same with no more workers than `size` bytes of work are worth: each costs about 0.2 s to start."""
        return dataclasses.replace(self, workers=max(1, min(self.workers, size // _WORK_WORTH_A_WORKER)))


def run_pipeline(
    build: Callable[[beam.Pipeline], None],
    runtime: RuntimeOptions,
    step: str,
    *,
    progress: Progress | None = None,
    finished: Callable[[], int] | None = None,
) -> None:
    """Build a pipeline and run it to its end.

    Args:
        build: Applies the transforms to the pipeline it is given.
        runtime: Where and how wide to run.
        step: What the pipeline is for, in words; named in errors.
        progress: Where a job elsewhere is shown.
        finished: Gives what is finished, in the unit of `progress`: asked for seldom, for a job elsewhere whose runner
            tells nothing before its end.

    Raises:
        TokenbeamError: What a worker raised, of its own class, whatever the runner; or one line about anything else.
        OptionError: The Beam options cannot be used.
    """
    if runtime.beam_args:
        check_beam_args(runtime.beam_args)
    with contextlib.nullcontext() if runtime.debug else _hidden_stderr():
        if Engine.of(PipelineOptions(list(runtime.beam_args))).in_process:
            _run_in_process(build, runtime, step)
        else:
            run_remote(
                build, beam_args=runtime.beam_args, command=runtime.command, step=step, progress=progress,
                finished=finished,
            )  # fmt: skip


def _run_in_process(build: Callable[[beam.Pipeline], None], runtime: RuntimeOptions, step: str) -> None:
    runner, options = _in_process(runtime)
    _end_promptly()
    pipeline = beam.Pipeline(runner=runner, options=options)
    build(pipeline)
    try:
        _run_in_thread(pipeline, step)
    except Exception as error:
        raise worker_error(error, step) from error


def _end_promptly() -> None:
    """Let Beam look every 10 ms at which step runs, not every 200: the end of a pipeline waits for the next look."""
    if StateSampler.__init__.__defaults__ == (DEFAULT_SAMPLING_PERIOD_MS,):
        StateSampler.__init__.__defaults__ = (_SAMPLING_MS,)


def _in_process(runtime: RuntimeOptions) -> tuple[FnApiRunner, PipelineOptions]:
    """Give the runner, and the options that make it as wide as asked; what the user gave comes last and wins."""
    mode = "multi_threading" if runtime.workers > 1 else "in_memory"
    # Checking types while the graph is built takes a tenth of a small pipeline's time.
    ours = (f"--direct_running_mode={mode}", f"--direct_num_workers={runtime.workers}", "--no_pipeline_type_check")
    options = PipelineOptions([*ours, *runtime.beam_args])
    options.view_as(StandardOptions).runner = "FnApiRunner"
    direct = options.view_as(DirectOptions)
    if direct.direct_running_mode == "in_memory":
        direct.direct_num_workers = 1
    if direct.direct_running_mode != "multi_processing":
        return FnApiRunner(), options
    # As Beam's own multi_processing, but workers end with this process, their log does not reach the terminal, and a
    # path may hold spaces.
    direct.direct_running_mode = "in_memory"
    hide = "" if runtime.debug else " 2>/dev/null"
    command = f"exec {shlex.quote(sys.executable)} -m {_WORKER_MODULE} {os.getpid()}{hide}"
    environment = SubprocessSDKEnvironment.from_command_string(command)
    return FnApiRunner(default_environment=environment, provision_info=_for_processes(options)), options


def _for_processes(options: PipelineOptions) -> Any:
    """Give what makes options known to worker processes, as Beam does not: where s3:// is, and who may read there."""
    from apache_beam.portability.api import beam_provision_api_pb2  # noqa: PLC0415 - for such workers alone
    from apache_beam.runners.portability.fn_api_runner.fn_runner import ExtendedProvisionInfo  # noqa: PLC0415
    from apache_beam.runners.portability.portable_runner import JobServiceHandle  # noqa: PLC0415

    given = JobServiceHandle.encode_pipeline_options(options.get_all_options(drop_default=True))
    return ExtendedProvisionInfo(beam_provision_api_pb2.ProvisionInfo(pipeline_options=given))


def _run_here(pipeline: beam.Pipeline, step: str) -> None:
    state = pipeline.run().wait_until_finish()
    if state not in (None, PipelineState.DONE):
        raise TokenbeamError(f"{step} ended as {state}")


def _run_in_thread(pipeline: beam.Pipeline, step: str) -> None:
    """Run while the main thread stays free for Ctrl-C, and notice a worker process that died, which Beam waits for."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            _run_here(pipeline, step)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failures.append(error)
        ended.set()

    def notice(thread_failure: threading.ExceptHookArgs) -> None:
        message = str(thread_failure.exc_value)
        if message.startswith("Worker subprocess exited"):
            code = message.rpartition(" ")[2]
            failures.append(
                TokenbeamError(
                    f"a worker process ended with exit code {code} during: {step}; "
                    "-9 is usually a lack of memory: use fewer workers and go on with --resume"
                )
            )
            ended.set()

    with _thread_failures(notice):
        threading.Thread(target=run, name="beam-pipeline", daemon=True).start()
        ended.wait()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def _thread_failures(notice: Callable[[threading.ExceptHookArgs], None]) -> Iterator[None]:
    before = threading.excepthook
    threading.excepthook = notice
    try:
        yield
    finally:
        threading.excepthook = before


@contextlib.contextmanager
def _hidden_stderr() -> Iterator[None]:
    """Beam's workers print every traceback, which the raised error holds already; talk has a stream of its own."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        yield
