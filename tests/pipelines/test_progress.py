import io
import threading
import time

import pytest

from pipelines import progress
from pipelines.progress import (
    Progress,
    Talk,
    advance,
    counts_of,
    format_bytes,
    format_ratio,
    format_seconds,
    format_size,
)


def test_counts_of_many_threads_add_up():
    with Talk(io.StringIO(), quiet=True).step("Reading", step="reading"):
        threads = [
            threading.Thread(target=lambda: [advance("reading", bytes=3, documents=1) for _ in range(1000)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts_of("reading") == progress.Counts(bytes=12_000, documents=4000)


def test_a_step_starts_at_zero_and_says_how_it_went():
    stream = io.StringIO()
    advance("reading", bytes=5_000_000)
    with Talk(stream).step("Reading", step="reading", total=200) as step:
        advance("reading", bytes=200)
        step.started -= 2
    assert stream.getvalue() == "Reading: 200 B in 2.0 s (100 B/s)\n"
    assert step.seconds == pytest.approx(2, abs=0.5)


def test_one_is_not_many():
    stream = io.StringIO()
    with Talk(stream).step("Merging", step="merging", unit="units", unit_name="merges") as step:
        step.advance(units=1)
        step.started -= 10
    assert stream.getvalue() == "Merging: 1 merge in 10 s (0 merges/s)\n"


@pytest.mark.parametrize(
    ("size", "text"), [(16 << 20, "16MiB"), (3 << 30, "3GiB"), (10**9, "1GB"), (1000, "1KB"), (1025, "1025 B")]
)
def test_sizes_as_they_are_typed(size, text):
    assert format_size(size) == text


def test_a_step_that_fails_claims_nothing():
    stream = io.StringIO()
    with pytest.raises(ValueError, match="broken"), Talk(stream).step("Reading", step="reading"):
        raise ValueError("broken")
    assert stream.getvalue() == ""


def test_quiet_leaves_only_warnings():
    stream = io.StringIO()
    talk = Talk(stream, quiet=True)
    talk.say("round 1")
    with talk.step("Reading", step="reading"):
        pass
    talk.warn("the vocabulary is smaller than asked")
    assert stream.getvalue() == "Warning: the vocabulary is smaller than asked\n"


def test_a_terminal_gets_a_bar_and_then_the_line(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.001)
    stream = io.StringIO()
    with Talk(stream, terminal=True).step("Merging", step="merging", total=8, unit="units", unit_name="merges") as step:
        step.advance(units=2)
        while "######" not in stream.getvalue():
            time.sleep(0.001)
    assert "\r\x1b[2KMerging  [######..................]   25%  2 merges of 8 merges" in stream.getvalue()
    assert stream.getvalue().splitlines()[-1].startswith("\x1b[2KMerging: 2 merges in ")


def test_a_log_gets_plain_lines(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_LINE_SECONDS", 0.001)
    stream = io.StringIO()
    with Talk(stream).step("Reading", step="reading", total=4_000_000):
        advance("reading", bytes=1_000_000)
        while "left" not in stream.getvalue():
            time.sleep(0.001)
    assert "Reading: 25%  1.0 MB of 4.0 MB" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_the_time_left_follows_the_rate():
    advance("halfway", documents=10)
    step = Progress("halfway", "Reading", 40, "documents", "documents", started=100.0, ended=105.0)
    assert step.describe() == " 25%  10 documents of 40 documents  2 documents/s  15 s left"
    assert len(step.bar(40)) == 39


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9960, "10 kB"), (999_499, "999 kB"), (999_999, "1.0 MB")],
)
def test_bytes_for_people(size, text):
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0, "0.0000"),
        (1.0, "1.0000"),
        (0.27184, "0.2718"),
        (0.001, "0.0010"),
        (0.00023456, "0.00023"),
        (1e-7, "0.00000010"),
    ],
)
def test_ratios_for_people(ratio, text):
    assert format_ratio(ratio) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"), (7620, "2 h 07 min")],
)
def test_seconds_for_people(seconds, text):
    assert format_seconds(seconds) == text
