"""What ``--dry-run`` prints: the files, how they are split, and every option, as data for people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import click

from pipelines.inputs import InputFile, InputPlan
from pipelines.progress import Talk, format_bytes
from pipelines.runner import RuntimeOptions


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
    yield f"Would read {_count(len(plan.files), 'file')}, {format_bytes(plan.bytes)}"
    yield from _by_format(plan)
    yield "Would run"
    yield from _lines(running)
    yield "Options"
    yield from _lines(options)


def _by_format(plan: InputPlan) -> Iterator[str]:
    files: dict[str, list[InputFile]] = defaultdict(list)
    splits: dict[str, int] = defaultdict(int)
    for file in plan.files:
        files[_format(file)].append(file)
    for split in plan.splits:
        splits[_format(split.file)] += 1
    for name, members in sorted(files.items()):
        size = format_bytes(sum(file.bytes for file in members))
        yield f"  {name:22}{_count(len(members), 'file')}, {size}, {_count(splits[name], 'split')}"


def _format(file: InputFile) -> str:
    return file.format if file.compression == "none" else f"{file.format}.{file.compression}"


def _lines(options: Mapping[str, object]) -> Iterator[str]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _lines(value)
        else:
            text = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
            yield f"  {name.replace('_', '-'):22}{'-' if text in (None, '') else text}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
