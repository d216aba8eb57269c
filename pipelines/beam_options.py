"""What stands after ``--``: the options that are Beam's, and what they say of where the work is done."""

import argparse
import dataclasses
import difflib
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
    StandardOptions,
    WorkerOptions,
)

from pipelines.memory import PROGRAM_BYTES
from pipelines.paths import is_local
from pipelines.progress import format_size
from pipelines.words import either
from tokenize_lib.errors import InputError, OptionError

_IN_PROCESS = ("direct", "fnapi", "switchingdirect")
_SUGGESTED = ("FlinkRunner", "SparkRunner", "DataflowRunner", "PrismRunner", "PortableRunner")
_ENVIRONMENTS = ("DOCKER", "PROCESS", "EXTERNAL", "LOOPBACK")
_LOCAL_FLINK = ("[local]", "[auto]")
_LOCAL_SPARK = re.compile(r"local(\[.+\])?$")
_FILES = ("flink_job_server_jar", "spark_job_server_jar", "prism_location")
_WITH_PARALLELISM = ("flink", "portable")  # behind a job endpoint may be Flink, which others do not mind


@dataclasses.dataclass(frozen=True)
class Engine:
    """Where pipelines run.

    Attributes:
        runner: The runner's name for people: ``FlinkRunner``.
        key: The same in lower case without its last word: ``flink``.
        loopback: The runner sends the work back to threads of this process.
    """

    runner: str
    key: str
    loopback: bool

    @property
    def in_process(self) -> bool:
        """Whether Beam's own runner in this process does it all."""
        return self.key in _IN_PROCESS

    @property
    def workers_elsewhere(self) -> bool:
        """Whether the work is done by processes that may be on other machines."""
        return not self.in_process and not self.loopback

    @classmethod
    def of(cls, options: PipelineOptions) -> "Engine":
        """Find out from Beam's options."""
        name = str(options.view_as(StandardOptions).runner or "FnApiRunner").rpartition(".")[2]
        key = name.lower().removesuffix("runner")
        known = {known.lower().removesuffix("runner"): known for known in StandardOptions.KNOWN_RUNNER_NAMES}
        return cls(known.get(key, name), key, _is_loopback(key, options))


