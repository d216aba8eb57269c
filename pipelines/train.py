"""Training: the pretoken table once, then the rounds, then the files."""

import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from pipelines.dealing import DealtFile
from pipelines.input_hashes import InputHashes
from pipelines.inputs import InputPlan, ReadOptions, Split, plan_input
from pipelines.pretoken_table import COUNTED, READ_STEP, PretokenPlan, count_pretokens
from pipelines.progress import Talk, format_size
from pipelines.round_plan import RowGroup
from pipelines.rounds import Rounds, TableSize, Workplace
from pipelines.run_directory import Begun, RunDirectory, RunPlan
from pipelines.run_files import RunFiles
from pipelines.run_mode import RunMode
from pipelines.runner import RuntimeOptions, run_pipeline
from pipelines.train_summary import TrainSummary
from schemas.merges import MERGES
from schemas.rounds import ROUNDS
from schemas.vocab import VOCAB
from tokenize_lib.bpe import vocabulary_of
from tokenize_lib.formats import tiktoken_ranks, tokenizer_json
from tokenize_lib.merge_rounds import MergeState
from tokenize_lib.pretokenizers import pretokenizer_warning
from tokenize_lib.start_alphabet import FORMS, StartAlphabet, start_alphabet
from tokenize_lib.training_options import TrainOptions

_LITTLE_MEMORY = 256 << 20


def train(  # noqa: PLR0913 - one call a run, all by name
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
    if runtime.memory < _LITTLE_MEMORY:
        talk.warn(
            f"--memory {format_size(runtime.memory)} is less than the program itself takes, and may make a round of "
            f"every few merges: {format_size(_LITTLE_MEMORY)} or more saves time"
        )
    if (doubt := pretokenizer_warning(options.pretokenize)) is not None:
        talk.warn(doubt)
    plan = plan_input(inputs, read, output=output)
    for warning in plan.warnings():
        talk.warn(warning)
    run_plan = RunPlan(
        command="train",
        options={**options.as_dict(), **dataclasses.asdict(read), "partitions": partitions},
        inputs=[{"path": file.path, "bytes": file.bytes, "modified": file.modified} for file in plan.files],
    )
    with RunDirectory.open(output, run_plan, mode) as directory:
        if directory.begun is Begun.FINISHED:
            return _summary(output, options, directory.record(), already_finished=True)
        with InputHashes(plan.files) as hashes:
            pretoken_plan = PretokenPlan(
                files=directory.files,
                options=options,
                read=read,
                partitions=partitions,
                shares=runtime.shares,
            )
            training = _Training(pretoken_plan, plan, runtime, talk)
            with plan.named_where_empty():
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

    def __init__(self, plan: PretokenPlan, inputs: InputPlan, runtime: RuntimeOptions, talk: Talk) -> None:
        self._files = plan.files
        self._plan = plan
        self._inputs = inputs
        self._options = plan.options
        self._runtime = runtime
        self._talk = talk
        self.counted: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        """Do all that is left to do; give the figures of the run."""
        self.counted = self._files.read_json(COUNTED) or self._count()
        pieces = list(_row_groups(self._files, self.counted["parts"]))
        table_bytes = sum(part["bytes"] for part in self.counted["parts"])
        workplace = Workplace(self._files, self._plan.shares, self._runtime, self._talk)
        table_rows = sum(part["rows"] for part in self.counted["parts"])
        rounds = Rounds(workplace, self._alphabet(), pieces, TableSize(table_bytes, table_rows))
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
            "corpus_tokens": self._start_symbols() - int(state.merges["replaced"].to_numpy().sum()),
        }

    def _count(self) -> dict[str, Any]:
        with self._talk.step("Counting pretokens", step=READ_STEP, total=self._inputs.bytes) as progress:
            groups = DealtFile.write(self._files, "splits.jsonl", self._inputs.groups(), tuple[Split, ...])
            runtime = self._runtime.for_work(self._inputs.bytes)
            run_pipeline(
                lambda pipeline: count_pretokens(pipeline, self._plan, groups), runtime, "counting pretokens",
                progress=progress,
            )  # fmt: skip
        self.seconds["count"] = progress.seconds
        return dict(self._files.read_json(COUNTED))

    def _alphabet(self) -> StartAlphabet:
        forms = [dict(zip(FORMS.names, form, strict=True)) for part in self.counted["parts"] for form in part["forms"]]
        return start_alphabet(self._options, [pa.RecordBatch.from_pylist(forms, schema=FORMS)])

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


def _row_groups(files: RunFiles, parts: Iterable[dict[str, Any]]) -> Iterator[RowGroup]:
    for part in parts:
        with files.open_parquet(part["name"]) as table:
            groups = table.num_row_groups
        yield from (RowGroup(part["name"], number) for number in range(groups))


def _summary(
    output: str, options: TrainOptions, record: dict[str, Any], *, already_finished: bool = False
) -> TrainSummary:
    results, records = record["results"], record["records"]
    return TrainSummary(
        output=output,
        documents=records["kept"] + records["empty"],
        empty_documents=records["empty"],
        bad_records=records["bad"],
        mended_documents=records["mended"],
        not_nfc_documents=records["not_nfc"] if options.pretokenize.normalize == "none" else 0,
        **results,
        wanted_vocab_size=options.vocab_size,
        seconds=record["seconds"]["all"],
        already_finished=already_finished,
    )
