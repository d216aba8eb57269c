"""Counting: the parts that are not done yet, then their totals to the summary."""

import contextlib
import dataclasses
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines import bad_records
from pipelines.count_options import CountOptions
from pipelines.count_parts import CountPart, part_bytes, plan_parts
from pipelines.count_summary import SUMMARY, CountSummary
from pipelines.documents import Tally, total_tally
from pipelines.earlier_count import EarlierCount, earlier_record
from pipelines.group_totals import FOLDER
from pipelines.input_hashes import InputHashes
from pipelines.inputs import InputPlan, ReadOptions, plan_input
from pipelines.merge_tables import merge_tables
from pipelines.paths import is_local
from pipelines.progress import Talk, format_bytes
from pipelines.run_directory import Begun, RunDirectory, RunPlan
from pipelines.run_files import RunFiles
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions, run_pipeline
from pipelines.summary_rows import summary_rows
from pipelines.token_counts import (
    COUNT_STEP,
    CountPlan,
    PartNote,
    bad_records_of,
    count_parts,
    finished_parts,
    read_notes,
)
from schemas.bad_records import BAD_RECORDS
from tokenize_lib.errors import OptionError

_MERGERS = 4
_LONG_SUMMING_BYTES = 16 << 20  # takes some seconds
OUTPUTS = ("documents/*.parquet", "bad_records/*.parquet", SUMMARY, "costs.parquet")


def count(  # noqa: PLR0913 - one call a run, all by name
    inputs: Sequence[str],
    output: str,
    *,
    options: CountOptions,
    read: ReadOptions,
    runtime: RuntimeOptions,
    mode: RunMode,
    talk: Talk,
    incremental: str | None = None,
    hashing: InputHashes | None = None,
) -> CountSummary:
    """Count the tokens of every document, and sum them up by group.

    Args:
        inputs: Files, directories and globs.
        output: The run's directory.
        options: What is counted.
        read: How the input is read; its group fields are the groups.
        runtime: Where the work is done, and with how much memory.
        mode: What to do with an earlier run in `output`.
        talk: Where progress is told.
        incremental: An earlier run whose rows are taken for files that have not changed since.
        hashing: Hashes of the inputs, begun before they were asked for.

    Raises:
        TokenbeamError: An option, an input or the output cannot be used; see its class.
    """
    started = time.monotonic()
    # Found out before anything is read: whether models can be counted together, and groups have columns of their own.
    options.chat_reader(read)
    options.group_columns(read)
    if incremental is not None and not incremental.strip():
        raise OptionError("--incremental is empty: name the directory of an earlier count, or leave it out")
    if incremental is not None and _same_place(incremental, output):
        raise OptionError(
            f"--incremental {incremental} is the output directory itself: name another one for the output"
        )
    plan = plan_input(inputs, read, split_bytes=part_bytes, output=output)
    for warning in plan.warnings():
        talk.warn(warning)
    run_plan = RunPlan(
        command="count",
        options={**options.as_dict(), **dataclasses.asdict(read)},
        inputs=[{"path": file.path, "bytes": file.bytes, "modified": file.modified} for file in plan.files],
    )
    # Before --replace removes anything.
    record = None if incremental is None else earlier_record(incremental, run_plan)
    with RunDirectory.open(output, run_plan, mode, outputs=OUTPUTS) as directory:
        if directory.begun is Begun.FINISHED:
            return CountSummary.of(directory, already_finished=True)
        earlier = None
        if incremental is not None and record is not None:
            earlier = EarlierCount.of(incremental, record, plan, talk)
        if earlier is not None:
            talk.say(f"Taken from {earlier.root}: {_files(earlier, plan)}")
        known: Mapping[str, Mapping[str, str | int]] = {} if earlier is None else earlier.hashes
        unknown = [file for file in plan.files if file.path not in known]
        with hashing if hashing is not None and hashing.goes_for(unknown) else InputHashes(unknown) as hashes:
            count_plan = CountPlan(
                files=directory.files,
                options=options,
                read=read,
                totals_bytes=runtime.shares.worker_table,
                earlier=None if earlier is None else earlier.rows,
            )
            counting = _Counting(count_plan, plan, runtime, talk, earlier)
            with plan.named_where_empty():
                total = counting.run()
            found = {**known, **{str(file["path"]): file for file in hashes.result()}}
            directory.finish(
                records=total.figures(),
                results={"text_bytes": total.text_bytes, "parts": len(counting.parts), "groups": counting.groups},
                seconds={**counting.seconds, "all": time.monotonic() - started},
                inputs=[
                    {**file, **found[file["path"]], **counting.marks.get(ordinal, {})}
                    for ordinal, file in enumerate(run_plan.inputs)
                ],
                also={"tokenizers": options.describe()},
            )
        _warn_of_absent_fields(directory.files, options, read, talk)
        return CountSummary.of(directory)


