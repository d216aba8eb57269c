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
