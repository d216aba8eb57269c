"""What a run will take, step by step: time, bytes shuffled, disk and memory, from what was measured.

A prediction is for even work on workers like the measured one. Each step says how it was worked out, and whether the
corpus is within the sizes that were measured.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Literal, TypedDict

from pipelines import work_figures as figures
from pipelines.input_formats import format_name
from pipelines.inputs import InputFile, InputPlan
from pipelines.memory import MemoryShares
from pipelines.merge_tables import MOST_RUNS
from pipelines.progress import format_bytes
from pipelines.row_groups import MOST_BYTES, MOST_ROWS
from pipelines.work_fits import FITS, rounds_for
from pipelines.work_growth import Growth
from tokenize_lib.merge_rounds import round_bytes

ABOUT = 1.05  # how much text compressed files hold is itself predicted

Basis = Literal["measured", "extrapolated"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkSetting:
    """Where the work would be done.

    Attributes:
        workers: Threads of this process, or slots of a cluster.
        memory: Bytes that the driver may use; without `worker_memory`, its threads too.
        worker_memory: Bytes of each slot of a cluster; None: the workers are in this process.
        partitions: Files of the pretoken table.
        rounds_per_job: Rounds that are one job.
        job_seconds: What it takes to start a job.
    """

    workers: int
    memory: int
    worker_memory: int | None = None
    partitions: int = 16
    rounds_per_job: int = 1
    job_seconds: float = figures.JOB_SECONDS

    @property
    def shares(self) -> MemoryShares:
        """What workers and driver may hold of tables."""
        if self.worker_memory is None:
            return MemoryShares.of(self.memory, self.workers)
        return MemoryShares.of_cluster(self.memory, self.worker_memory)

    @property
    def worker_program(self) -> int:
        """Bytes that a worker holds before it does anything; a thread of this process shares the driver's."""
        return 0 if self.worker_memory is None else figures.PROGRAM_BYTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkStep:
    """A step of a run, all its repetitions together.

    Attributes:
        step: Its name.
        times: How often it is done.
        cpu_seconds: On all workers together.
        wall_seconds: By the clock.
        shuffled_bytes: Between workers, and from them to the driver, through files in the output directory.
        disk_bytes: The most that it leaves in the output directory, work files included.
        worker_memory: Bytes that each worker holds.
        driver_memory: Bytes that the driver holds, its own workers aside.
        basis: Whether the corpus is within the sizes that were measured.
        why: Why it is extrapolated, in words; empty where it is not.
        formula: How it was worked out, in words.
    """

    step: str
    times: int
    cpu_seconds: float
    wall_seconds: float
    shuffled_bytes: int
    disk_bytes: int
    worker_memory: int
    driver_memory: int
    basis: Basis
    why: str
    formula: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """How much there is to do.

    Attributes:
        text_bytes: UTF-8 bytes of the documents.
        readers: Parts that can be read at the same time.
        largest_share: The largest of them, as a share of all.
        growth: How the table grows.
        is_chat: The documents are chats, which no figure is of.
    """

    text_bytes: float
    readers: int
    largest_share: float
    growth: Growth
    is_chat: bool = False

    @classmethod
    def of(cls, plan: InputPlan, parts: Sequence[int], growth: Growth, *, is_chat: bool = False) -> "Work":
        """The work that the files of a plan are, dealt out in parts of these sizes."""
        text = sum(file.bytes * _text_a_byte(file, growth) for file in plan.files)
        return cls(
            text_bytes=text, readers=len(parts), largest_share=max(parts) / sum(parts), growth=growth, is_chat=is_chat
        )

    @property
    def distinct(self) -> float:
        """Distinct pretokens."""
        return self.growth.distinct.at(self.text_bytes)

    @property
    def symbols(self) -> float:
        """Bytes of the distinct pretokens."""
        return self.growth.symbols.at(self.text_bytes)

    def within(self, measured: int) -> "Grounds":
        """Whether so much text was measured, about."""
        is_within = self.text_bytes <= ABOUT * measured
        return (
            _MEASURED if is_within else Grounds(basis="extrapolated", why="this corpus is larger than those measured")
        )

    @property
    def within_growth(self) -> "Grounds":
        """The same of the text that the growth was measured on."""
        found = self.within(self.growth.measured_text)
        if found is _MEASURED or not self.growth.is_sampled:
            return found
        of = format_bytes(self.growth.measured_text)
        return Grounds(basis="extrapolated", why=f"the growth of the table is taken from a sample of {of}")


