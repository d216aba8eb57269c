"""The plan of what to read: the files that patterns name, and the splits in which workers read them.

A plan depends on the files alone. Documents and their positions do not depend on how a file is split.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from pipelines.formats.parquet import split_row_groups
from pipelines.listing import FoundFile, list_files
from pipelines.splits import Compression, Format, InputFile, ReadOptions, Split, group_splits
from tokenize_lib.errors import InputError, NoDocumentError

__all__ = ["InputFile", "InputPlan", "ReadOptions", "Split", "plan_input"]

SPLIT_BYTES = (
    32 << 20
)  # small enough that 1 GB keeps 32 cores busy, large enough that opening a remote file does not show
_FILE_COST = 32 << 10  # opening a file takes about as long as reading this many bytes
_PLANNING_THREADS = 16

_FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True)
class InputPlan:
    """All files by path, and all splits, largest first: dealt out in turn, they come to even shares."""

    files: tuple[InputFile, ...]
    splits: tuple[Split, ...]
    split_bytes: int = SPLIT_BYTES
    linked: tuple[tuple[str, str], ...] = ()
    """Paths of the files, each with another that leads to the same file and is not read again."""

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)

    def warnings(self) -> Iterator[str]:
        """Say what the files show that the person who named them may not know."""
        hollow = [
            file for file in self.files if file.bytes == 0 and (file.compression != "none" or _has_row_groups(file))
        ]
        if hollow:
            yield (
                f"{_name_of_all(hollow)}: no bytes at all, which is read as no document; "
                f"a {hollow[0].path.rpartition('.')[2]} file of no documents has some, so this may be half an upload"
            )

        if self.linked:
            path, other = self.linked[0]
            also = f" (and {len(self.linked) - 1} more such names)" if len(self.linked) > 1 else ""
            yield f"{path} and {other} are one file, over a link, and are read once{also}; for two documents, copy it"

    @contextmanager
    def named_where_empty(self) -> Iterator[None]:
        """Put the name of the input before an error that says that there is no document in it."""
        try:
            yield
        except NoDocumentError as error:
            raise NoDocumentError(f"{_name_of_all(self.files)}: {error}") from error

    def groups(self) -> Iterator[tuple[Split, ...]]:
        """Give the splits in groups of half a split's work or more: many small files are few Beam elements."""
        return group_splits(self.splits, least_work=self.split_bytes // 2, file_cost=_FILE_COST)


def plan_input(
    patterns: Sequence[str],
    options: ReadOptions,
    *,
    split_bytes: int | Callable[[int], int] = SPLIT_BYTES,
    output: str | None = None,
) -> InputPlan:
    """List the files and split them. Reads no text: names and sizes, and the footers of Parquet files.

    split_bytes: about the size of a split, or what gives it for the size of all files.
    output: where results go; files there are no input, also where it lies in a directory that is read.

    Raises OptionError if a pattern is empty, InputError if one names nothing, if all files are empty, and if a Parquet
    file has no such column.
    """
    listed = list_files(patterns, output)
    files = tuple(_input_file(ordinal, found, options) for ordinal, found in enumerate(listed))
    if not any(file.bytes for file in files):
        raise InputError(f"{_name_of_all(files)}: no document, all input is empty; give files with text")
    if not isinstance(split_bytes, int):
        split_bytes = split_bytes(sum(file.bytes for file in files))
    with ThreadPoolExecutor(_PLANNING_THREADS) as pool:
        footers = pool.map(lambda file: _split_parquet(file, options, split_bytes), filter(_has_row_groups, files))
        parquet = [split for splits in footers for split in splits]
    plain = [split for file in files if not _has_row_groups(file) for split in _split_bytes(file, options, split_bytes)]
    splits = sorted(parquet + plain, key=lambda split: (-split.work, split.file.ordinal, split.start))
    linked = tuple((found.path, other) for found in listed for other in found.other_names)
    return InputPlan(files, tuple(splits), split_bytes, linked)


def _name_of_all(files: Sequence[InputFile]) -> str:
    return files[0].path + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def _input_file(ordinal: int, found: FoundFile, options: ReadOptions) -> InputFile:
    stem, suffix = _cut_suffix(found.path.rpartition("/")[2].lower())
    compression = _COMPRESSIONS.get(suffix, "none")
    if compression != "none":
        suffix = _cut_suffix(stem)[1]
    by_name: Format = "text" if options.document == "file" else _FORMATS.get(suffix, "text")
    file_format = {"auto": by_name, "chat": "jsonl"}.get(options.format, options.format)
    return InputFile(found.path, ordinal, found.bytes, cast("Format", file_format), compression, found.modified)


def _cut_suffix(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if stem else (name, "")


def _has_row_groups(file: InputFile) -> bool:
    return file.format == "parquet" and file.compression == "none"


def _split_parquet(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Split]:
    if file.bytes == 0:
        return []
    return [Split(file, *extent) for extent in split_row_groups(file, options, split_bytes)]


def _split_bytes(file: InputFile, options: ReadOptions, split_bytes: int) -> list[Split]:
    """Cut a file into even byte ranges, or leave it whole if it must be read from its start."""
    if file.bytes == 0 and options.document == "line":
        return []
    whole = file.compression != "none" or options.document == "file"
    parts = 1 if whole else -(-file.bytes // split_bytes)
    ends = [file.bytes * part // parts for part in range(parts + 1)]
    return [Split(file, start, end, end - start) for start, end in pairwise(ends)]
