"""Training: the pretoken table once, then a pipeline a round, with the merging between them in this process."""

import dataclasses
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from pipelines.input_hashes import InputHashes
from pipelines.inputs import InputPlan, ReadOptions, plan_input
from pipelines.memory import MemoryShares
from pipelines.merge_round import RoundPlan, RoundResult, RowGroup, merge_round
from pipelines.partial_tables import read_partial_table, read_partial_tables, write_partial_tables
from pipelines.pretoken_table import COUNTED, READ_STEP, PretokenPlan, count_pretokens
from pipelines.progress import Talk
from pipelines.run_directory import Begun, RunDirectory, RunPlan
from pipelines.run_files import RunFiles
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions, run_pipeline
from pipelines.train_summary import TrainSummary
from schemas.merges import MERGES
from schemas.rounds import ROUNDS
from schemas.vocab import VOCAB
from tokenize_lib import _native, merge_rounds
from tokenize_lib.bpe import vocabulary_of
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.merge_rounds import MergeState, live_pairs, make_merges, round_bytes
from tokenize_lib.start_alphabet import StartAlphabet, byte_alphabet, character_alphabet
from tokenize_lib.training_options import TrainOptions

_MAX_COUNT = 2**63 - 1
_SAMPLE_BYTES = 1 << 21
_PARTITIONS = 16  # of the pairs and segments of a round; names of files do not tell it


def train(
    inputs: Sequence[str],
    output: str,
    *,
    options: TrainOptions,
    read: ReadOptions,
    runtime: RuntimeOptions,
    mode: RunMode,
    partitions: int,
    talk: Talk,
) -> TrainSummary:
    """Train a vocabulary and write it with all that led to it.

    Args:
        inputs: Files, directories and globs.
        output: The run's directory.
        options: What is trained.
        read: How the input is read.
        runtime: Where the work is done, and with how much memory.
        mode: What to do with an earlier run in `output`.
        partitions: Files of the pretoken table.
        talk: Where progress is told.

    Raises:
        TokenbeamError: An option, an input or the output cannot be used; see its class.
    """
    started = time.monotonic()
    plan = plan_input(inputs, read)
    run_plan = RunPlan(
        command="train",
        options={**options.as_dict(), **dataclasses.asdict(read), "partitions": partitions},
        inputs=[{"path": file.path, "bytes": file.bytes, "modified": file.modified} for file in plan.files],
    )
    with RunDirectory.open(output, run_plan, mode) as directory:
        if directory.begun is Begun.FINISHED:
            return _summary(output, options, directory.record(), already_finished=True)
        with InputHashes(plan.files) as hashes:
            training = _Training(directory.files, plan, options, read, runtime, partitions, talk)
            results = training.run()
            record = directory.finish(
                records=training.counted["records"],
                results=results,
                seconds={**training.seconds, "all": time.monotonic() - started},
                inputs=[{**file, **found} for file, found in zip(run_plan.inputs, hashes.result(), strict=True)],
            )
    return _summary(output, options, record)


