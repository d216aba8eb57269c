"""Options that every command that reads a corpus has, and what they become."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pipelines.cli.config_file import config_option
from pipelines.cli.grouped_help import Decorated, option_group
from pipelines.cli.process import DONE, TOO_MANY_BAD
from pipelines.cli.sizes import Size
from pipelines.machine import usable_cores, usable_memory
from tokenize_lib.errors import OptionError

if TYPE_CHECKING:
    from pipelines.progress import Talk
    from pipelines.runner import RuntimeOptions

_output = option_group("Output")
_reading = option_group("Reading")
_running = option_group("Running")
_talking = option_group("Talking")

READING = ("format", "text_field", "document", "on_bad_record", "null", "max_document_bytes")
"""The reading options, as `pipelines.inputs.ReadOptions` calls them."""


def _all(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Give one decorator for several options, which the help lists in this order."""

    def declare(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return declare


output_options = _all(
    _output("-o", "--output", metavar="DIR", required=True, help="Directory for the results; new or empty."),
    _output("--resume", is_flag=True, help="Go on with the run that was stopped there; the result is the same."),
    _output("--replace", is_flag=True, help="Remove what an earlier run wrote there, and nothing else; start anew."),
    _output("--dry-run", is_flag=True, help="Print what would be read and how, and stop. Reads no text."),
)

reading_options = _all(
    _reading(
        "--format",
        default="auto",
        show_default=True,
        metavar="auto|text|jsonl|parquet|chat",
        help="Auto goes by file names; chat, for count alone, is JSONL of messages or of batch requests.",
    ),
    _reading(
        "--text-field", default="text", show_default=True, metavar="F", help="Field or column; a.b for nested ones."
    ),
    _reading(
        "--document", default="line", show_default=True, metavar="line|file", help="What a document is in a text file."
    ),
    _reading(
        "--on-bad-record",
        default="fail",
        show_default=True,
        metavar="fail|skip|replace",
        help="Stop, set it aside, or mend it if it can be.",
    ),
    _reading(
        "--null", default="bad", show_default=True, metavar="bad|empty", help="What a record is whose text is null."
    ),
    _reading("--max-document-bytes", type=Size(), default="256MiB", show_default=True, help="Longer ones are bad."),
)

max_bad_records_option = _reading(
    "--max-bad-records", type=int, metavar="N", help="Exit code 3 when more are set aside; all is written even so."
)

running_options = _all(
    _running("--memory", type=Size(), help="What this process may use, as 4GiB or 500M. Default: half the machine's."),
    _running(
        "--workers",
        type=int,
        metavar="N",
        help="Threads at work. Default: the machine's cores. On a cluster: its workers, where the runner takes that.",
    ),
    _running(
        "--worker-memory",
        type=Size(),
        help="What a worker slot of a cluster may use. Default: 1GiB.",
    ),
    config_option,
)

talking_options = _all(
    _talking("--quiet", is_flag=True, help="Only warnings and errors."),
    _talking("--debug", is_flag=True, help="Show Beam's log, and where an error arose."),
)


def refuse_negative_bad_records(most: int | None) -> None:
    """Refuse what ``--max-bad-records`` cannot be."""
    if most is not None and most < 0:
        raise OptionError(f"--max-bad-records {most} is negative: give 0 or more")


def bad_records_code(found: int, most: int | None, talk: Talk) -> int:
    """Give the exit code of a run with so many bad records, and warn where it is not 0."""
    if most is None or found <= most:
        return DONE
    are = "bad record is" if found == 1 else "bad records are"
    talk.warn(f"{found:,} {are} more than --max-bad-records {most:,}")
    return TOO_MANY_BAD


def runtime_options(ctx: click.Context, given: dict[str, Any], talk: Talk) -> RuntimeOptions:
    """Make one value of the running options and what is Beam's, which Beam is told; warn of what is likely to fail."""
    from pipelines.beam_options import (  # noqa: PLC0415 - loads Beam
        engine_warnings,
        take_beam_args,
        with_parallelism,
        worker_memory_warning,
    )
    from pipelines.runner import RuntimeOptions  # noqa: PLC0415

    beam_args = tuple(ctx.obj or ())
    take_beam_args(beam_args)
    runtime = RuntimeOptions(
        memory=given["memory"] or usable_memory() // 2,
        workers=given["workers"] if given["workers"] is not None else usable_cores(),
        worker_memory=given["worker_memory"],
        rounds_per_job=given.get("rounds_per_job", 1),
        command=f"tokenbeam-{ctx.info_name}",
        beam_args=beam_args,
        debug=given["debug"],
    )
    if (doubt := worker_memory_warning(beam_args, given["worker_memory"])) is not None:
        talk.warn(doubt)
    if not beam_args:
        return runtime
    warnings = list(engine_warnings(beam_args, [*given["inputs"], given["output"]]))
    if given["workers"] is not None:
        beam_args, obstacle = with_parallelism(beam_args, given["workers"])
        warnings += [obstacle] if obstacle else []
    for warning in warnings:
        talk.warn(warning)
    return dataclasses.replace(runtime, beam_args=beam_args)
