import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.runners.worker.statesampler import get_current_tracker

from pipelines.progress import counts_of
from pipelines.runner import RuntimeOptions, run_pipeline
from tests.pipelines import steps
from tokenize_lib.errors import InputError, OptionError, OutputError, TokenbeamError

GIB = 1 << 30
MODES = {
    "default": (),
    "one worker": ("--direct_num_workers=1",),
    "in_memory": ("--direct_running_mode", "in_memory"),
    "multi_threading": ("--direct_running_mode", "multi_threading", "--direct_num_workers", "3"),
    "multi_processing": ("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
    "DirectRunner": ("--runner", "DirectRunner"),
    "direct": ("--runner=direct",),
    "FnApiRunner": ("--runner=FnApiRunner",),
    "portable": ("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"),
}
every_mode = pytest.mark.parametrize("beam_args", MODES.values(), ids=MODES.keys())


def run(step, beam_args, *more):
    def build(pipeline):
        numbers = pipeline | "Numbers" >> beam.Create([1, 2, 3, 4]) | "Spread" >> beam.Reshuffle()
        result = numbers | "Work on numbers" >> beam.ParDo(step)
        for transform in more:
            result |= transform

    run_pipeline(build, RuntimeOptions(memory=GIB, workers=2, beam_args=beam_args), "Testing")


JOB = r"job tokenbeam-testing-[0-9a-f]{8} \(job-[0-9a-f-]{36}\) on PortableRunner"


def said(error, mode):
    """What an error says, without the job that a runner elsewhere has."""
    if mode not in ("portable", MODES["portable"]):
        return str(error)
    text, found = re.subn(f"Testing, {JOB}|{JOB}; ", "", str(error))
    assert found == 1
    return text.removesuffix(" ()")


@every_mode
def test_runs_to_the_end(beam_args, tmp_path):
    run(steps.Double(), beam_args, "Write" >> beam.ParDo(steps.WriteNumber(str(tmp_path))))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "4", "6", "8"]


@every_mode
def test_a_workers_error_comes_back_as_itself(beam_args, capfd):
    with pytest.raises(InputError) as caught:
        run(steps.RefuseThree(), beam_args)
    assert said(caught.value, beam_args) == steps.MESSAGE
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("step", [steps.RefuseInSetup(), steps.RefuseInFinishBundle()], ids=["setup", "finish_bundle"])
@pytest.mark.parametrize("mode", ["default", "in_memory", "portable"])
def test_wherever_in_a_dofn_it_was_raised(step, mode):
    with pytest.raises(InputError) as caught:
        run(step, MODES[mode])
    assert said(caught.value, mode) == steps.MESSAGE


@pytest.mark.parametrize("mode", ["default", "in_memory", "multi_processing", "portable"])
def test_any_other_error_is_one_line_with_its_type_and_step(mode):
    with pytest.raises(TokenbeamError) as caught:
        run(steps.DivideByZero(), MODES[mode])
    wanted = "Work on numbers failed: ZeroDivisionError: division by zero (--debug shows where)"
    assert said(caught.value, mode) == wanted
    assert "steps.py" in "".join(str(error) for error in [caught.value.__cause__]) or mode == "in_memory"


@pytest.mark.parametrize("mode", ["default", "in_memory", "portable"])
def test_a_full_disk_is_an_output_error(mode):
    with pytest.raises(OutputError) as caught:
        run(steps.FillDisk(), MODES[mode])
    assert str(caught.value) == ("the disk is full (/data/out/part-0): free some space and go on with --resume")


KILL_A_WORKER = """
import os, sys
import apache_beam as beam
from pipelines.runner import RuntimeOptions, run_pipeline
from tests.pipelines import steps

runtime = RuntimeOptions(memory=1 << 30, workers=2, beam_args=("--direct_running_mode=multi_processing",))
try:
    run_pipeline(lambda p: p | beam.Create([3]) | beam.ParDo(steps.KillWorker()), runtime, "Testing")
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
os._exit(0)
"""


