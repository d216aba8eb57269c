import io
import re
import signal
import subprocess
import sys
import threading
import time

import apache_beam as beam
import grpc
import pytest
from apache_beam.portability.api import beam_job_api_pb2 as api

from pipelines import interruption, remote_job
from pipelines.progress import Talk
from pipelines.runner import RuntimeOptions, run_pipeline
from tests.pipelines.job_service import JOB, JobService
from tokenize_lib.errors import InputError, TokenbeamError

NAME = rf"job tokenbeam-count-testing-[0-9a-f]{{8}} \({JOB}\) on PortableRunner"


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setattr(remote_job, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(remote_job, "_FIRST_LOOK_SECONDS", 0.01)
    with JobService() as service:
        yield service


def run(service, talk=None, finished=None, beam_args=()):
    args = ("--runner=PortableRunner", f"--job_endpoint={service.endpoint}", "--environment_type=LOOPBACK", *beam_args)
    runtime = RuntimeOptions(memory=1 << 30, workers=1, command="tokenbeam count", beam_args=args)
    talk = talk or Talk(io.StringIO())
    with talk.step("Testing", step="far away", total=100) as progress:
        run_pipeline(
            lambda pipeline: pipeline | beam.Create([1]), runtime, "testing", progress=progress, finished=finished
        )
    return progress


def end_after(service, asked, state=api.JobState.DONE, **more):
    def end():
        service.state = state
        for name, value in more.items():
            setattr(service, name, value)

    service.after[asked] = end


def failure_of(service):
    with pytest.raises(TokenbeamError) as caught:
        run(service)
    return caught.value


def test_a_job_is_named_once_and_its_metrics_are_what_is_shown(service):
    end_after(service, 3)
    service.counters = {("tokenbeam", "far away bytes"): 60, ("tokenbeam", "far away documents"): 2, ("beam", "x"): 9}
    stream = io.StringIO()
    assert run(service, Talk(stream)).done == 60
    first, last = stream.getvalue().splitlines()
    assert re.fullmatch(f"Testing: {NAME}", first)
    assert last.startswith("Testing: 60 B in ")


def test_what_is_finished_is_shown_where_a_runner_tells_nothing(service, monkeypatch):
    monkeypatch.setattr(remote_job, "_FILES_SECONDS", 0.0)
    end_after(service, 5)
    assert run(service, finished=lambda: 40).done == 40


def test_what_is_finished_is_not_asked_for_where_metrics_come(service, monkeypatch):
    monkeypatch.setattr(remote_job, "_FILES_SECONDS", 0.0)
    service.counters = {("tokenbeam", "far away bytes"): 60}
    end_after(service, 5)
    assert run(service, finished=lambda: 90).done == 60


def test_a_job_that_waits_is_said_to(service, monkeypatch):
    service.state = api.JobState.STARTING
    seen = []
    service.after[3] = lambda: seen.append(progress_states[-1])
    end_after(service, 4)
    progress_states = []
    look = remote_job._Looks.look
    monkeypatch.setattr(
        remote_job._Looks,
        "look",
        lambda self, state: (look(self, state), progress_states.append(self._progress.describe().split()[0])),
    )
    run(service)
    assert seen == ["starting"]


def test_a_name_of_the_users_own_is_kept(service):
    end_after(service, 1)
    run(service, beam_args=["--job_name=nightly"])
    assert service.options["beam:option:job_name:v1"] == "nightly"


def test_jobs_of_one_command_have_names_of_their_own(service):
    names = set()
    for _ in range(2):
        end_after(service, service.asked + 1)
        run(service)
        names.add(service.options["beam:option:job_name:v1"])
    assert len(names) == service.runs == 2


def test_a_failed_job_gives_the_workers_own_error_wherever_it_stands(service):
    raised = (
        'Traceback (most recent call last):\n  File "documents.py", line 5, in process\n    raise InputError("x")\n'
        "tokenize_lib.errors.InputError: a.jsonl: row 3: not JSON [while running 'Read']\n"
    )
    texts = [f"java.lang.RuntimeException: Error received from SDK harness for instruction 5: {raised}", "Job failed"]
    end_after(service, 2, api.JobState.FAILED)
    service.errors = texts
    error = failure_of(service)
    assert type(error) is InputError
    assert re.fullmatch(rf"a\.jsonl: row 3: not JSON \(testing, {NAME}\)", str(error))


def test_a_failure_that_was_said_while_nobody_could_hear_it(service):
    """Beam's job server for tests loses what is said between its look at what was said and its look at the state."""
    end_after(service, 2, api.JobState.FAILED)
    service.deaf = 2  # Beam's stream, and ours
    service.errors = ["out of slots"]
    assert re.fullmatch(
        rf"testing failed: out of slots \({NAME}; --debug shows where\)",
        str(failure_of(service)),
    )


def test_a_job_that_is_cancelled_elsewhere(service):
    end_after(service, 2, api.JobState.CANCELLED)
    assert re.fullmatch(f"testing failed: {NAME} was cancelled there: go on with --resume", str(failure_of(service)))


def test_a_job_that_its_server_has_forgotten(service):
    service.after[2] = lambda: service.refusals.append(grpc.StatusCode.NOT_FOUND)
    assert re.fullmatch(
        f"testing failed: {NAME}: its job server does not know of it any more: "
        "see there that it has ended, then go on with --resume",
        str(failure_of(service)),
    )


def test_a_job_server_that_is_gone(service, monkeypatch):
    monkeypatch.setattr(remote_job, "_LOST_SECONDS", 0.2)
    service.after[2] = lambda: threading.Thread(target=service.stop).start()
    error = str(failure_of(service))
    assert re.match(f"testing failed: {NAME}: nothing is heard from its job server for 0 s ", error)
    assert error.endswith(": see there that it has ended, then go on with --resume")


def test_a_short_silence_of_the_job_server_is_waited_for(service):
    service.after[2] = lambda: service.refusals.extend([grpc.StatusCode.UNAVAILABLE] * 2)
    end_after(service, 5)
    run(service)
    assert (service.asked, service.refusals) == (5, [])


def test_ctrl_c_cancels_the_job(service):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(service, finished=None, talk=_InterruptedTalk(interrupt))
    assert service.cancelled.is_set()


class _InterruptedTalk(Talk):
    """Is interrupted where the job is named."""

    def __init__(self, interrupt):
        super().__init__(io.StringIO())
        self._interrupt = interrupt

    def say(self, line):
        if "job tokenbeam" in line:
            self._interrupt()


def test_a_stopped_command_cancels_the_job_and_says_so(service):
    def fail():
        with pytest.raises(TokenbeamError, match="was cancelled there"):
            run(service)

    thread = threading.Thread(target=fail, daemon=True)
    thread.start()
    while service.asked < 2:
        time.sleep(0.001)
    undoing = interruption._undoings[-1]
    assert re.fullmatch(f"{NAME} is cancelled, says its job server", undoing())
    thread.join()
    assert undoing not in interruption._undoings


COMMAND = """
import sys
from pipelines.cli import main
sys.argv = ["tokenbeam", *sys.argv[1:]]
main.main()
"""


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_ends_with_one_line_when_its_job_is_cancelled(service, tmp_path, stop, code):
    (tmp_path / "a.txt").write_text("some text\n")
    arguments = ["count", str(tmp_path / "a.txt"), "-o", str(tmp_path / "out"), "--tokenizer", "bytes", "--"]
    arguments += ["--runner=PortableRunner", f"--job_endpoint={service.endpoint}", "--environment_type=LOOPBACK"]
    command = [sys.executable, "-c", COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        named = process.stderr.readline()
        process.send_signal(stop)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (code, "")
    assert service.cancelled.is_set()
    name = named.removeprefix("Counting tokens: ").strip()
    stopped = f"Stopped: {name} is cancelled, says its job server."
    assert err == f"\n{stopped} The same command with --resume goes on from here.\n"


def test_no_job_server_at_all(service):
    service.stop()
    with pytest.raises(TokenbeamError) as caught:
        run(service, beam_args=["--job_server_timeout=1"])
    assert str(caught.value) == (
        f"no job server answers at {service.endpoint} (asked for 1 s): check --job_endpoint after --, and that it runs"
    )
