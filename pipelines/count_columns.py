"""What a finished count has to offer to whoever reads it on: its parts, and which column is what."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.run_files import RunFiles
from pipelines.run_record import damage, read_record
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.model_tokenizers import ModelTokenizer
from tokenize_lib.request_tokens import Counts

ESTIMATE = "estimate_"
"""Before a tokenizer's column name: whether a document's count by it is an estimate. Chats have such columns."""
_NOTES = ("bytes", "images")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountColumns:
    """The columns of ``documents/``.

    Attributes:
        root: The directory of the count.
        parts: Names of the tables, in order.
        rows: Documents in all.
        groups: Columns of the group fields. Not the one of output tokens, which would make a group of every number.
        notes: Columns that say what was not counted, as far as there are any.
        output: The column of output tokens, in a list; an empty one when none is asked for.
        tokenizers: From ``run.json``: name, column and spec of each tokenizer.
        chats: The documents are chats.
    """

    root: str
    parts: tuple[str, ...]
    rows: int
    groups: tuple[str, ...]
    notes: tuple[str, ...]
    output: tuple[str, ...]
    tokenizers: tuple[Mapping[str, Any], ...]
    chats: bool

    @classmethod
    def read(cls, files: RunFiles, output_field: str | None = None) -> "CountColumns":
        """Read what a directory holds.

        Args:
            files: The directory.
            output_field: The field that holds each document's output tokens.

        Raises:
            InputError: It holds no finished count, or one that is damaged.
            OptionError: The count did not keep that field.
        """
        record = read_record(files)
        if record is None:
            raise InputError(f"{files.root} is no finished count: it has no run.json; tokenbeam count makes one")
        if record.get("command") != "count":
            raise InputError(f"{files.root} is a run of tokenbeam {record.get('command')}: name one of tokenbeam count")
        parts = tuple(f["name"] for f in record["outputs"] if f["name"].startswith("documents/"))
        if not parts:
            raise InputError(f"{files.root} has no table in documents/: count the corpus anew")
        if (found := damage(files, record, "documents/")) is not None:
            raise InputError(f"{found}: count the corpus anew, with tokenbeam count --replace")
        with files.open_parquet(parts[0]) as table:
            schema = table.schema_arrow
        names = schema.names
        # Group fields stand between what tells a document and what was measured of it.
        groups = names[names.index("id") + 1 : names.index("bytes")]
        output = _output_column(files.root, record, names, groups, output_field)
        return cls(
            root=files.root,
            parts=parts,
            rows=sum(f["rows"] for f in record["outputs"] if f["name"] in parts),
            groups=tuple(name for name in groups if name not in output),
            notes=tuple(name for name in names if name in _NOTES or name.startswith(ESTIMATE)),
            output=output,
            tokenizers=tuple(record["tokenizers"]),
            chats=record["options"].get("format") == "chat",
        )

    def counted_by(self, model: str, tokenizer: ModelTokenizer) -> Mapping[str, Any]:
        """Give what ``run.json`` says of a tokenizer.

        Args:
            model: Whose tokens they are to stand for.
            tokenizer: The tokenizer.

        Raises:
            OptionError: The count has none by this tokenizer.
        """
        for counted in self.tokenizers:
            if tokenizer.name in (counted["name"], counted["column"], counted["spec"]):
                return counted
        counted_by = ", ".join(str(counted["name"]) for counted in self.tokenizers)
        raise OptionError(
            f"--model {model}: {self.root} has no counts by {tokenizer.name}, only by {counted_by}: count with "
            f"--tokenizer {tokenizer.name}, or let another stand in: "
            f"--tokenizer-for {model}={self.tokenizers[0]['name']}"
        )

    def output_tokens(self, batch: pa.RecordBatch) -> Counts | None:
        """Give the output tokens that a field holds, int64; None when none is asked for.

        Raises:
            InputError: A value is no number of tokens.
        """
        if not self.output:
            return None
        [name] = self.output
        values = batch.column(name)
        if values.null_count:
            without = "1 document has" if values.null_count == 1 else f"{values.null_count:,} documents have"
            raise InputError(f"{self.root}: {without} no {name}, which --output-field names")
        try:
            tokens = pc.cast(values, pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.root}: --output-field: a value of {name} is no whole number: {error}") from None
        if len(tokens) and pc.min(tokens).as_py() < 0:
            raise InputError(f"{self.root}: --output-field: {name} is {pc.min(tokens).as_py()}, no number of tokens")
        return tokens.to_numpy()


def _output_column(
    root: str, record: Mapping[str, Any], names: Sequence[str], groups: Sequence[str], field: str | None
) -> tuple[str, ...]:
    if field is None:
        return ()
    if field == record["options"].get("id_field"):
        return ("id",)
    if field == "id" and record["options"].get("id_field") is None and f"group_{field}" not in groups:
        raise OptionError(f"--output-field id: {root} was counted without --id-field, so it has no ids")
    for name in (f"group_{field}", field):
        if name in groups or (name == field and name in names):
            return (name,)
    raise OptionError(
        f"--output-field {field}: {root} did not keep it (it has {', '.join(names)}): count with --group-by {field}"
    )
