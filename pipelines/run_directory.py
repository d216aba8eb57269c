"""The output directory of a run: whose it is, whether a run may start there, and when it is finished.

``run.json`` is written last: where it lies, the run is whole. Until then ``.work/run-state.json`` says what was begun,
and ``.work/`` holds what a resumed run can use. A directory with anything else in it is never touched.
"""

import contextlib
import dataclasses
import datetime as dt
import enum
import fcntl
import fnmatch
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TextIO

from pipelines.paths import escaped_name, is_local, path_obstacle
from pipelines.run_files import PLANNED, UNFINISHED, WORK, RunFiles, output_errors
from pipelines.run_mode import RunMode
from pipelines.run_record import RECORD, damage, read_record
from pipelines.versions import tokenbeam_version, versions
from tokenize_lib.errors import NoDocumentError, OptionError, OutputError

TRAINING_OUTPUTS = (
    "pretokens/*.parquet",
    "bad_records/*.parquet",
    "merges.parquet",
    "rounds.parquet",
    "vocab.parquet",
    "tokenizer.json",
    "tokenizer.tiktoken",
)
_STATE = f"{WORK}/run-state.json"
_LOCK = f"{WORK}/lock"
_UNFINISHED = f"{UNFINISHED}/"
_FLAGS = {
    "special_tokens": "--special-token",
    "tokenizers": "--tokenizer",
    "context_limits": "--context-limit",
}


class Begun(enum.Enum):
    """What a run found in its directory."""

    NEW = "nothing"
    RESUMED = "an unfinished run"
    FINISHED = "this run, finished"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What a run is asked to do: all that must be the same for a run to be resumed.

    Attributes:
        command: ``train`` or ``count``.
        options: Every option that changes the result, as JSON values.
        inputs: A dictionary for each input file, with its ``path`` and what tells its versions apart (bytes, etag).
    """

    command: str
    options: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Give the plan as JSON values."""
        return {"command": self.command, "options": dict(self.options), "inputs": [dict(file) for file in self.inputs]}


