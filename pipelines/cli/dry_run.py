"""What ``--dry-run`` prints: the files, how they are split, and every option, as data for people."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from pipelines.input_formats import by_format, format_lines
from pipelines.inputs import InputPlan
from pipelines.progress import Talk, format_bytes
from pipelines.runner import RuntimeOptions
from pipelines.words import number_of


def print_plan(
    plan: InputPlan, given: Mapping[str, Any], runtime: RuntimeOptions, options: Mapping[str, object], talk: Talk
) -> None:
    """Print what a command would do, its warnings aside.

    Args:
        plan: The files and their splits.
        given: The command line's options, by name.
        runtime: What became of those that do not change the result.
        options: Those that do, by name.
        talk: Where warnings go.
    """
    running = {
        "output": given["output"],
        "workers": runtime.workers,
        "memory": format_bytes(runtime.memory),
        **{name: given[name] for name in ("partitions", "rounds_per_job") if name in given},
        "beam": runtime.beam_args or "in this process",
    }
    for warning in plan.warnings():
        talk.warn(warning)
    click.echo("\n".join(describe_plan(plan, running, options)))


def describe_plan(plan: InputPlan, running: Mapping[str, object], options: Mapping[str, object]) -> Iterator[str]:
    """Give the lines of the plan. Nothing is read but what `plan` holds.

    Args:
        plan: The files and their splits.
        running: What does not change the result, by name.
        options: What does, by name; a mapping inside is shown with its own names.
    """
    yield f"Would read {number_of(len(plan.files), 'file')}, {format_bytes(plan.bytes)}"
    yield from format_lines(by_format(plan))
    yield "Would run"
    yield from _lines(running)
    yield "Options"
    yield from _lines(options)


def _lines(options: Mapping[str, object]) -> Iterator[str]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _lines(value)
        else:
            text = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
            yield f"  {name.replace('_', '-'):22}{'-' if text in (None, '') else text}"