def test_a_worker_process_that_dies_ends_the_run(tmp_path):
    # In a process of its own: what is left of Beam's connections to the dead worker fails for a while longer. Into a
    # file: the other worker would hold a pipe open until it notices.
    said = tmp_path / "said"
    with said.open("w") as output:
        subprocess.run(
            [sys.executable, "-c", KILL_A_WORKER], stdout=output, stderr=subprocess.DEVNULL, check=True, timeout=600
        )
    assert said.read_text() == (
        "TokenbeamError: a worker process ended with exit code -9 during: Testing; "
        "-9 is usually a lack of memory: use fewer workers and go on with --resume\n"
    )


KILL_THE_DRIVER = """
import os, sys
import apache_beam as beam
from pipelines.runner import RuntimeOptions, run_pipeline
from tests.pipelines import steps

runtime = RuntimeOptions(memory=1 << 30, workers=2, beam_args=("--direct_running_mode=multi_processing",))
run_pipeline(lambda p: p | beam.Create([3]) | beam.ParDo(steps.KillDriver(sys.argv[1])), runtime, "Testing")
"""


def test_worker_processes_end_with_a_driver_that_is_killed(tmp_path):
    noted = tmp_path / "worker"
    killed = subprocess.run(
        [sys.executable, "-c", KILL_THE_DRIVER, noted], stderr=subprocess.DEVNULL, timeout=600, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    worker = int(noted.read_text())
    deadline = time.monotonic() + 60
    while is_running(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # one that ended may wait for whoever adopted it
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_debug_lets_the_workers_traceback_through(capfd):
    runtime = RuntimeOptions(memory=GIB, workers=2, debug=True)
    with pytest.raises(InputError):
        run_pipeline(lambda p: p | beam.Create([3]) | beam.ParDo(steps.RefuseThree()), runtime, "Testing")
    assert "in process" in capfd.readouterr().err


def test_workers_in_this_process_report_progress():
    before = counts_of("doubling").units
    run(steps.Double(), MODES["default"])
    assert counts_of("doubling").units == before + 4


def test_the_hook_for_thread_failures_is_given_back():
    before = threading.excepthook
    run(steps.Double(), ())
    assert threading.excepthook is before


@pytest.mark.parametrize("option", ["memory", "workers", "worker_memory"])
def test_sizes_that_cannot_be(option):
    with pytest.raises(OptionError, match=f"^--{option.replace('_', '-')} 0 is too small"):
        RuntimeOptions(**{"memory": GIB, "workers": 1, option: 0})


def test_worker_slots_elsewhere_have_a_memory_of_their_own():
    beam_args = ("--runner=FlinkRunner", "--flink_master=host:8081")
    elsewhere = RuntimeOptions(memory=4 * GIB, workers=8, beam_args=beam_args)
    here = RuntimeOptions(memory=4 * GIB, workers=1)
    assert elsewhere.shares.worker_table == RuntimeOptions(memory=GIB, workers=1).shares.worker_table
    assert elsewhere.shares.driver_table == here.shares.driver_table
    given = RuntimeOptions(memory=4 * GIB, workers=8, worker_memory=2 * GIB, beam_args=beam_args)
    assert given.shares.worker_table == RuntimeOptions(memory=2 * GIB, workers=1).shares.worker_table


def test_workers_that_a_runner_sends_back_here_share_the_memory_of_this_process():
    runtime = RuntimeOptions(memory=4 * GIB, workers=8, beam_args=("--runner=PrismRunner",))
    assert runtime.shares == RuntimeOptions(memory=4 * GIB, workers=8).shares


class _SamplingPeriod(beam.DoFn):
    def process(self, number):
        yield (number, get_current_tracker().sampling_period_ms)


def test_a_pipeline_in_this_process_does_not_wait_for_a_slow_sampler(tmp_path):
    seen = tmp_path / "seen"
    run(_SamplingPeriod(), (), beam.Map(lambda found: seen.write_text(str(found[1]))))
    assert seen.read_text() == "10"