class Grounds(TypedDict):
    """What the figures of a step stand on: fields of `WorkStep`."""

    basis: Basis
    why: str


_MEASURED = Grounds(basis="measured", why="")


def plan_training(work: Work, setting: WorkSetting, *, vocab_size: int) -> Iterator[WorkStep]:
    """Predict the steps of ``tokenbeam train``, byte-pair encoding of bytes with the default pretokenizer."""
    yield _count_pretokens(work, setting)
    yield _merge_tables(work, setting)
    rounds = rounds_for(driver_bytes(work), setting.shares.driver_table, vocab_size)
    yield _round_workers(work, setting, rounds)
    yield _driver_merging(work, setting, rounds)


def driver_bytes(work: Work) -> float:
    """What the driver would hold to make all merges in one round."""
    live = min(work.distinct, figures.LIVE_PAIRS)
    return round_bytes(segments=round(work.distinct), symbols=round(work.symbols), live_pairs=round(live))


def text_a_table(work: Work, setting: WorkSetting) -> float:
    """Bytes of text that a worker counts into one table, before it ends or the table has outgrown its share."""
    most_rows = setting.shares.worker_table / figures.COUNTER_BYTES_A_ROW
    return min(work.text_bytes / min(setting.workers, work.readers), work.growth.distinct.size_of(most_rows))


def _partial_rows(work: Work, setting: WorkSetting) -> float:
    text = text_a_table(work, setting)
    return work.growth.distinct.at(text) * work.text_bytes / text


def _count_pretokens(work: Work, setting: WorkSetting) -> WorkStep:
    cpu = FITS.count_base + FITS.count_a_byte * work.text_bytes
    rows = _partial_rows(work, setting)
    table = work.growth.distinct.at(text_a_table(work, setting)) * figures.COUNTER_BYTES_A_ROW
    partial = round(rows * FITS.partial_bytes_a_row)
    return WorkStep(
        step="count pretokens",
        times=1,
        cpu_seconds=cpu,
        wall_seconds=setting.job_seconds + _spread(cpu, min(setting.workers, work.readers), work.largest_share),
        shuffled_bytes=partial,
        disk_bytes=partial,
        worker_memory=round(setting.worker_program + 2 * table),
        driver_memory=figures.PROGRAM_BYTES,
        **work.within(max(point.text_bytes for point in (*figures.MIX, *figures.LINUX))),
        formula=(
            f"{FITS.count_a_byte * 1e9:.1f} CPU s a GB of text; a worker writes {FITS.partial_bytes_a_row:.0f} bytes "
            f"for each pretoken that is distinct in the text it counts into one table, and holds the table twice"
        ),
    )


def _merge_tables(work: Work, setting: WorkSetting) -> WorkStep:
    tables = max(work.text_bytes / text_a_table(work, setting), 1.0)
    passes = max(math.ceil(math.log(tables, MOST_RUNS)), 1)
    cpu = passes * figures.MERGE_SECONDS_A_ROW * _partial_rows(work, setting)
    return WorkStep(
        step="merge tables",
        times=1,
        cpu_seconds=cpu,
        wall_seconds=_spread(cpu, min(setting.workers, setting.partitions), 1 / setting.partitions),
        shuffled_bytes=0,
        disk_bytes=round(work.distinct * FITS.table_bytes_a_row),
        worker_memory=round(setting.worker_program + min(tables, MOST_RUNS) * figures.BATCH_BYTES + MOST_BYTES),
        driver_memory=figures.PROGRAM_BYTES,
        **work.within_growth,
        formula=(
            f"{figures.MERGE_SECONDS_A_ROW * 1e6:.2f} CPU us a row that the workers wrote, on no more workers than "
            f"--partitions; for more than {MOST_RUNS} tables, each row once more; {FITS.table_bytes_a_row:.1f} bytes a "
            f"row are kept"
        ),
    )


