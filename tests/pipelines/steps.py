"""DoFns that tests run on every runner: workers in other processes import them from here."""

import os
import signal
from pathlib import Path

import apache_beam as beam

from pipelines.progress import advance
from tokenize_lib.errors import InputError

MESSAGE = "shard-3.jsonl: byte 120: not JSON: use --on-bad-record skip"


class Double(beam.DoFn):
    def process(self, element):
        advance("doubling", units=1)
        yield 2 * element


class RefuseThree(beam.DoFn):
    def process(self, element):
        if element == 3:
            raise InputError(MESSAGE)
        yield element


class RefuseInSetup(beam.DoFn):
    def setup(self):
        raise InputError(MESSAGE)

    def process(self, element):
        yield element


class RefuseInFinishBundle(beam.DoFn):
    def process(self, element):
        yield element

    def finish_bundle(self):
        raise InputError(MESSAGE)


class DivideByZero(beam.DoFn):
    def process(self, element):
        yield element / 0


class FillDisk(beam.DoFn):
    def process(self, element):
        raise OSError(28, "No space left on device", "/data/out/part-0")
        yield element


class KillDriver(beam.DoFn):
    def __init__(self, note):
        self._note = note

    def process(self, element):
        Path(self._note).write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        yield element


class KillWorker(beam.DoFn):
    def process(self, element):
        os.kill(os.getpid(), signal.SIGKILL)
        yield element


class WriteNumber(beam.DoFn):
    def __init__(self, directory):
        self.directory = directory

    def process(self, element):
        Path(self.directory, str(element)).touch(exist_ok=False)
        yield element
