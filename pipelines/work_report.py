"""What ``tokenbeam plan`` prints: a table for people, or JSON."""

import dataclasses
import json
from collections.abc import Iterator, Sequence

from pipelines import work_figures as figures
from pipelines.input_formats import format_lines
from pipelines.progress import format_bytes, format_seconds
from pipelines.words import number_of
from pipelines.work_plan import Prediction
from pipelines.work_steps import WorkStep

_HEADS = ("step", "times", "CPU", "by the clock", "shuffled", "on disk", "a worker", "driver", "basis")


def table_lines(found: Prediction) -> Iterator[str]:
    """Give the prediction for people: the files, a row a step, and how each was worked out."""
    files = sum(share.files for share in found.inputs)
    size = sum(share.bytes for share in found.inputs)
    yield f"Would read {number_of(files, 'file')}, {format_bytes(size)}"
    yield from format_lines(found.inputs)
    yield from _text(found)
    for command, steps in (("train", found.training), ("count", found.counting)):
        if steps:
            yield ""
            yield from _table(command, steps)
    yield ""
    yield f"Measured on {figures.MACHINE}, {figures.DATE}."
    reasons = dict.fromkeys(step.why for step in [*found.training, *found.counting] if step.why)
    if reasons:
        yield f"Extrapolated: {'; '.join(reasons)}."
    yield "How:"
    for step in [*found.training, *found.counting]:
        yield f"  {step.step}: {step.formula}"


def _text(found: Prediction) -> Iterator[str]:
    size = f"  about {format_bytes(found.text_bytes)} of text"
    if not found.training:
        yield size
        return
    yield f"{size}; {number_of(round(found.distinct_pretokens), 'distinct pretoken')} in it,"
    yield f"  growing with its power {found.growth.distinct.exponent:.2f}, by {found.growth.source}"
    if found.sample_runs_low:
        shares = ", ".join(f"{share:.0%} with {sampled >> 20} MiB" for sampled, share in figures.SAMPLE_RUNS_LOW)
        yield f"  A small sample runs low: on the measured mix by {shares}."


def json_lines(found: Prediction) -> Iterator[str]:
    """Give the prediction for programs: sizes in bytes, durations in seconds."""
    content = {
        "inputs": [dataclasses.asdict(share) for share in found.inputs],
        "count_inputs": [dataclasses.asdict(share) for share in found.count_inputs],
        "text_bytes": round(found.text_bytes),
        "distinct_pretokens": round(found.distinct_pretokens),
        "growth": dataclasses.asdict(found.growth),
        "sample_runs_low": [{"bytes": size, "share": share} for size, share in figures.SAMPLE_RUNS_LOW],
        "setting": dataclasses.asdict(found.setting),
        "measured": {"machine": figures.MACHINE, "date": figures.DATE},
        "train": [dataclasses.asdict(step) for step in found.training],
        "count": [dataclasses.asdict(step) for step in found.counting],
    }
    yield json.dumps(content, indent=2, ensure_ascii=False)


def _table(command: str, steps: Sequence[WorkStep]) -> Iterator[str]:
    rows = [(command, *_HEADS[1:]), *(_row(step) for step in steps)]
    rows.append(
        (
            "in all", "", format_seconds(sum(step.cpu_seconds for step in steps)),
            format_seconds(sum(step.wall_seconds for step in steps)),
            format_bytes(sum(step.shuffled_bytes for step in steps)),
            format_bytes(sum(step.disk_bytes for step in steps)),
            format_bytes(max(step.worker_memory for step in steps)),
            format_bytes(max(step.driver_memory for step in steps)), "",
        )
    )  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells, row[-1]]).rstrip()


def _row(step: WorkStep) -> tuple[str, ...]:
    return (
        step.step,
        f"{step.times:,}",
        format_seconds(step.cpu_seconds),
        format_seconds(step.wall_seconds),
        format_bytes(step.shuffled_bytes),
        format_bytes(step.disk_bytes),
        format_bytes(step.worker_memory),
        format_bytes(step.driver_memory),
        step.basis,
    )