def _round_workers(work: Work, setting: WorkSetting, rounds: int) -> WorkStep:
    more = figures.LATER_ROUNDS if rounds > 1 else 1
    cpu = rounds * more * (FITS.round_base + FITS.round_a_symbol * work.symbols)
    pieces = max(work.distinct / MOST_ROWS, work.symbols / MOST_BYTES, setting.partitions)
    spread = _spread(cpu, min(setting.workers, math.ceil(pieces)), 1 / pieces)
    shuffled = rounds * FITS.round_bytes_a_row * work.distinct
    table = min(setting.shares.worker_table, figures.COUNTER_BYTES_A_ROW * work.distinct / setting.workers)
    return WorkStep(
        step="rounds: pairs and segments",
        times=rounds,
        cpu_seconds=cpu,
        wall_seconds=math.ceil(rounds / setting.rounds_per_job) * setting.job_seconds + spread,
        shuffled_bytes=round(shuffled),
        disk_bytes=round(shuffled / rounds + figures.ENCODED_BYTES_A_SYMBOL * work.symbols),
        worker_memory=round(setting.worker_program + 2 * table),
        driver_memory=figures.PROGRAM_BYTES,
        **work.within_growth,
        formula=(
            f"{FITS.round_a_symbol * 1e6:.2f} CPU s and {FITS.round_bytes_a_row:.0f} MB shuffled a million bytes, and "
            f"rows, of distinct pretokens, half more in each of several rounds; as wide as the table has row groups"
        ),
    )


def _driver_merging(work: Work, setting: WorkSetting, rounds: int) -> WorkStep:
    held = min(driver_bytes(work), figures.OVER_BUDGET * setting.shares.driver_table)
    # A round's table is what fits the share: each takes no more than that, and all of them no more than the whole.
    a_round = work.symbols * min(setting.shares.driver_table / driver_bytes(work), 1.0)
    cpu = FITS.merge_base * rounds + FITS.merge_a_symbol * min(rounds * a_round, work.symbols)
    return WorkStep(
        step="rounds: driver merging",
        times=rounds,
        cpu_seconds=cpu,
        wall_seconds=cpu,
        shuffled_bytes=0,
        disk_bytes=0,
        worker_memory=0,
        driver_memory=round(figures.PROGRAM_BYTES + held),
        **work.within_growth,
        formula=(
            f"{FITS.merge_a_symbol * 1e6:.2f} CPU s a million symbols of segments, on one core; rounds by how often "
            f"the whole table ({driver_bytes(work) / 1e9:.2g} GB in memory) holds the driver's share of it"
        ),
    )


def plan_counting(work: Work, setting: WorkSetting, tokenizers: Sequence[tuple[str, str]]) -> Iterator[WorkStep]:
    """Predict ``tokenbeam count``: a step for reading and writing, and one a tokenizer, though they are one pass.

    Args:
        work: How much there is to do, of a plan made for counting.
        setting: Where.
        tokenizers: Name and backend of each.
    """
    yield _counting(work, setting, "reading and writing", figures.READING)
    for name, backend in tokenizers:
        yield _counting(work, setting, name, figures.COUNTING[backend])


def _counting(work: Work, setting: WorkSetting, name: str, figure: figures.CountFigure) -> WorkStep:
    reads = figure is figures.READING
    cpu = figure.seconds_a_byte * work.text_bytes
    spread = _spread(cpu, min(setting.workers, work.readers), work.largest_share)
    grounds = work.within(figure.measured_text)
    if work.is_chat or not figure.measured_text:
        grounds = Grounds(basis="extrapolated", why=f"counting {'chats' if work.is_chat else name} was not measured")
    return WorkStep(
        step=f"count tokens: {name}",
        times=1,
        cpu_seconds=cpu,
        wall_seconds=spread + (setting.job_seconds if reads else 0),
        shuffled_bytes=0,
        disk_bytes=round(work.text_bytes * figure.output_a_byte),
        worker_memory=setting.worker_program + figure.memory,
        driver_memory=figures.PROGRAM_BYTES,
        **grounds,
        formula=f"{figure.seconds_a_byte * 1e9:.3g} CPU s a GB of text ({figure.source}); nothing is shuffled",
    )


def _text_a_byte(file: InputFile, growth: Growth) -> float:
    if growth.text_a_stored_byte is not None:
        return growth.text_a_stored_byte
    return figures.TEXT_A_STORED_BYTE[format_name(file)]


def _spread(cpu: float, workers: int, largest_share: float) -> float:
    """Seconds by the clock: even shares, but no less than the largest piece takes one worker."""
    slowdown = 1 if workers == 1 else figures.SLOWDOWN
    return max(cpu / workers * slowdown, cpu * largest_share)
