import errno

import pytest

from pipelines.worker_errors import worker_error
from tokenize_lib.errors import InputError, OptionError, OutputError, TokenbeamError

TRACEBACK = """Traceback (most recent call last):
  File "apache_beam/runners/common.py", line 1512, in process
  File "documents.py", line 5, in process
    raise InputError("inner")
tokenize_lib.errors.InputError: inner

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "documents.py", line 7, in process
"""


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InputError("a.txt: bad [while running 'Read']"), InputError, "a.txt: bad"),
        (
            RuntimeError(TRACEBACK + "tokenize_lib.errors.OptionError: outer [while running 'Read']\n"),
            OptionError,
            "outer",
        ),
        (
            RuntimeError(TRACEBACK + "tokenize_lib.errors.InputError: two\nlines [while running 'Read']\n"),
            InputError,
            "two lines",
        ),
        (
            RuntimeError(TRACEBACK + "KeyError: \"text [while running 'Read']\""),
            TokenbeamError,
            'Read failed: KeyError: "text" (--debug shows where)',
        ),
        (
            RuntimeError("Pipeline job-1 failed in state FAILED: " + TRACEBACK + "KeyError: 'x'"),
            TokenbeamError,
            "Counting failed: KeyError: 'x' (--debug shows where)",
        ),
        (
            ValueError("no such coder"),
            TokenbeamError,
            "Counting failed: ValueError: no such coder (--debug shows where)",
        ),
        (
            RuntimeError("shape: wrong"),
            TokenbeamError,
            "Counting failed: RuntimeError: shape: wrong (--debug shows where)",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            OutputError,
            "the disk is full: free some space and go on with --resume",
        ),
    ],
)
def test_the_last_error_of_a_traceback_counts(error, kind, message):
    found = worker_error(error, "Counting")
    assert type(found) is kind
    assert str(found) == message


def test_an_error_about_an_earlier_own_error_is_not_that_error():
    found = worker_error(RuntimeError(TRACEBACK + "MemoryError: 5 GB"), "Counting")
    assert str(found) == "Counting failed: MemoryError: 5 GB (--debug shows where)"


FRAMES = """Traceback (most recent call last):
  File "documents.py", line 7, in process
    raise InputError(text)
"""
JAVA = "\n\tat org.apache.beam.sdk.fn.Client.call(Client.java:1)\nCaused by: java.io.IOException: closed\n"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        # Flink's, of a worker that raised where Beam knows the step, and where it does not.
        (
            (
                "java.lang.RuntimeException: Error received from SDK harness for instruction 5: "
                f"{FRAMES}tokenize_lib.errors.InputError: a.txt: bad [while running 'Read']\n\n"
            ),
            InputError,
            "a.txt: bad (counting, job 7)",
        ),
        (
            f"java.lang.RuntimeException: Error received: {FRAMES}tokenize_lib.errors.InputError: a.txt: bad{JAVA}",
            InputError,
            "a.txt: bad (counting, job 7)",
        ),
        # Prism's.
        (
            f"bundle inst003 stage-003 failed:{FRAMES}ZeroDivisionError: division by zero [while running 'Count']\n\n",
            TokenbeamError,
            "Count failed: ZeroDivisionError: division by zero (job 7; --debug shows where)",
        ),
        (
            "bundle inst003 stage-003 failed:SDK worker disconnected: worker[job-001[job]], 1 active instructions",
            TokenbeamError,
            (
                "counting failed: a worker was lost, usually for lack of memory (bundle inst003 stage-003 failed:SDK "
                "worker disconnected: worker[job-001[job]], 1 active instructions): go on with --resume (job 7; "
                "--debug shows more)"
            ),
        ),
        # Flink's own.
        (
            "org.apache.beam.vendor.grpc.StatusRuntimeException: CANCELLED: client cancelled",
            TokenbeamError,
            (
                "counting failed: a worker was lost, usually for lack of memory (CANCELLED: client cancelled): "
                "go on with --resume (job 7; --debug shows more)"
            ),
        ),
        (
            f"org.apache.flink.runtime.client.JobExecutionException: Job execution failed.{JAVA}",
            TokenbeamError,
            "counting failed: IOException: closed (job 7; --debug shows where)",
        ),
        ("Connection refused", TokenbeamError, "counting failed: Connection refused (job 7; --debug shows where)"),
    ],
)
def test_errors_that_engines_wrap(text, kind, message):
    found = worker_error(RuntimeError(text), "counting", "job 7")
    assert type(found) is kind
    assert str(found) == message