class _Counting:
    """One run, from its plan to its files. What is found finished is not done again."""

    def __init__(
        self,
        plan: CountPlan,
        inputs: InputPlan,
        runtime: RuntimeOptions,
        talk: Talk,
        earlier: EarlierCount | None,
    ) -> None:
        self._plan = plan
        self._inputs = inputs
        self._earlier = earlier
        self._runtime = runtime
        self._talk = talk
        self.parts = plan_parts(inputs)
        self.groups = 0
        self.marks: dict[int, Counter[str]] = defaultdict(Counter)
        self.seconds: dict[str, float] = {}

    def run(self) -> Tally:
        """Do all that is left to do; give what was read in all."""
        done = finished_parts(self._plan.files)
        left = [part for part in self.parts if part.number not in done]
        if left:
            self._count(left)
        before = time.monotonic()
        notes = read_notes(self._plan.files, len(self.parts))
        tallies = [tally for note in notes for tally in note.tallies]
        if self._earlier is not None:
            tallies += self._earlier.tallies
        total = total_tally(tallies)
        for tally in tallies:
            marks = {name: count for name in ("mended", "not_nfc") if (count := getattr(tally, name))}
            if marks:
                self.marks[tally.source].update(marks)
        self._write_bad_records(notes, tallies)
        self._write_summary(notes)
        self.seconds["summary"] = time.monotonic() - before
        return total

    def _count(self, parts: Sequence[CountPart]) -> None:
        size = self._bytes(parts)
        with self._talk.step("Counting tokens", step=COUNT_STEP, total=size) as progress:
            runtime = self._runtime.for_work(size)
            run_pipeline(
                lambda pipeline: count_parts(pipeline, self._plan, parts), runtime, "counting tokens",
                progress=progress, finished=lambda: self._finished_bytes(parts),
            )  # fmt: skip
        self.seconds["count"] = progress.seconds

    def _bytes(self, parts: Iterable[CountPart]) -> int:
        """How much of these parts is read, and not taken from an earlier run."""
        known = () if self._earlier is None else self._earlier.rows.places
        return sum(split.bytes for part in parts for split in part.splits if split.file.ordinal not in known)

    def _finished_bytes(self, parts: Sequence[CountPart]) -> int:
        done = finished_parts(self._plan.files)
        return self._bytes(part for part in parts if part.number in done)

    def _write_bad_records(self, notes: Sequence[PartNote], tallies: Sequence[Tally]) -> None:
        parts = [number for number, note in enumerate(notes) if note.bad]
        paths = [file.path for file in self._inputs.files]
        bad = [found for part in parts for found in bad_records_of(self._plan.files, part, paths)]
        table = bad_records.number_bad_records(tallies, bad)
        if self._earlier is not None:
            both = pa.concat_tables([table, self._earlier.bad])
            table = both.sort_by([("source", "ascending"), ("position", "ascending")])
        if table.num_rows:
            self._plan.files.write_parquet("bad_records/part-00000.parquet", table, BAD_RECORDS)

    def _write_summary(self, notes: Sequence[PartNote]) -> None:
        options, read = self._plan.options, self._plan.read
        tables = [table for note in notes for table in note.totals]
        totals = merge_tables(self._plan.files, FOLDER, tables, threads=_MERGERS)
        rows = summary_rows(totals, options.group_columns(read), options.columns, options.context_limits)
        is_long = sum(table.bytes for table in tables) > _LONG_SUMMING_BYTES
        with self._talk.step("Summing up groups", step="sum") if is_long else contextlib.nullcontext():
            written = self._plan.files.write_parquet(SUMMARY, rows, options.summary_schema(read))
        self.groups = (written.rows or 1) - 1


def _warn_of_absent_fields(files: RunFiles, options: CountOptions, read: ReadOptions, talk: Talk) -> None:
    """Say which of the kept fields no record has: their names may be mistyped."""
    flags = {
        column: f"--group-by {name}" for column, name in zip(options.group_columns(read), read.group_by, strict=True)
    }
    if read.id_field is not None:
        flags["id"] = f"--id-field {read.id_field}"
    parts = files.list("documents") if flags else []
    for name in parts:
        with files.open_parquet(name) as table:
            flags = {column: flag for column, flag in flags.items() if not _has_value(table, column)}
        if not flags:
            return
    for flag in flags.values():
        talk.warn(f"{flag}: no record has such a field; all its values are null")


def _has_value(table: pq.ParquetFile, column: str) -> bool:
    place = table.schema_arrow.get_field_index(column)
    groups = (table.metadata.row_group(number) for number in range(table.metadata.num_row_groups))
    statistics = (group.column(place).statistics for group in groups)
    return any(found is None or found.has_min_max for found in statistics)


def _files(earlier: EarlierCount, plan: InputPlan) -> str:
    size = format_bytes(sum(file.bytes for file in earlier.unchanged))
    return f"{len(earlier.unchanged):,} of {len(plan.files):,} files, {size}"


def _same_place(one: str, other: str) -> bool:
    if is_local(one) and is_local(other):
        return Path(one).resolve() == Path(other).resolve()
    return one.rstrip("/") == other.rstrip("/")
