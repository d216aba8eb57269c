"""Work that is done twice, one attempt after the other or both at a time: the bytes of work done once.

Engines run a bundle again when its worker is lost, or seems to be: then the first attempt may still be at work.
"""

import functools
import threading

import pytest
from apache_beam.io.filesystems import FileSystems

import pipelines.count_parts
from pipelines import merge_round, pretoken_table, token_counts
from tests.pipelines import test_count, test_train
from tokenize_lib.training_options import TrainOptions

TWICE = ("--direct_runner_bundle_repeat=1",)
FIRST_SEEN = TrainOptions(vocab_size=330, tie_break="first-seen")
MANY_ROUNDS = 1 << 17


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(pipelines.count_parts, "_LEAST_PART_BYTES", 8 << 10)
    monkeypatch.setattr(pipelines.count_parts, "_FILE_COST", 100)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"line {number} of a text whose words are {number * 7919 % 1009:b}\n" for number in range(400)]
    for shard in range(4):
        (folder / f"{shard}.txt").write_text("".join(lines[shard::4]))
    return [str(folder)]


@pytest.fixture
def records(tmp_path):
    test_count.write_corpus(tmp_path / "records")
    return [str(tmp_path / "records")]


@pytest.mark.parametrize("options", [test_train.SMALL, FIRST_SEEN], ids=["smallest ids", "first seen"])
def test_training_with_every_bundle_run_twice(texts, tmp_path, options):
    assert test_train.run(texts, tmp_path / "once", options, memory=MANY_ROUNDS).rounds > 2
    test_train.run(texts, tmp_path / "twice", options, memory=MANY_ROUNDS, beam_args=TWICE)
    assert test_train.result_hashes(tmp_path / "twice") == test_train.result_hashes(tmp_path / "once")


def test_counting_with_every_bundle_run_twice(records, tmp_path):
    test_count.run(records, tmp_path / "once")
    test_count.run(records, tmp_path / "twice", beam_args=TWICE)
    assert test_count.result_hashes(tmp_path / "twice") == test_count.result_hashes(tmp_path / "once")


class Attempts:
    """Makes two attempts of all that a DoFn does: one as far as the `stop`-th file it has written, then another whole.

    The first then goes on to its end, late, or it never does.
    """

    def __init__(self, monkeypatch, stop, *, late):
        self._stop = stop
        self._late = late
        self._of_thread = threading.local()
        self._rename = FileSystems.rename
        self._monkeypatch = monkeypatch
        self.stopped = 0
        monkeypatch.setattr(FileSystems, "rename", self._counted_rename)

    def of(self, dofn):
        once = dofn.process

        @functools.wraps(once)
        def twice(instance, *inputs):
            inputs = [(each[0], list(each[1])) if dofn in WITH_GROUPS else each for each in inputs]
            self._begun(lambda: list(once(instance, *inputs) or ()))
            yield from once(instance, *inputs) or ()
            self._go_on()

        self._monkeypatch.setattr(dofn, "process", twice)

    def _begun(self, work):
        reached, self._goes_on = threading.Event(), threading.Event()

        def attempt():
            self._of_thread.written, self._of_thread.reached, self._of_thread.goes_on = 0, reached, self._goes_on
            try:
                work()
            except _NeverEndedError:
                pass
            finally:
                reached.set()

        self._attempt = threading.Thread(target=attempt)
        self._attempt.start()
        reached.wait()

    def _go_on(self):
        self._goes_on.set()
        self._attempt.join()

    def _counted_rename(self, sources, destinations):
        if hasattr(self._of_thread, "written"):
            if self._of_thread.written == self._stop:
                self.stopped += 1
                self._of_thread.reached.set()
                self._of_thread.goes_on.wait()
                if not self._late:
                    raise _NeverEndedError
            self._of_thread.written += 1
        return self._rename(sources, destinations)


class _NeverEndedError(BaseException):
    pass


WITH_GROUPS = (pretoken_table._MergePretokens,)


@pytest.mark.parametrize("late", [False, True], ids=["lost", "late"])
@pytest.mark.parametrize("stop", [0, 1, 2])
def test_two_attempts_at_each_part_of_a_count(records, tmp_path, monkeypatch, stop, late):
    test_count.run(records, tmp_path / "once")
    attempts = Attempts(monkeypatch, stop, late=late)
    attempts.of(token_counts._CountPart)
    test_count.run(records, tmp_path / "twice")
    assert attempts.stopped > 2
    places = [(row["source"], row["position"]) for row in test_count.rows_of(tmp_path / "twice")]
    assert len(set(places)) == len(places) == 240
    assert test_count.result_hashes(tmp_path / "twice") == test_count.result_hashes(tmp_path / "once")
    assert not (tmp_path / "twice" / ".work").exists()


@pytest.mark.parametrize("late", [False, True], ids=["lost", "late"])
@pytest.mark.parametrize("stop", [0, 1])
def test_two_attempts_at_each_file_of_training(texts, tmp_path, monkeypatch, stop, late):
    test_train.run(texts, tmp_path / "once", memory=MANY_ROUNDS)
    attempts = Attempts(monkeypatch, stop, late=late)
    for dofn in (pretoken_table._MergePretokens, pretoken_table._Conclude, merge_round._Conclude):
        attempts.of(dofn)
    test_train.run(texts, tmp_path / "twice", memory=MANY_ROUNDS)
    assert attempts.stopped >= 3
    assert test_train.result_hashes(tmp_path / "twice") == test_train.result_hashes(tmp_path / "once")
    assert not (tmp_path / "twice" / ".work").exists()


def test_a_bundle_that_is_begun_again_forgets_what_it_had(texts, tmp_path, monkeypatch):
    test_train.run(texts, tmp_path / "once")
    for dofn in (pretoken_table._CountPretokens, merge_round._CountPairs, merge_round._CutSegments):
        _begin_again(monkeypatch, dofn)
    test_train.run(texts, tmp_path / "again")
    assert test_train.result_hashes(tmp_path / "again") == test_train.result_hashes(tmp_path / "once")


def _begin_again(monkeypatch, dofn):
    start, process = dofn.start_bundle, dofn.process

    def started(self):
        start(self)
        self._begun_again = False

    def processed(self, *inputs):
        outputs = list(process(self, *inputs))
        counter = self._counter
        if not self._begun_again and counter and (getattr(counter, "segments", 0) or getattr(counter, "distinct", 0)):
            self._begun_again = True
            start(self)
            outputs = list(process(self, *inputs))
        yield from outputs

    monkeypatch.setattr(dofn, "start_bundle", started)
    monkeypatch.setattr(dofn, "process", processed)
