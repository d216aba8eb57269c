"""The predictor against what it was made from, and against what a larger input must take."""

import dataclasses
import itertools
from pathlib import Path

import pytest

from pipelines.inputs import ReadOptions, plan_input
from pipelines.work_figures import LINUX, MIX, TrainPoint
from pipelines.work_fits import FITS, rounds_for
from pipelines.work_growth import Growth, PowerLaw, sample_growth
from pipelines.work_plan import predict
from pipelines.work_steps import Work, WorkSetting, driver_bytes, plan_counting, plan_training
from tokenize_lib.errors import InputError
from tokenize_lib.pretokens import count_pretokens
from tokenize_lib.training_options import PretokenizeOptions

MEASURED = WorkSetting(workers=2, memory=4 << 30)
CLUSTER = WorkSetting(workers=64, memory=32 << 30, worker_memory=2 << 30, job_seconds=5.0)
GB = 10**9


def work_of(text_bytes: float, growth: Growth | None = None, readers: int = 1000) -> Work:
    return Work(
        text_bytes=text_bytes, readers=readers, largest_share=1 / readers, growth=growth or Growth.of_runs()
    )  # fmt: skip


@pytest.mark.parametrize("point", [*MIX, *LINUX])
def test_a_measured_training_is_predicted_as_it_was(point: TrainPoint) -> None:
    growth = Growth.of_runs(MIX if point in MIX else LINUX)
    work = work_of(point.text_bytes, growth)
    count, _, rounds, merging = plan_training(work, MEASURED, vocab_size=32_000)
    assert work.distinct == pytest.approx(point.distinct, rel=0.05)
    assert work.symbols == pytest.approx(point.symbols, rel=0.1)
    assert count.cpu_seconds == pytest.approx(point.count_cpu, rel=0.25)
    assert count.shuffled_bytes == pytest.approx(point.partial_bytes, rel=0.5)  # a small one had one worker
    assert rounds.times == 1
    assert rounds.cpu_seconds == pytest.approx(point.round_cpu, rel=0.35)
    assert rounds.shuffled_bytes == pytest.approx(point.round_bytes, rel=0.2)
    assert merging.cpu_seconds == pytest.approx(point.merge_cpu, rel=0.35)
    assert {step.basis for step in (count, rounds, merging)} == {"measured"}


def test_what_is_larger_than_anything_measured_is_marked() -> None:
    steps = plan_training(work_of(1000 * GB), CLUSTER, vocab_size=32_000)
    assert {step.basis for step in steps} == {"extrapolated"}


@pytest.mark.parametrize("setting", [MEASURED, CLUSTER])
def test_more_text_takes_no_less_of_anything(setting: WorkSetting) -> None:
    sizes = [GB // 100, GB // 10, GB, 10 * GB, 100 * GB, 1000 * GB, 10_000 * GB]
    plans = [
        [*plan_training(work, setting, vocab_size=32_000), *plan_counting(work, setting, [("o200k_base", "kernel")])]
        for work in map(work_of, sizes)
    ]
    for smaller, larger in itertools.pairwise(plans):
        for less, more in zip(smaller, larger, strict=True):
            for name in ("times", "cpu_seconds", "wall_seconds", "shuffled_bytes", "disk_bytes", "driver_memory"):
                assert getattr(less, name) <= getattr(more, name), (less.step, name)


def test_more_workers_take_no_longer_and_shuffle_no_less() -> None:
    work = work_of(1000 * GB, readers=30_000)
    plans = [
        list(plan_training(work, dataclasses.replace(CLUSTER, workers=workers, partitions=256), vocab_size=32_000))
        for workers in (2, 16, 128, 1024)
    ]
    for fewer, more in itertools.pairwise(plans):
        # Merging is left out: more workers write more tables, which no more than --partitions of them merge.
        slower, faster = ([step.wall_seconds for step in (plan[0], *plan[2:])] for plan in (fewer, more))
        assert all(a >= b for a, b in zip(slower, faster, strict=True))
        assert fewer[0].shuffled_bytes <= more[0].shuffled_bytes


def test_a_compressed_file_is_one_workers_work() -> None:
    one, many = (work_of(GB, readers=readers) for readers in (1, 100))
    [slow, *_], [fast, *_] = (plan_training(work, CLUSTER, vocab_size=32_000) for work in (one, many))
    assert slow.wall_seconds > slow.cpu_seconds
    assert fast.wall_seconds < fast.cpu_seconds


def test_less_memory_makes_more_rounds_and_less_of_the_driver() -> None:
    work = work_of(10 * GB)
    plans = [
        list(plan_training(work, dataclasses.replace(CLUSTER, memory=memory), vocab_size=32_000))[-1]
        for memory in (64 << 30, 1 << 30, 512 << 20)
    ]
    assert [step.times for step in plans] == sorted({step.times for step in plans})
    assert plans[0].times == 1
    assert [step.driver_memory for step in plans] == sorted((step.driver_memory for step in plans), reverse=True)


def test_rounds_are_those_that_were_measured() -> None:
    needed = driver_bytes(work_of(MIX[-1].text_bytes))
    assert rounds_for(needed, 4 << 30, 32_000) == 1
    assert rounds_for(needed, WorkSetting(workers=2, memory=384_000_000).shares.driver_table, 32_000) == 3


def test_a_law_goes_through_its_last_point_and_never_outgrows_the_text() -> None:
    law = PowerLaw.through([(10.0, 10.0), (1000.0, 100.0)])
    assert law.exponent == pytest.approx(0.5)
    assert law.at(100_000) == pytest.approx(1000)
    assert law.size_of(100) == pytest.approx(1000)
    assert PowerLaw.through([(1.0, 1.0), (10.0, 1000.0)]).exponent == 1.0


def test_a_sample_of_everything_knows_the_corpus(tmp_path: Path) -> None:
    lines = [f"word{number % 70} the {number % 13}th line of {number}" for number in range(4000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    read = ReadOptions()
    growth = sample_growth(plan_input([str(tmp_path)], read), read, PretokenizeOptions(), 1 << 30)
    import pyarrow as pa  # noqa: PLC0415

    table = count_pretokens(pa.array(lines), PretokenizeOptions())
    assert growth.distinct.at(growth.measured_text) == pytest.approx(table.num_rows)
    assert growth.measured_text == sum(map(len, lines))
    assert growth.text_a_stored_byte == pytest.approx(growth.measured_text / (tmp_path / "a.txt").stat().st_size)


def test_a_sample_without_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n\n")
    read = ReadOptions()
    with pytest.raises(InputError, match="--sample: no text in what was read"):
        sample_growth(plan_input([str(tmp_path)], read), read, PretokenizeOptions(), 1 << 20)


def test_the_files_and_splits_are_those_of_the_plans_of_train_and_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a line\n" * 3_000_000)
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    found = predict(
        [str(tmp_path)], ReadOptions(), MEASURED, vocab_size=32_000, tokenizers=["bytes"], sample=None,
        cut=PretokenizeOptions(),
    )  # fmt: skip
    assert [(share.format, share.files, share.splits) for share in found.inputs] == [("jsonl", 1, 1), ("text", 1, 1)]
    assert [(share.format, share.splits) for share in found.count_inputs] == [("jsonl", 1), ("text", 3)]
    assert found.text_bytes == pytest.approx(0.98 * 21_000_000 + 0.97 * 14)
    assert FITS.count_a_byte * found.text_bytes < found.training[0].cpu_seconds