def _is_loopback(key: str, options: PipelineOptions) -> bool:
    """Beam's runners send work back by themselves where all of the cluster is in one local process."""
    given = options.view_as(PortableOptions).environment_type
    if given:
        return bool(given.upper() == "LOOPBACK")
    if key == "flink":
        return options.view_as(FlinkRunnerOptions).flink_master in _LOCAL_FLINK
    if key == "spark":
        return _LOCAL_SPARK.match(options.view_as(SparkRunnerOptions).spark_master_url) is not None
    return key == "prism"


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
        OptionError: An option that the in-process runner does not know, a value that Beam refuses, a runner that is
            not known or that loses data.
        InputError: A file of the runner's that is not there.
    """
    unknown = _parse_strictly(beam_args)
    options = PipelineOptions(list(beam_args))
    engine = Engine.of(options)
    if engine.key == "dask":
        raise OptionError(
            "-- --runner DaskRunner silently loses records (pipelines with several outputs): "
            "use FlinkRunner, SparkRunner or DataflowRunner, or leave the option out"
        )
    if engine.key == "interactive":
        raise OptionError("-- --runner InteractiveRunner is for notebooks, not for a batch job: leave the option out")
    _check_runner(options.view_as(StandardOptions).runner)
    _check_environment(options.view_as(PortableOptions).environment_type)
    # Other runners take options that only their job servers know.
    if unknown and engine.in_process:
        raise OptionError(f"Beam does not know {' '.join(unknown)} (after --)")
    given = options.get_all_options()
    for name in _FILES:
        path = given.get(name)
        if path and not urlsplit(path).scheme and not Path(path).exists():
            raise InputError(f"-- --{name} {path}: no such file")


def _check_environment(given: str | None) -> None:
    """Refuse an environment type that Beam does not know, which it would tell only once it makes the job."""
    if not given or given.startswith("beam:env:") or given in _ENVIRONMENTS:
        return
    raise OptionError(f"-- --environment_type {given}: Beam has no such type; give {either(_ENVIRONMENTS)}")


def _check_runner(name: str | None) -> None:
    if name is None or "." in name:  # a class of somebody's own, which Beam imports
        return
    known = {known.lower(): known for known in StandardOptions.KNOWN_RUNNER_NAMES}
    if name.lower() in known or f"{name.lower()}runner" in known:
        return
    asked = name.lower() if "runner" in name.lower() else f"{name.lower()}runner"
    near = difflib.get_close_matches(asked, known, n=1, cutoff=0.8)
    others = [known[found] for found in near] or list(_SUGGESTED)
    raise OptionError(f"-- --runner {name}: Beam has no such runner; did you mean {either(others)}?")


def with_parallelism(beam_args: Sequence[str], workers: int) -> tuple[tuple[str, ...], str | None]:
    """Hand ``--workers`` to the runner as what it calls so, unless the user did.

    Args:
        beam_args: What stands after ``--``.
        workers: What the user gave.

    Returns:
        The options to use, and what a person must know where the runner has no such option.
    """
    options = PipelineOptions(list(beam_args))
    engine = Engine.of(options)
    if engine.in_process:
        return tuple(beam_args), None
    if engine.key in _WITH_PARALLELISM:
        is_given = options.view_as(FlinkRunnerOptions).parallelism > 0
        return (*beam_args, *(() if is_given else (f"--parallelism={workers}",))), None
    if engine.key == "dataflow":
        is_given = options.view_as(WorkerOptions).max_num_workers is not None
        return (*beam_args, *(() if is_given else (f"--max_num_workers={workers}",))), None
    where = {"spark": "set it where Spark's executors are configured"}.get(engine.key, "it has no such option")
    return tuple(beam_args), f"--workers {workers} does not reach {engine.runner}: {where}"


def worker_memory_warning(beam_args: Sequence[str], worker_memory: int | None) -> str | None:
    """Say why ``--worker-memory`` does nothing, or too little.

    Args:
        beam_args: What stands after ``--``.
        worker_memory: What the user gave, in bytes; None: nothing.
    """
    if worker_memory is None:
        return None
    if Engine.of(PipelineOptions(list(beam_args))).in_process:
        return "--worker-memory is for workers of a cluster, and here are none: --memory is for this process"
    if worker_memory < PROGRAM_BYTES:
        return (
            f"--worker-memory {format_size(worker_memory)} is less than the program itself takes in a worker, which "
            f"then writes many small tables: {format_size(PROGRAM_BYTES)} or more saves time"
        )
    return None


def engine_warnings(beam_args: Sequence[str], paths: Iterable[str]) -> Iterator[str]:
    """Give what is likely to fail on the engine, though it may be right.

    Args:
        beam_args: What stands after ``--``.
        paths: Inputs and output.
    """
    options = PipelineOptions(list(beam_args))
    engine = Engine.of(options)
    if engine.in_process:
        return
    master = _master(engine, options)
    if engine.loopback and master is not None and not _is_this_machine(master):
        yield (
            f"--environment_type LOOPBACK does all the work in this process, which {engine.runner} at {master} reaches "
            "only if it runs on this machine"
        )
    local = next((path for path in paths if is_local(path)), None)
    if engine.workers_elsewhere and local is not None:
        yield (
            f"{local} is a path of this machine: workers of {engine.runner} on other machines do not see it, "
            "unless it is a mount that all have"
        )


def _master(engine: Engine, options: PipelineOptions) -> str | None:
    """The host that workers in this process must be reached from, if it is known."""
    endpoint = options.view_as(PortableOptions).job_endpoint
    if engine.key == "flink":
        address = options.view_as(FlinkRunnerOptions).flink_master
        if address not in _LOCAL_FLINK:
            return str(address)
    if engine.key == "spark":
        address = options.view_as(SparkRunnerOptions).spark_master_url
        if _LOCAL_SPARK.match(address) is None:
            return str(address)
    return None if endpoint in (None, "embed") else str(endpoint)


def _is_this_machine(address: str) -> bool:
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    return host in ("localhost", "::1", socket.gethostname(), socket.getfqdn()) or host.startswith("127.")


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