class _Training:
    """One run, from its plan to its files. What is found finished is not done again."""

    def __init__(
        self,
        files: RunFiles,
        plan: InputPlan,
        options: TrainOptions,
        read: ReadOptions,
        runtime: RuntimeOptions,
        partitions: int,
        talk: Talk,
    ) -> None:
        self._files = files
        self._plan = plan
        self._options = options
        self._read = read
        self._runtime = runtime
        self._partitions = partitions
        self._talk = talk
        self._shares = MemoryShares.of(runtime.memory, runtime.workers)
        self.counted: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        """Do all that is left to do; give the figures of the run."""
        self.counted = self._files.read_json(COUNTED) or self._count()
        rounds = _Rounds(self._files, self._alphabet(), self.counted["parts"], self._shares, self._runtime, self._talk)
        state = rounds.run()
        self.seconds["rounds"] = sum(row["seconds"] for row in rounds.rows)
        before = time.monotonic()
        self._write(state, rounds.rows)
        self.seconds["write"] = time.monotonic() - before
        return {
            "text_bytes": self.counted["text_bytes"],
            "pretokens": sum(part["pretokens"] for part in self.counted["parts"]),
            "distinct_pretokens": sum(part["rows"] for part in self.counted["parts"]),
            "rounds": len(rounds.rows),
            "merges": state.merges.num_rows,
            "vocab_size": state.vocab_size,
            "corpus_tokens": self._start_symbols() - sum(state.merges["replaced"].to_pylist()),
        }

    def _count(self) -> dict[str, Any]:
        plan = PretokenPlan(
            files=self._files,
            options=self._options,
            inputs=self._plan,
            read=self._read,
            partitions=self._partitions,
            shares=self._shares,
        )
        with self._talk.step("Counting pretokens", step=READ_STEP, total=self._plan.bytes) as progress:
            run_pipeline(lambda pipeline: count_pretokens(pipeline, plan), self._runtime, "counting pretokens")
        self.seconds["count"] = progress.seconds
        return dict(self._files.read_json(COUNTED))

    def _alphabet(self) -> StartAlphabet:
        if self._options.alphabet == "bytes":
            return byte_alphabet(self._options)
        forms = [form for part in self.counted["parts"] for form in part["forms"]]
        columns = [[form[place] for form in forms] for place in range(3)]
        return character_alphabet(self._options, pa.table(columns, names=["character", "form", "count"]))

    def _start_symbols(self) -> int:
        """How many tokens the corpus is before the first merge."""
        parts = self.counted["parts"]
        if self._options.alphabet == "bytes":
            return sum(int(part["pretoken_bytes"]) for part in parts)
        characters = sum(count for part in parts for _, _, count in part["forms"])
        marks = sum(part["pretokens"] for part in parts) if self._options.end_of_word_mark == "separate" else 0
        return int(characters + marks)

    def _write(self, state: MergeState, rounds: Sequence[dict[str, Any]]) -> None:
        vocabulary = vocabulary_of(state)
        self._files.write_parquet("merges.parquet", vocabulary.merges_table(), MERGES)
        self._files.write_parquet("vocab.parquet", vocabulary.vocab_table(), VOCAB)
        self._files.write_parquet("rounds.parquet", pa.Table.from_pylist(list(rounds), schema=ROUNDS), ROUNDS)
        if (obstacle := tokenizer_json.obstacle(vocabulary)) is None:
            self._files.write_bytes("tokenizer.json", tokenizer_json.render(vocabulary).encode())
        else:
            self._talk.warn(f"no tokenizer.json: {obstacle}")
        if tiktoken_ranks.obstacle(self._options) is None:
            self._files.write_bytes("tokenizer.tiktoken", tiktoken_ranks.render(vocabulary))


