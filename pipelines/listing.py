"""Which files a pattern names: a file, a directory (all below it), or a glob; local, or on any Beam file system."""

import glob
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from pipelines.paths import escaped_name, is_local, path_obstacle
from tokenize_lib.errors import InputError, OptionError

_GLOB_CHARACTERS = frozenset("*?[")
_HIDDEN = (".", "_")  # what other programs leave beside data: .crc files, _SUCCESS, _temporary


@dataclass(frozen=True)
class FoundFile:
    """A file as it was listed: its size in bytes, and its last change in ns since 1970 where that is known.

    other_names: paths that lead to it over links, and are not read again.
    """

    path: str
    bytes: int
    modified: int | None
    other_names: tuple[str, ...] = ()


def list_files(patterns: Sequence[str], leave_out: str | None = None) -> list[FoundFile]:
    """Give each file that the patterns name, once, sorted by path; also where several paths lead to it.

    Paths that differ by a link are told as `FoundFile.other_names`. Hard links are a file each: nothing says which of
    them is the link.

    Names that start with ``.`` or ``_`` are skipped below directories and by wildcards, unless the pattern has one too.

    leave_out: a directory whose files are left out, unless a pattern names it or something in it.

    Raises OptionError for an empty pattern; InputError for one that names no file, for a local file that may not be
    read or whose name is not UTF-8, and where a run of this program lies among the files.
    """
    found: dict[str, FoundFile] = {}
    for pattern in patterns:
        if not pattern.strip():  # of a shell variable that is not set; a Path takes it for the current directory
            raise OptionError("INPUT is empty: name a file, a directory or a glob")
        if (obstacle := path_obstacle(pattern)) is not None:
            raise InputError(obstacle)
        files = list(_list_local(pattern) if is_local(pattern) else _list_remote(pattern))
        if leave_out is not None and not _lies_in(pattern, leave_out):
            files = [file for file in files if not _lies_in(file.path, leave_out)]
        if not files:
            raise InputError(_nothing_found(pattern))
        found.update((file.path, file) for file in files)
    _refuse_unwritable_names(found)
    _refuse_runs(found)
    by_file: dict[str, list[str]] = {}
    for path in sorted(found):
        by_file.setdefault(_real(path), []).append(path)
    return [_once(found[names[0]], names[1:]) for names in by_file.values()]


def _once(file: FoundFile, others: Sequence[str]) -> FoundFile:
    if not others:
        return file
    by_spelling = {_spelled(other): other for other in others}
    by_spelling.pop(_spelled(file.path), None)
    return replace(file, other_names=tuple(by_spelling.values()))


def _spelled(path: str) -> tuple[str, ...]:
    """Give the parts of a path from the root on, without ``..``; no link is followed."""
    parts: list[str] = []
    for part in Path(path).absolute().parts:
        if part == ".." and len(parts) > 1:
            parts.pop()
        else:
            parts.append(part)
    return tuple(parts)


def _refuse_unwritable_names(paths: Iterable[str]) -> None:
    """Refuse names that no table could hold: a name on this machine may be of any bytes, a column of text may not."""
    for path in paths:
        if not path.isascii() and (name := escaped_name(path)) != path:
            raise InputError(f"{name}: this name is not UTF-8 (its bytes are shown as \\xNN): rename the file")


def _lies_in(path: str, directory: str) -> bool:
    return f"{_real(path)}/".startswith(f"{_real(directory).rstrip('/')}/")


def _real(path: str) -> str:
    """Give the one path of a file to which several may lead."""
    if not is_local(path):
        return path
    try:
        return str(Path(path).resolve())
    except (OSError, RuntimeError):  # a link to itself, which opening it will tell
        return path


def _refuse_runs(paths: Iterable[str]) -> None:
    """Refuse what an earlier run wrote: tables of pretokens are no corpus, though they lie where one is."""
    for path in paths:
        directory, _, name = path.rpartition("/")
        if name == "run.json" and _is_record(path):
            raise InputError(
                f"{directory or '.'} holds the output of a tokenbeam run, which is no corpus: move it elsewhere, or "
                "name the files of the corpus"
            )


def _is_record(path: str) -> bool:
    try:
        with _opened(path) as file:
            record = json.load(file)
    except (OSError, ValueError):  # of the first kind are Beam's own errors, too
        return False
    return isinstance(record, dict) and {"command", "versions", "outputs"} <= record.keys()


