"""Runs a Beam pipeline: in this process unless Beam options say where else.

The default is `FnApiRunner`, Beam's in-process portable runner, and so is what ``--runner DirectRunner`` names here:
Beam's own switch of that name first tries to download another runner.
"""

import argparse
import contextlib
import dataclasses
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineState
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipelines.worker_errors import worker_error
from tokenize_lib.errors import OptionError, TokenbeamError

_IN_PROCESS_RUNNERS = ("direct", "fnapi", "switchingdirect")
_WORK_WORTH_A_WORKER = 4 << 20
_WORKER_MODULE = "pipelines.worker_main"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """Where and how wide a run goes. None of it changes a byte of the result.

    Attributes:
        memory: Bytes that this process may use, driver and in-process workers together. Less means more passes over
            the data and more spilled files, never another result.
        workers: Threads that work at a time in this process.
        beam_args: Options for Beam, as on its command line.
        debug: Let Beam's log and the tracebacks of workers through.

    Raises:
        OptionError: A value is too small.
    """

    memory: int
    workers: int
    beam_args: tuple[str, ...] = ()
    debug: bool = False

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise OptionError(f"--memory {self.memory} is too small: give at least 1 byte")
        if self.workers < 1:
            raise OptionError(f"--workers {self.workers} is too small: give at least 1")

    def for_work(self, size: int) -> "RuntimeOptions":
        """The same with no more workers than `size` bytes of work are worth: each costs about 0.2 s to start."""
        return dataclasses.replace(self, workers=max(1, min(self.workers, size // _WORK_WORTH_A_WORKER)))


def take_beam_args(beam_args: Sequence[str]) -> None:
    """Check what stands after ``--``, and hand it to Beam's filesystems: ``s3://`` opens nothing without.

    A pipeline does that too, but inputs are listed before there is one.

    Raises:
        OptionError: As `check_beam_args`.
    """
    check_beam_args(beam_args)
    FileSystems.set_options(PipelineOptions(list(beam_args)))


def check_beam_args(beam_args: Sequence[str]) -> None:
    """Check what stands after ``--`` before any work is done.

    Raises:
        OptionError: An option that the in-process runner does not know, a value that Beam refuses, or a runner that
            loses data.
    """
    unknown = _parse_strictly(beam_args)
    runner = _runner_name(PipelineOptions(list(beam_args)))
    if runner == "dask":
        raise OptionError(
            "-- --runner DaskRunner silently loses records (pipelines with several outputs): "
            "use FlinkRunner, SparkRunner or DataflowRunner, or leave the option out"
        )
    # Other runners take options that only their job servers know.
    if unknown and runner in _IN_PROCESS_RUNNERS:
        raise OptionError(f"Beam does not know {' '.join(unknown)} (after --)")


def run_pipeline(build: Callable[[beam.Pipeline], None], runtime: RuntimeOptions, step: str) -> None:
    """Build a pipeline and run it to its end.

    Args:
        build: Applies the transforms to the pipeline it is given.
        runtime: Where and how wide to run.
        step: What the pipeline is for, in words; named in errors.

    Raises:
        TokenbeamError: What a worker raised, of its own class, whatever the runner; or one line about anything else.
        OptionError: The Beam options cannot be used.
    """
    if runtime.beam_args:
        check_beam_args(runtime.beam_args)
    options = PipelineOptions(list(runtime.beam_args))
    if _runner_name(options) in _IN_PROCESS_RUNNERS:
        runner, options = _in_process(runtime)
        pipeline = beam.Pipeline(runner=runner, options=options)
        build(pipeline)
        run_to_end = _run_in_thread
    else:
        pipeline = beam.Pipeline(options=options)
        build(pipeline)
        run_to_end = _run_here  # job servers set signal handlers, which only the main thread may
    with contextlib.nullcontext() if runtime.debug else _hidden_stderr():
        try:
            run_to_end(pipeline, step)
        except Exception as error:
            raise worker_error(error, step) from error


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
    return FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(command)), options


def _run_here(pipeline: beam.Pipeline, step: str) -> None:
    state = pipeline.run().wait_until_finish()
    if state not in (None, PipelineState.DONE):
        raise TokenbeamError(f"{step} ended as {state}: the runner's own log says why")


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


def _runner_name(options: PipelineOptions) -> str:
    name = str(options.view_as(StandardOptions).runner or "FnApiRunner").rpartition(".")[2]
    return name.lower().removesuffix("runner")


class _StrictParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"Beam: {message} (after --)")


def _parse_strictly(beam_args: Sequence[str]) -> list[str]:
    """Give the arguments that no options class of Beam knows; Beam itself drops them without a word."""
    parser = _StrictParser(allow_abbrev=False, add_help=False)
    for options_class in PipelineOptions.__subclasses__():
        options_class._add_argparse_args(parser)  # noqa: SLF001 - the hook that Beam documents for options
    _, unknown = parser.parse_known_args(list(beam_args))
    return unknown
