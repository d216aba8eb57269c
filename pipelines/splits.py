"""What is read, and how: the options, a file of the input, and the part of it that one worker reads."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tokenize_lib.errors import OptionError

Format = Literal["text", "jsonl", "parquet"]
Compression = Literal["none", "gz", "zst"]

_CHOICES = {
    "format": ("auto", "text", "jsonl", "parquet", "chat"),
    "document": ("line", "file"),
    "on_bad_record": ("fail", "skip", "replace"),
    "null": ("bad", "empty"),
}

_MOST_FIELDS = 64  # as in _kernel/src/jsonl.rs


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    r"""How records become documents.

    format: ``auto`` goes by each file's name. A wrong one makes every record bad. ``chat`` is JSONL of chats.
    text_field: the JSON field or Parquet column with the text; ``a.b`` is field b of object a.
    document: ``line`` makes each line of a text a document; ``file`` each file, whatever its format.
    on_bad_record: ``fail`` stops at the first bad record; ``skip`` sets bad records aside; ``replace`` puts U+FFFD for
        invalid UTF-8 and lone surrogates and sets the rest aside.
    null: ``empty`` reads a null text as an empty document.
    id_field, group_by: fields to keep beside each document, as strings; null where a record lacks them. In bytes of
        a binary column that are not UTF-8, each such byte becomes ``\xNN`` and a backslash two.
    max_document_bytes: a longer record is bad. A reader holds one record at a time, so this bounds its memory.
    """

    format: str = "auto"
    text_field: str = "text"
    document: str = "line"
    on_bad_record: str = "fail"
    null: str = "bad"
    id_field: str | None = None
    group_by: tuple[str, ...] = ()
    max_document_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for name, allowed in _CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise OptionError(f"--{name.replace('_', '-')} {value}: must be one of {', '.join(allowed)}")
        if self.document == "file" and self.format in {"jsonl", "parquet", "chat"}:
            raise OptionError(f"--document file reads files as text; leave out --format {self.format}")
        if self.max_document_bytes < 1:
            raise OptionError(f"--max-document-bytes {self.max_document_bytes}: must be at least 1")
        for flag, names in (
            ("--text-field", (self.text_field,)),
            ("--id-field", (self.id_field,)),
            ("--group-by", self.group_by),
        ):
            if "" in names:
                raise OptionError(f"{flag} is empty: name a field of JSON Lines or a column of Parquet")
        if len(self.fields) > _MOST_FIELDS:
            raise OptionError(
                f"--group-by: {len(self.fields)} fields are too many to read: {_MOST_FIELDS} at most in all"
            )

    @property
    def kept_fields(self) -> tuple[str, ...]:
        """The fields kept beside the text: the id, then the groups."""
        return (*((self.id_field,) if self.id_field is not None else ()), *self.group_by)

    @property
    def fields(self) -> tuple[str, ...]:
        """The field of the text, then the kept ones."""
        return (self.text_field, *self.kept_fields)


@dataclass(frozen=True)
class InputFile:
    """A file of the plan. ``ordinal`` is its place in the order by path, ``modified`` in ns since 1970 if known."""

    path: str
    ordinal: int
    bytes: int
    format: Format
    compression: Compression
    modified: int | None = None


@dataclass(frozen=True)
class Split:
    """A part of a file that one worker reads.

    start, end: for plain text and JSONL the byte range, and the lines that start in it are read; for Parquet the range
        of rows, which ``row_groups`` hold; for a compressed file, or a file that is one document, all of it.
    bytes: the share of the file's bytes that this is; over a plan they add up to the size of its files.
    """

    file: InputFile
    start: int
    end: int
    bytes: int
    row_groups: tuple[int, ...] = ()

    @property
    def work(self) -> int:
        """An estimate of the bytes to be processed."""
        return self.bytes * (1 if self.file.compression == "none" else 4)


def group_splits(splits: Iterable[Split], *, least_work: int, file_cost: int) -> Iterator[tuple[Split, ...]]:
    """Give splits in their order, in groups of `least_work` or more, save the last; opening each adds `file_cost`."""
    group: list[Split] = []
    work = 0
    for split in splits:
        group.append(split)
        work += split.work + file_cost
        if work >= least_work:
            yield tuple(group)
            group, work = [], 0
    if group:
        yield tuple(group)
