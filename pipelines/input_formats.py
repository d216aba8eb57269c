"""The files of a plan, summed up by format."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pipelines.inputs import InputFile, InputPlan
from pipelines.progress import format_bytes
from pipelines.words import number_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class FormatShare:
    """The files of one format: its name, as ``jsonl.zst``, how many they are, their bytes, and their splits."""

    format: str
    files: int
    bytes: int
    splits: int


def format_name(file: InputFile) -> str:
    """Give the name of a file's format and compression: ``text``, ``jsonl.zst``."""
    return file.format if file.compression == "none" else f"{file.format}.{file.compression}"


def by_format(plan: InputPlan) -> list[FormatShare]:
    """Give the formats of a plan's files, by name."""
    files: dict[str, list[InputFile]] = defaultdict(list)
    splits: dict[str, int] = defaultdict(int)
    for file in plan.files:
        files[format_name(file)].append(file)
    for split in plan.splits:
        splits[format_name(split.file)] += 1
    return [
        FormatShare(format=name, files=len(members), bytes=sum(file.bytes for file in members), splits=splits[name])
        for name, members in sorted(files.items())
    ]


def format_lines(shares: Iterable[FormatShare]) -> Iterator[str]:
    """Give a line a format for people."""
    for share in shares:
        size = f"{format_bytes(share.bytes)}, {number_of(share.splits, 'split')}"
        yield f"  {share.format:22}{number_of(share.files, 'file')}, {size}"