def _opened(path: str) -> BinaryIO:
    if is_local(path):
        return open(path, "rb")  # noqa: PTH123 (the caller closes it, and a glob need not give a Path)
    from pipelines.run_files import open_for_reading  # noqa: PLC0415 - loads Beam

    return cast("BinaryIO", open_for_reading(path))


def _nothing_found(pattern: str) -> str:
    pattern = escaped_name(pattern)
    if pattern == "-":
        return "standard input cannot be read in parts: write it to a file first"
    if is_local(pattern) and Path(pattern).is_dir():
        return f"{pattern}: a directory with no files to read (names that start with '.' or '_' are skipped)"
    if _GLOB_CHARACTERS & set(pattern):
        return f"{pattern}: no file matches this pattern; check it, and quote it so that the shell leaves it alone"
    return f"{pattern}: no such file or directory; give a file, a directory or a glob"


def _list_local(pattern: str) -> Iterator[FoundFile]:
    path = Path(pattern)
    if path.is_dir():
        yield from _walk(str(path), set())
    elif path.exists() or path.is_symlink():  # a link to nothing is named as one
        yield _local_file(str(path))
    elif _GLOB_CHARACTERS & set(pattern):
        for match in glob.glob(pattern, recursive=True):  # noqa: PTH207 (Path.glob takes no absolute pattern)
            if _is_wanted(match, pattern):
                yield from _list_local_match(Path(match))


def _list_local_match(path: Path) -> Iterator[FoundFile]:
    if path.is_dir():
        yield from _walk(str(path), set())
    else:
        yield _local_file(str(path))


def _is_wanted(match: str, pattern: str) -> bool:
    """Tell whether a glob's match is data: no part of it that a wildcard filled is hidden."""
    asked_for = {part[0] for part in Path(pattern).parts if part.startswith(_HIDDEN)}
    literal = set(Path(pattern).parts)
    hidden = (part[0] for part in Path(match).parts if part not in literal and part.startswith(_HIDDEN))
    return all(first in asked_for for first in hidden)


def _walk(directory: str, visited: set[tuple[int, int]]) -> Iterator[FoundFile]:
    """Give the files below a directory. Links are followed; each directory is entered once, so a loop of links ends."""
    try:
        status = os.stat(directory)  # noqa: PTH116 (here and below: a Path for each of very many files takes longest)
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"{escaped_name(directory)}: this directory cannot be listed: {error.strerror}") from error
    if (status.st_dev, status.st_ino) in visited:
        return
    visited.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.name.startswith(_HIDDEN):
            continue
        if _is_directory(entry):
            yield from _walk(entry.path, visited)
        elif entry.is_symlink() or entry.is_file():
            yield _local_file(entry.path)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself: no file either, and the error says so
        return False


def _local_file(path: str) -> FoundFile:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise InputError(f"{escaped_name(path)}: {_why_unreadable(path, error)}") from error
    name = path if path.isascii() else escaped_name(path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{name}: this is no regular file, so it cannot be read in parts; write it to a file first")
    if not os.access(path, os.R_OK):
        raise InputError(f"{name}: this file may not be read; check its permissions")
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def _why_unreadable(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and Path(path).is_symlink():
        target = escaped_name(str(Path(path).readlink()))
        return f"this is a link to {target}, which does not exist; remove the link, or mend it"
    return f"this file cannot be read: {error.strerror}"


def _list_remote(pattern: str) -> Iterator[FoundFile]:
    from apache_beam.io.filesystems import FileSystems  # noqa: PLC0415

    folder = pattern.rstrip("/")
    try:
        matches = [] if pattern.endswith("/") else FileSystems.match([pattern])[0].metadata_list
        prefix = ""
        if not matches and not _GLOB_CHARACTERS & set(pattern):
            prefix = f"{folder}/"
            matches = FileSystems.match([f"{prefix}**"])[0].metadata_list
    except (ValueError, OSError) as error:
        raise InputError(f"{pattern}: cannot be listed: {str(error).splitlines()[0]}") from error
    for match in matches:
        below = Path(match.path.removeprefix(prefix))
        is_data = (
            not any(part.startswith(_HIDDEN) for part in below.parts) if prefix else _is_wanted(match.path, pattern)
        )
        is_placeholder = match.path.endswith("/")  # object stores keep an empty object for a folder
        if is_data and not is_placeholder:
            seconds = match.last_updated_in_seconds
            yield FoundFile(match.path, match.size_in_bytes, round(seconds * 1e9) if seconds else None)