class RunDirectory:
    """A directory that this process may write a run to, from `open` to `finish`. A context: leaving it unlocks.

    Attributes:
        files: Its files; give this to workers.
        begun: Whether work of an earlier process is there.
    """

    def __init__(self, files: RunFiles, plan: RunPlan, begun: Begun, started: str, lock: TextIO | None) -> None:
        """For `open`, which checks that it may."""
        self.files = files
        self.begun = begun
        self._plan = plan
        self._started = started
        self._lock = lock

    @classmethod
    def open(
        cls, output: str, plan: RunPlan, mode: RunMode, *, outputs: Sequence[str] = TRAINING_OUTPUTS
    ) -> "RunDirectory":
        """Take a directory for a run, or refuse.

        Args:
            output: The directory, on any filesystem that Beam opens.
            plan: What the run is to do.
            mode: What to do with an earlier run.
            outputs: Patterns of the names that such a run writes; other files are foreign.

        Raises:
            OutputError: Foreign files, a run without `mode` saying what to do with it, a run with another plan to be
                resumed, or another process at work there.
        """
        files = RunFiles(_root(output))
        _refuse_inputs_inside(files.root, plan)
        with contextlib.ExitStack() as undo:
            # A lock that is there already says more than the state of the files: its holder changes them.
            lock = _take_lock(files.root, undo, only_if_there=True)
            begun = _judge(files, plan, mode, outputs)
            if begun is not Begun.FINISHED:
                lock = lock or _take_lock(files.root, undo)
                begun = _judge(files, plan, mode, outputs)
            directory = cls(files, plan, begun, _begin(files, plan, begun), lock)
            undo.pop_all()
        return directory

    def record(self) -> dict[str, Any]:
        """Give the ``run.json`` of a finished run."""
        return dict(read_record(self.files) or {})

    def finish(
        self,
        *,
        records: Mapping[str, int],
        results: Mapping[str, Any],
        seconds: Mapping[str, float],
        inputs: Sequence[Mapping[str, Any]] | None = None,
        also: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write ``run.json`` and remove ``.work/``.

        Args:
            records: What became of the records read, as `pipelines.documents.Tally.figures` names it.
            results: The figures of the run.
            seconds: Wall time by step, of this process alone.
            inputs: The plan's inputs with what reading them has shown besides, as their hashes.
            also: What only this command has to say, by name.

        Returns:
            What was written.
        """
        outputs = [name for name in self.files.list() if not name.startswith(f"{WORK}/") and name != RECORD]
        record = {
            "command": self._plan.command,
            "started": self._started,
            "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "seconds": {step: round(value, 3) for step, value in seconds.items()},
            "versions": versions(),
            "options": dict(self._plan.options),
            **(also or {}),
            "records": dict(records),
            "results": dict(results),
            "inputs": [dict(file) for file in inputs or self._plan.inputs],
            "outputs": [_without_none(dataclasses.asdict(written)) for written in self.files.describe_all(outputs)],
        }
        self.files.write_json(RECORD, record)
        self._remove_work()
        return record

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, NoDocumentError):
            _clear(self.files, self.files.list())
            self._remove_work()
        elif kind is not None and self.begun is Begun.NEW and not _worth_resuming(self.files.list()):
            self._remove_work()
        if self._lock is not None:
            self._lock.close()

    def _remove_work(self) -> None:
        _clear(self.files, self.files.list(WORK))
        if is_local(self.files.root):
            shutil.rmtree(Path(self.files.root, WORK), ignore_errors=True)
            with contextlib.suppress(OSError):
                Path(self.files.root).rmdir()  # only an empty one goes


def _root(output: str) -> str:
    if not output.strip():
        raise OptionError("--output is empty: name a new or empty directory")
    if (name := escaped_name(output)) != output:
        raise OptionError(f"--output {name}: this name is not UTF-8 (its bytes are shown as \\xNN): give another one")
    root = output.rstrip("/")
    if not root:
        raise OutputError(f"{output!r} cannot be an output directory: name a new or empty one")
    if (obstacle := path_obstacle(root)) is not None:
        raise OutputError(obstacle)
    if is_local(root) and Path(root).exists() and not Path(root).is_dir():
        raise OutputError(f"{output} is a file: name a new or empty directory")
    return root


def _refuse_inputs_inside(root: str, plan: RunPlan) -> None:
    for file in plan.inputs:
        if str(file["path"]).startswith(f"{root}/"):
            raise OutputError(f"the input {file['path']} lies in the output directory: name another one")


def _judge(files: RunFiles, plan: RunPlan, mode: RunMode, outputs: Sequence[str]) -> Begun:
    """Say what may begin in a directory, or raise. Changes nothing."""
    names = files.list()
    marked = RECORD in names or _STATE in names
    ours = [*outputs, RECORD] if marked else []
    foreign = [
        name
        for name in names
        if not name.startswith(f"{WORK}/") and not any(fnmatch.fnmatchcase(name, pattern) for pattern in ours)
    ]
    if foreign:
        more = f" and {len(foreign) - 1} more files" if len(foreign) > 1 else ""
        raise OutputError(
            f"{files.root} holds {foreign[0]}{more}, which tokenbeam did not write: name a new or empty directory"
        )
    if RECORD not in names and not _worth_resuming(names):
        return Begun.NEW
    # Also for --replace: of a run.json that says nothing it is not known that a run of tokenbeam wrote what lies there.
    record = read_record(files)
    if mode.replace:
        return Begun.NEW
    finished = record is not None
    if not mode.resume:
        if finished:
            raise OutputError(f"{files.root} holds a finished run: give --replace to remove it, or another directory")
        raise OutputError(
            f"{files.root} holds an unfinished run: give --resume to go on with it, or --replace to start anew"
        )
    difference = _difference(record or _state(files), plan, finished=finished)
    if difference:
        raise OutputError(
            f"--resume: the run in {files.root} {difference}: give what it was started with, or --replace to start anew"
        )
    if record is not None and (found := damage(files, record)) is not None:
        raise OutputError(f"--resume: {found}: give --replace to start anew")
    return Begun.RESUMED if record is None else Begun.FINISHED


def _state(files: RunFiles) -> Mapping[str, Any]:
    """Read what was begun."""
    found = files.read_json(_STATE)
    if isinstance(found, dict) and {"tokenbeam", "started", "command", "options", "inputs"} <= found.keys():
        return found
    raise OutputError(
        f"{files.path(_STATE)} is missing or damaged: what was begun there is not known; give --replace to start anew"
    )


def _worth_resuming(names: Sequence[str]) -> bool:
    """Whether there is more than the marks of a run that was stopped before it had done anything."""
    return any(name not in (_STATE, _LOCK) and not name.startswith((_UNFINISHED, f"{PLANNED}/")) for name in names)


def _difference(found: Mapping[str, Any], plan: RunPlan, *, finished: bool) -> str | None:
    """Say in which respect a run was started otherwise; None when it is the same."""
    if found["command"] != plan.command:
        return f"is of tokenbeam {found['command']}, not {plan.command}"
    if not finished and found["tokenbeam"] != tokenbeam_version():
        return f"was started by tokenbeam {found['tokenbeam']}, and this is {tokenbeam_version()}"
    return option_difference(found["options"], plan.options) or _input_difference(
        {file["path"]: file for file in found["inputs"]}, {f["path"]: dict(f) for f in plan.inputs}
    )


def option_difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Say in which option a run differs from what is wanted; None when it is the same."""
    before, now = dict(_flat(found)), dict(_flat(wanted))
    for name in now | before:
        if before.get(name) != now.get(name):
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            return f"has {flag} {_words(before.get(name))}, not {_words(now.get(name))}"
    return None


def _words(value: object) -> str:
    """An option's value for people: the texts of a list one after the other, no value as none."""
    return (" ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)) or "none"


def _input_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    for path in {**before, **now}:
        if path not in now:
            return f"read {path}, which is not among the inputs now"
        if path not in before:
            return f"did not read {path}, which is among the inputs now"
        if any(before[path].get(key) != value for key, value in now[path].items()):
            return f"read another version of {path}"
    return None


def _flat(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, list(value) if isinstance(value, tuple) else value


def _clear(files: RunFiles, names: Sequence[str]) -> None:
    """Remove a run's files, its marks last: a directory is known as ours until it is empty."""
    marks = [name for name in names if name in (_STATE, RECORD)]
    files.remove(name for name in names if name not in (*marks, _LOCK))
    files.remove(marks)
    if is_local(files.root):
        for directory in {Path(files.root, name).parent for name in names if "/" in name}:
            with contextlib.suppress(OSError):
                directory.rmdir()


def _begin(files: RunFiles, plan: RunPlan, begun: Begun) -> str:
    """Make a directory ready for work; give the time when its run was started."""
    if begun is Begun.FINISHED:
        _clear(files, files.list(WORK))  # a worker of a cluster that was late may have written on
        return str((read_record(files) or {})["started"])
    if begun is Begun.RESUMED:
        files.remove(files.list(UNFINISHED))
        return str(_state(files)["started"])
    _clear(files, files.list())
    started = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    files.write_json(_STATE, {"tokenbeam": tokenbeam_version(), "started": started, **plan.as_dict()})
    return started


def _take_lock(root: str, undo: contextlib.ExitStack, *, only_if_there: bool = False) -> TextIO | None:
    """Keep other processes of this machine out; on other filesystems there is no lock to be had."""
    path = Path(root, _LOCK)
    if not is_local(root) or (only_if_there and not path.exists()):
        return None
    with output_errors(f"the output directory {root}", "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = undo.enter_context(path.open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"another process is writing to {root}: wait for it, or name another directory") from None
    except OSError:
        return lock  # a filesystem without locks
    return lock


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
