"""Several merge rounds in one job: the same bytes, few jobs, small graphs, and going on behind a job that died."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

import pipelines.round_job
from pipelines.dealing import DealtFile
from pipelines.memory import MemoryShares
from pipelines.partial_tables import read_partial_table, write_partial_tables
from pipelines.round_job import RoundJob
from pipelines.round_merging import MergedRound, plan_round
from pipelines.round_plan import Decision, Piece, RoundPlan, RoundResult, RoundSetting, RowGroup
from pipelines.run_files import RunFiles
from pipelines.runner import RuntimeOptions
from tests.pipelines.training import RUNNERS, documents, note_steps, result_hashes, run, write_shards
from tokenize_lib.errors import OptionError, OutputError
from tokenize_lib.merge_rounds import MERGES, MergeState, Threshold
from tokenize_lib.start_alphabet import byte_alphabet
from tokenize_lib.training_options import TrainOptions

MANY_ROUNDS = 1 << 17  # bytes of memory


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_shards(tmp_path_factory.mktemp("corpus") / "shards", documents(), 4)


@pytest.fixture(scope="module")
def reference(corpus: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every round was a job."""
    output = tmp_path_factory.mktemp("reference") / "run"
    assert run(corpus, output, memory=MANY_ROUNDS).rounds > 4
    return output


def decided(output: Path) -> list[dict[str, Any]]:
    """What ``rounds.parquet`` says but how long it took and how it was shared out."""
    found: list[dict[str, Any]] = (
        pq.read_table(output / "rounds.parquet").drop_columns(["seconds", "bytes_shuffled"]).to_pylist()
    )
    return found


@pytest.mark.parametrize("rounds_per_job", [2, 3, 16])
def test_no_byte_changes_and_there_are_as_few_jobs_as_can_be(
    corpus: list[str], reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds_per_job: int
) -> None:
    steps: list[str] = []
    note_steps(monkeypatch, steps)
    run(corpus, tmp_path / "run", memory=MANY_ROUNDS, rounds_per_job=rounds_per_job)
    assert result_hashes(tmp_path / "run") == result_hashes(reference)
    assert decided(tmp_path / "run") == decided(reference)
    firsts = range(1, len(decided(reference)) + 1, rounds_per_job)
    assert steps == ["counting pretokens", *(f"rounds {first} to {first + rounds_per_job - 1}" for first in firsts)]


@pytest.mark.parametrize("runner", ["threads", "processes", "portable"])
def test_the_runner_changes_no_byte(corpus: list[str], reference: Path, tmp_path: Path, runner: str) -> None:
    run(corpus, tmp_path / "run", memory=MANY_ROUNDS, workers=2, beam_args=RUNNERS[runner], rounds_per_job=4)
    assert result_hashes(tmp_path / "run") == result_hashes(reference)
    assert decided(tmp_path / "run") == decided(reference)


@pytest.mark.parametrize("stopped", [(1, 2), (2, 1), (3, 16)])
def test_a_job_that_died_is_gone_on_with_behind_its_last_round(
    corpus: list[str],
    reference: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stopped: tuple[int, int],
) -> None:
    """Stopped behind one of its rounds, and resumed with another number of rounds a job."""
    output, kept = tmp_path / "run", tmp_path / "run" / ".work" / "rounds"
    stop, rounds_per_job = stopped

    def dies(setting: RoundSetting, *args: Any, **known: Any) -> RoundPlan:
        if setting.number == stop + 1:
            raise OutputError("the worker is gone")
        return plan_round(setting, *args, **known)

    with monkeypatch.context() as patch:
        patch.setattr(pipelines.round_job, "plan_round", dies)
        with pytest.raises(OutputError, match="the worker is gone"):
            run(corpus, output, memory=MANY_ROUNDS, rounds_per_job=16)
    assert sorted(path.name for path in kept.iterdir()) == [f"{number:04d}.json" for number in range(1, stop + 1)]
    steps: list[str] = []
    note_steps(monkeypatch, steps)
    run(corpus, output, memory=MANY_ROUNDS, rounds_per_job=rounds_per_job, resume=True)
    assert result_hashes(output) == result_hashes(reference)
    assert decided(output)[:stop] == decided(reference)[:stop]
    assert steps[0].split()[1] == str(stop + 1)