class _Rounds:
    """The rounds of a training run; each is kept when it is done, so a stopped run goes on behind the last one."""

    def __init__(
        self,
        files: RunFiles,
        alphabet: StartAlphabet,
        parts: Sequence[dict[str, Any]],
        shares: MemoryShares,
        runtime: RuntimeOptions,
        talk: Talk,
    ) -> None:
        self._files = files
        self._shares = shares
        self._runtime = runtime
        self._talk = talk
        self._state = MergeState.start(alphabet)
        self._pieces: tuple[Any, ...] = tuple(_row_groups(files, parts))
        self._pieces_hold = 0  # so many merges
        self._rows_a_sample = max(1, math.ceil(sum(part["bytes"] for part in parts) / _SAMPLE_BYTES))
        self.rows: list[dict[str, Any]] = []
        """Rows of ``rounds.parquet``."""

    def run(self) -> MergeState:
        """Make all merges that there are."""
        while kept := self._files.read_json(_kept(len(self.rows) + 1)):
            self._state = self._state.and_then(_merges_of(kept["merges"]))
            self.rows.append(kept["row"])
        while self._state.merges_left and not self._exhausted:
            self._round()
        return self._state

    @property
    def _exhausted(self) -> bool:
        """Whether the last round's threshold was the lowest there is."""
        return bool(self.rows) and self.rows[-1]["threshold"] <= self._state.options.min_frequency

    def _round(self) -> None:
        number = len(self.rows) + 1
        started = time.monotonic()
        plan = self._plan(f".work/round-{number:04d}")
        with self._talk.step(
            f"Round {number}: pairs and segments", step=plan.step, total=2 * len(plan.pieces), unit="units", unit_name="pieces"
        ):
            run_pipeline(lambda pipeline: merge_round(pipeline, plan), self._runtime, f"round {number}")
        result = RoundResult.read(plan)
        segments, threshold = self._segments(plan, result)
        with self._talk.step(
            f"Round {number}: merges", step="merge", total=self._state.merges_left, unit="units", unit_name="merges"
        ) as progress:
            merges = make_merges(
                self._state, segments, threshold, lambda done: progress.advance(units=done - progress.done)
            )
            progress.advance(units=merges.num_rows - progress.done)
        row = {
            "round": number,
            "threshold": threshold,
            "best_count": result.threshold.best_count,
            "live_pairs": result.threshold.live_pairs,
            "distinct_pairs": result.threshold.distinct_pairs,
            "segments": result.segment_rows,
            "segment_symbols": result.segment_symbols,
            "first_rank": self._state.merges.num_rows,
            "merges": merges.num_rows,
            "seconds": time.monotonic() - started,
            "bytes_shuffled": result.bytes_shuffled,
        }
        self._files.write_json(_kept(number), {"row": row, "merges": merges.to_pydict()})
        self._pieces, self._pieces_hold = result.pieces, self._state.merges.num_rows
        self._state = self._state.and_then(merges)
        self.rows.append(row)
        self._forget_all_but(plan.folder)

    def _plan(self, folder: str) -> RoundPlan:
        state = self._state
        merges = tokens = None
        if state.merges.num_rows > self._pieces_hold:
            fresh = state.merges.slice(self._pieces_hold).select(["left", "right"]).combine_chunks()
            [(_, merges)] = write_partial_tables(self._files, f"{folder}/merges", fresh.to_batches())
        if state.options.tie_break == "first-seen" or state.options.max_token_length is not None:
            sizes = pa.RecordBatch.from_pydict({"length": state.lengths(), "width": state.widths()})
            [(_, tokens)] = write_partial_tables(self._files, f"{folder}/tokens", [sizes])
        return RoundPlan(
            files=self._files,
            folder=folder,
            alphabet=state.alphabet,
            pieces=self._pieces,
            merges=merges,
            first_merge_id=state.first_merge_id + self._pieces_hold,
            tokens=tokens,
            rows_a_sample=self._rows_a_sample,
            ceiling=self.rows[-1]["threshold"] if self.rows else _MAX_COUNT,
            partitions=_PARTITIONS,
            shares=self._shares,
        )

    def _segments(self, plan: RoundPlan, result: RoundResult) -> tuple[_native.SegmentList, int]:
        """Give the segments, cut again while they are over the budget, and the threshold they are cut at now.

        A segment for a higher threshold is a run inside one for a lower, so the pretoken table is not read again.
        """
        threshold = result.threshold
        segments: Iterable[pa.RecordBatch] = read_partial_tables(plan.files, result.segments)
        size = round_bytes(
            segments=result.segment_rows, symbols=result.segment_symbols, live_pairs=threshold.live_pairs
        )
        lowest = threshold.threshold
        highest = max(min(threshold.best_count, plan.ceiling - 1), lowest)
        while size > 2 * self._shares.driver_table and lowest < highest:
            lowest = min(2 * lowest, highest)
            live = live_pairs(read_partial_tables(plan.files, result.pairs), lowest)
            counter = _native.SegmentCounter(live)
            for batch in read_partial_tables(plan.files, result.segments):
                counter.add(batch, plan.token_column("width"))
            size = round_bytes(
                segments=counter.distinct, symbols=counter.symbols, live_pairs=sum(batch.num_rows for batch in live)
            )
            segments = counter.drain(1)
        table = _native.SegmentList()
        for batch in segments:
            table.add(batch)
        return table, lowest

    def _forget_all_but(self, folder: str) -> None:
        """Remove what rounds before this one left: only the newest encoded table is of use."""
        self._files.remove(
            name
            for name in self._files.list()
            if name.startswith((".work/round-", ".work/partial-")) and not name.startswith(f"{folder}/")
        )


def _row_groups(files: RunFiles, parts: Iterable[dict[str, Any]]) -> Iterable[RowGroup]:
    for part in parts:
        with files.open_parquet(part["name"]) as table:
            groups = table.num_row_groups
        yield from (RowGroup(part["name"], number) for number in range(groups))


def _kept(number: int) -> str:
    return f".work/rounds/{number:04d}.json"


def _merges_of(columns: dict[str, list[int]]) -> pa.Table:
    return pa.Table.from_pydict(columns, schema=merge_rounds.MERGES)


def _summary(output: str, options: TrainOptions, record: dict[str, Any], *, already_finished: bool = False) -> TrainSummary:
    results, records = record["results"], record["records"]
    return TrainSummary(
        output=output,
        documents=records["kept"] + records["empty"],
        empty_documents=records["empty"],
        bad_records=records["bad"],
        **results,
        wanted_vocab_size=options.vocab_size,
        seconds=record["seconds"]["all"],
        already_finished=already_finished,
    )
