"""The driver of the rounds: jobs of one or more of them, and the merging of each job's last in this process."""

import dataclasses
import math
import uuid
from collections.abc import Iterable
from typing import Any

from pipelines.dealing import DealtFile
from pipelines.memory import MemoryShares
from pipelines.merge_round import SAMPLES
from pipelines.progress import Talk
from pipelines.round_job import RoundJob
from pipelines.round_merging import MergedRound, finish_round, kept_name, plan_round
from pipelines.round_plan import ROUND_FOLDERS, Piece, RoundResult, RoundSetting, RowGroup
from pipelines.run_files import PLANNED, RunFiles
from pipelines.runner import RuntimeOptions, run_pipeline
from tokenize_lib.merge_rounds import MergeState
from tokenize_lib.start_alphabet import StartAlphabet

_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 1 << 19, 1 << 22  # bytes of pretokens
_SMALLEST_SAMPLE_ROWS = 256  # a few long pretokens tell nothing of the others
_PIECES = "pieces-"
# Of the pairs and segments of a round; no file that stays tells it. A worker holds a partition's sums in memory.
_LEAST_PARTITIONS, _MOST_PARTITIONS = 16, 1024
_PARTITION_BYTES = 64 << 20  # of distinct pretokens


@dataclasses.dataclass(frozen=True)
class Workplace:
    """Where rounds are run, and with what.

    Attributes:
        files: The run's files.
        shares: What worker and driver may hold.
        runtime: Where the pipelines run, and how many rounds are one.
        talk: Where progress is told.
    """

    files: RunFiles
    shares: MemoryShares
    runtime: RuntimeOptions
    talk: Talk


@dataclasses.dataclass(frozen=True)
class TableSize:
    """The bytes of the distinct pretokens, and how many they are."""

    bytes: int
    rows: int


class Rounds:
    """The rounds of a training run; each is kept when it is done, so a stopped run goes on behind the last one.

    Args:
        workplace: Where they run.
        alphabet: The start alphabet, and what is trained.
        row_groups: The pretoken table.
        size: How large it is.
    """

    def __init__(
        self, workplace: Workplace, alphabet: StartAlphabet, row_groups: Iterable[RowGroup], size: TableSize
    ) -> None:
        self._workplace = workplace
        self._runtime = workplace.runtime.for_work(size.bytes)
        self._files = workplace.files
        self._state = MergeState.start(alphabet)
        self._pieces = [Piece(number, pretokens=rows) for number, rows in enumerate(row_groups)]
        self._merges_in_pieces = 0
        self._last: MergedRound | None = None
        sample_bytes = min(max(size.bytes // 64, _SMALLEST_SAMPLE), _LARGEST_SAMPLE)
        rows_a_sample = min(math.ceil(size.bytes / sample_bytes), size.rows // _SMALLEST_SAMPLE_ROWS)
        self._rows_a_sample = max(rows_a_sample, 1)
        self._partitions = min(max(size.bytes // _PARTITION_BYTES, _LEAST_PARTITIONS), _MOST_PARTITIONS)
        self.rows: list[dict[str, Any]] = []
        """Rows of ``rounds.parquet``."""

    def run(self) -> MergeState:
        """Make all merges that there are."""
        self._take_kept()
        if not self._done:
            self._setting().write_alphabet(self._state.alphabet)
        while not self._done:
            self._run_job()
        return self._state

    @property
    def _done(self) -> bool:
        return not self._state.merges_left or (self._last is not None and self._last.was_last(self._state))

    def _setting(self) -> RoundSetting:
        number = len(self.rows) + 1
        return RoundSetting(
            files=self._files,
            options=self._state.options,
            rows_a_sample=self._rows_a_sample,
            partitions=self._partitions,
            shares=self._workplace.shares,
            step=f"{ROUND_FOLDERS}{number:04d}",
            number=number,
        )

    def _take_kept(self) -> None:
        """Go on behind the rounds that are kept: those of an earlier process, or those that a job has merged."""
        while kept := MergedRound.kept(self._files, len(self.rows) + 1, self._state):
            self._take(kept)

    def _take(self, merged: MergedRound) -> None:
        self._state = self._state.and_then(merged.merges)
        self._last = merged
        self.rows.append(dict(merged.row))

    def _run_job(self) -> None:
        setting = self._setting()
        name = uuid.uuid4().hex
        job = RoundJob(
            setting,
            plan_round(setting, self._state, self._last, encoded=self._merges_in_pieces),
            DealtFile.write(self._files, f"{_PIECES}{name}.jsonl", self._pieces, Piece),
            self._runtime.rounds_per_job,
            name,
        )
        self._run_pipeline(job)
        self._take_kept()
        result = job.result()
        if result is not None and result.plan.made == self._state.merges.num_rows:
            self._pieces, self._merges_in_pieces = list(result.pieces), result.plan.made
            self._merge(job.last, result)
        self._forget_all_but_pieces()

    def _run_pipeline(self, job: RoundJob) -> None:
        first, last = job.setting.number, job.last.number
        is_single = first == last
        with self._workplace.talk.step(
            f"Round {first}: pairs and segments" if is_single else f"Rounds {first} to {last}",
            step=job.setting.step,
            total=2 * len(self._pieces) if is_single else None,
            unit="units",
            unit_name="pieces",
        ) as progress:
            name = f"round {first}" if is_single else f"rounds {first} to {last}"
            run_pipeline(
                job.build, self._runtime, name, progress=progress, finished=lambda: self._pieces_finished(first, last)
            )

    def _pieces_finished(self, first: int, last: int) -> int:
        """How many pieces are seen to be done by the files of these rounds: counted, and where a round is kept, cut."""
        numbers = range(first, last + 1)
        samples = tuple(f"{ROUND_FOLDERS}{number:04d}/{SAMPLES}/" for number in numbers)
        kept = {kept_name(number) for number in numbers}
        names = self._files.list()
        cut = len(self._pieces) * sum(name in kept for name in names)
        return cut + sum(name.startswith(samples) for name in names)

    def _merge(self, setting: RoundSetting, result: RoundResult) -> None:
        with self._workplace.talk.step(
            f"Round {setting.number}: merges",
            step="merge",
            total=self._state.merges_left,
            unit="units",
            unit_name="merges",
        ) as progress:
            merged = finish_round(
                setting, self._state, result, lambda done: progress.advance(units=done - progress.done)
            )
            progress.advance(units=merged.merges.num_rows - progress.done)
        self._take(merged)

    def _forget_all_but_pieces(self) -> None:
        """Remove what the rounds left: of use is the newest encoded table alone.

        Not before a job's end: a cluster that loses a machine may begin a job again at its first round.
        """
        needed = {piece.symbols.name for piece in self._pieces if piece.symbols is not None}
        self._files.remove(
            name
            for name in self._files.list()
            if name.startswith((ROUND_FOLDERS, ".work/partial-", f"{PLANNED}/{_PIECES}")) and name not in needed
        )