def test_rounds_that_do_not_go_on_from_the_one_before_are_made_again(
    corpus: list[str], reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "run"
    steps: list[str] = []
    with monkeypatch.context() as patch:
        note_steps(patch, steps, stop_after=4)  # behind the workers of round 3
        with pytest.raises(KeyboardInterrupt):
            run(corpus, output, memory=MANY_ROUNDS)
    kept = output / ".work" / "rounds"
    (kept / "0003.json").write_bytes((kept / "0001.json").read_bytes())  # as of a job that nobody knows of any more
    note_steps(monkeypatch, steps)
    run(corpus, output, memory=MANY_ROUNDS, resume=True)
    assert steps[0] == "round 3"
    assert result_hashes(output) == result_hashes(reference)


def test_a_graph_is_as_large_for_few_pieces_as_for_many(tmp_path: Path) -> None:
    plan = plan_round(setting(tmp_path), MergeState.start(byte_alphabet(TrainOptions())), None, encoded=0)

    def graph_bytes(pieces: int, rounds: int) -> int:
        table = [Piece(number, pretokens=RowGroup("pretokens/part-00000.parquet", number)) for number in range(pieces)]
        dealt = DealtFile.write(RunFiles(str(tmp_path)), "pieces.jsonl", table, Piece)
        pipeline = beam.Pipeline(FnApiRunner())
        RoundJob(setting(tmp_path), plan, dealt, rounds, "job").build(pipeline)
        return len(pipeline.to_runner_api().SerializeToString())

    assert graph_bytes(3000, 2) == graph_bytes(1, 2)
    a_round = graph_bytes(1, 3) - graph_bytes(1, 2)
    assert abs(graph_bytes(1, 16) - graph_bytes(1, 2) - 14 * a_round) < a_round


def test_a_graph_has_one_way_from_round_to_round(tmp_path: Path) -> None:
    """Flink takes as many steps as there are ways through a graph."""
    plan = plan_round(setting(tmp_path), MergeState.start(byte_alphabet(TrainOptions())), None, encoded=0)
    dealt = DealtFile.write(RunFiles(str(tmp_path)), "pieces.jsonl", [], Piece)
    pipeline = beam.Pipeline(FnApiRunner())
    RoundJob(setting(tmp_path), plan, dealt, 3, "job").build(pipeline)
    transforms = pipeline.to_runner_api().components.transforms
    inner = [transform for transform in transforms.values() if not transform.subtransforms]
    read = [name for transform in inner for name in transform.inputs.values()]
    assert len(read) == len(set(read)) == len(inner) - 1  # all but the beginning read one thing, and nobody else does


def test_merging_again_makes_the_same_merges_and_the_same_plan(tmp_path: Path) -> None:
    """As where a cluster repeats a step whose output it lost: some go by the first plan, some by the second."""
    here, files = setting(tmp_path), RunFiles(str(tmp_path))
    state = MergeState.start(byte_alphabet(here.options))
    here.write_alphabet(state.alphabet)
    segments = pa.RecordBatch.from_pydict(
        {
            "symbols": pa.array([[70, 71], [70, 71, 72]], pa.large_list(pa.field("item", pa.uint32(), nullable=False))),
            "count": pa.array([5, 4], pa.int64()),
        }
    )
    [(_, table)] = write_partial_tables(files, f"{here.folder}/segments", [segments])
    threshold = Threshold(
        threshold=3, best_count=9, distinct_pairs=2, live_pairs=2, sum_segments=True, estimated_bytes=1e6
    )
    plan = plan_round(here, state, None, encoded=0)
    decision = Decision(plan=plan, threshold=threshold, pairs=(), live=None, bytes=0)
    result = RoundResult(
        decision=decision, segments=(table,), segment_rows=2, segment_symbols=5, bytes_shuffled=7, pieces=(PIECE,)
    )

    def attempt() -> tuple[MergedRound | None, list[Any]]:
        elements = list(pipelines.round_job._Merge(here).process(result))
        return MergedRound.kept(files, 1, state), elements

    (first, elements), (second, repeated) = attempt(), attempt()
    assert first is not None
    assert second is not None
    assert first.merges.to_pylist() == [
        {"left": 70, "right": 71, "count": 9, "replaced": 9},
        {"left": 256, "right": 72, "count": 4, "replaced": 4},
    ]
    assert second.merges == first.merges
    assert [key for key, _ in repeated] == [key for key, _ in elements] == [("passed", -1), ("passed", 0)]
    plans = [elements[0][1], repeated[0][1]]
    assert plans[0].merges != plans[1].merges  # files of their own, and both are whole
    assert [list(read(files, plan)) for plan in plans] == [first.merges.to_pylist()] * 2
    assert [dataclasses.replace(plan, merges=None, started=0) for plan in plans] == [
        RoundPlan(merges=None, made=2, encoded=0, tokens=None, ceiling=3, correction=plans[0].correction, started=0)
    ] * 2


PIECE = Piece(0, pretokens=RowGroup("pretokens/part-00000.parquet", 0))


def setting(root: Path) -> RoundSetting:
    return RoundSetting(
        files=RunFiles(str(root)),
        options=TrainOptions(),
        rows_a_sample=1,
        partitions=2,
        shares=MemoryShares.of(1 << 30, 1),
        step="rounds",
        number=1,
    )


def read(files: RunFiles, plan: RoundPlan) -> Iterator[dict[str, int]]:
    assert plan.merges is not None
    for batch in read_partial_table(files, plan.merges):
        yield from batch.cast(MERGES).to_pylist()


@pytest.mark.parametrize("rounds_per_job", [0, -1, 65])
def test_a_number_of_rounds_that_cannot_be_is_refused(rounds_per_job: int) -> None:
    with pytest.raises(OptionError, match=f"^--rounds-per-job {rounds_per_job} is out of range: give 1 to 64$"):
        RuntimeOptions(memory=1, workers=1, rounds_per_job=rounds_per_job)


def test_where_workers_merge_the_driver_plans_for_their_memory() -> None:
    gib = 1 << 30
    assert MemoryShares.of_cluster(64 * gib, gib).driver_table == MemoryShares.of(64 * gib, 1).driver_table
    assert (
        MemoryShares.of_cluster(64 * gib, gib, workers_merge=True).driver_table == MemoryShares.of(gib, 1).driver_table
    )
