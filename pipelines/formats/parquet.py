"""Parquet: a document a row, read in batches out of row groups."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.formats.blocks import Block, documents_batch, record_rules, screen
from pipelines.formats.streams import decompressed, open_file
from pipelines.paths import is_local
from pipelines.splits import InputFile, ReadOptions, Split
from tokenize_lib._native import RecordRules
from tokenize_lib.errors import InputError

_BUFFER_BYTES = 1 << 20  # a column chunk is read through a buffer of this size, not as a whole
_MAX_BATCH_ROWS = 1 << 14
# A chunk with a dictionary page is as small as its distinct values, however long its rows are.
_MAX_DICTIONARY_BATCH_ROWS = 1 << 10


def split_row_groups(
    file: InputFile, options: ReadOptions, split_bytes: int
) -> list[tuple[int, int, int, tuple[int, ...]]]:
    """Give (first row, end row, bytes, row groups) of runs of row groups of up to about `split_bytes`.

    Raises InputError if the file is not Parquet, or lacks a column that is asked for.
    """
    with open_parquet(file) as parquet:
        check_columns(file, parquet.schema_arrow, options)
        metadata = parquet.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    ends, row_ends = [0], [0]
    for group in groups:
        stored = sum(group.column(index).total_compressed_size for index in range(group.num_columns))
        ends.append(ends[-1] + stored)
        row_ends.append(row_ends[-1] + group.num_rows)
    # Stretched to the file's size, so that progress ends at the sum of all files.
    places = [end * file.bytes // max(ends[-1], 1) for end in ends]
    extents = []
    for _, run in groupby(range(len(groups)), key=lambda index: places[index] // split_bytes):
        run_groups = tuple(run)
        first, end = run_groups[0], run_groups[-1] + 1
        extents.append((row_ends[first], row_ends[end], places[end] - places[first], run_groups))
    return extents


@contextmanager
def open_parquet(file: InputFile) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; one that is compressed as a whole is first unpacked to a temporary file."""
    try:
        with open_file(file) as stream:
            if file.compression != "none":
                with tempfile.TemporaryFile() as unpacked:
                    for chunk in decompressed(file, stream, _BUFFER_BYTES):
                        unpacked.write(chunk.data)
                    unpacked.seek(0)
                    yield _parquet_file(unpacked)
            else:
                yield _parquet_file(file.path if is_local(file.path) else stream)
    except pa.ArrowException as error:
        said = str(error).partition("\n")[0]
        raise InputError(f"{file.path}: not a Parquet file that can be read: {said}") from error


def _parquet_file(source: str | BinaryIO) -> pq.ParquetFile:
    # large_binary: columns that name no Arrow type of their own come with 64-bit offsets.
    return pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, binary_type=pa.large_binary())  # type: ignore[call-arg]


def check_columns(file: InputFile, schema: pa.Schema, options: ReadOptions) -> None:
    """Raise InputError if a column that is asked for is not there, or cannot be text, or a label."""
    for path in options.fields:
        is_text = path == options.text_field
        if (twice := _named_twice(schema, path)) is not None:
            raise InputError(
                f'{file.path}: two columns are named "{twice}": rename one of them, and write the file again'
            )
        found = column_type(schema, path)
        if found is None:
            flag = "--text-field" if is_text else "--id-field" if path == options.id_field else "--group-by"
            raise InputError(
                f'{file.path}: no column "{path}"; it has: {", ".join(schema.names)}; name one with {flag}'
            )
        if not _is_text(found) and (is_text or pa.types.is_nested(found)):
            what = "text" if is_text else "text, a number or a boolean"
            raise InputError(f'{file.path}: column "{path}" is {found}, not {what}')


def column_type(schema: pa.Schema, path: str) -> pa.DataType | None:
    """Find a column by its name, or `a.b` inside struct column a; None if there is none."""
    fields: dict[str, pa.DataType] = {field.name: field.type for field in schema}
    if path in fields:
        return fields[path]
    for name, rest in _cuts(path):
        if name in fields and pa.types.is_struct(fields[name]):
            return column_type(pa.schema(list(cast("pa.StructType", fields[name]))), rest)
    return None


def _named_twice(schema: pa.Schema, path: str) -> str | None:
    """Give the part of a column's path, from its start, that more than one column has for its name."""
    names = schema.names
    if path in names:
        return path if names.count(path) > 1 else None
    for name, rest in _cuts(path):
        if name in names:
            if names.count(name) > 1:
                return name
            inner = schema.field(name).type
            if not pa.types.is_struct(inner):
                continue
            below = _named_twice(pa.schema(list(inner)), rest)
            return None if below is None else f"{name}.{below}"
    return None


def take_column(batch: pa.RecordBatch, path: str) -> "pa.Array[Any]":
    """Give a column by its path; a field of a null struct is null."""
    if path in batch.schema.names:
        return batch.column(path)
    name, rest = next(cut for cut in _cuts(path) if cut[0] in batch.schema.names)
    column = cast("pa.StructArray", batch.column(name))
    inner = pa.RecordBatch.from_arrays(column.flatten(), names=[field.name for field in column.type])
    return take_column(inner, rest)


def _cuts(path: str) -> Iterator[tuple[str, str]]:
    for at, character in enumerate(path):
        if character == ".":
            yield path[:at], path[at + 1 :]


def _is_text(data_type: pa.DataType) -> bool:
    if pa.types.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType):
        return _is_text(data_type.storage_type)
    kinds = pa.types
    return (
        kinds.is_string(data_type) or kinds.is_large_string(data_type) or kinds.is_string_view(data_type)
        or kinds.is_binary(data_type) or kinds.is_large_binary(data_type) or kinds.is_binary_view(data_type)
        or kinds.is_fixed_size_binary(data_type) or kinds.is_null(data_type)
    )  # fmt: skip


def read_rows(split: Split, options: ReadOptions, block_bytes: int) -> Iterator[Block]:
    """Read a split's rows in batches of about `block_bytes` of text. A document's position is its row, from 0."""
    rules = record_rules(options)
    with open_parquet(split.file) as parquet:
        check_columns(split.file, parquet.schema_arrow, options)
        groups = split.row_groups or tuple(range(parquet.metadata.num_row_groups))
        total = sum(parquet.metadata.row_group(group).num_rows for group in groups)
        rows = 0
        for batch in parquet.iter_batches(
            batch_size=_batch_rows(parquet.metadata, groups, options.text_field, block_bytes),
            row_groups=list(groups), columns=list(options.fields), use_threads=False,
        ):  # fmt: skip
            first = rows
            rows += batch.num_rows
            consumed = split.bytes * rows // total - split.bytes * first // total
            yield _read_batch(batch, split.start if split.row_groups else 0, first, options, rules)._replace(
                consumed=consumed
            )


def _batch_rows(metadata: pq.FileMetaData, groups: tuple[int, ...], text_field: str, block_bytes: int) -> int:
    """Estimate how many rows have about `block_bytes` of text, from the column's size in the fullest group."""
    batch_rows = _MAX_BATCH_ROWS
    for group in (metadata.row_group(index) for index in groups):
        columns = (group.column(index) for index in range(group.num_columns))
        for column in (column for column in columns if column.path_in_schema == text_field):
            average = max(column.total_uncompressed_size // max(group.num_rows, 1), 1)
            most = _MAX_DICTIONARY_BATCH_ROWS if column.has_dictionary_page else _MAX_BATCH_ROWS
            batch_rows = min(batch_rows, most, max(block_bytes // average, 1))
    return batch_rows


def _read_batch(batch: pa.RecordBatch, start: int, first: int, options: ReadOptions, rules: RecordRules) -> Block:
    texts = take_column(batch, options.text_field).cast(pa.large_binary())
    documents, bad, rows, marks, *_ = screen(texts, options.text_field, rules)
    kept = documents.column("position")
    fields = {}
    for name in options.kept_fields:
        values = _as_strings(take_column(batch, name))
        fields[name] = values if len(kept) == len(values) else values.take(kept)
    documents = documents_batch(pc.add(kept, start + first), documents.column("text"), fields)
    bad = pa.RecordBatch.from_arrays(
        [pc.add(bad.column("position"), start + first), pc.add(bad.column("row"), first), bad.column("reason")],
        schema=bad.schema,
    )
    return Block(documents, bad, rows, marks, 0)


def _as_strings(values: "pa.Array[Any]") -> "pa.Array[Any]":
    if not _is_text(values.type):
        return values.cast(pa.large_string())
    try:
        return values.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:  # a label in bytes that are not UTF-8 must not cost the document
        labels = values.cast(pa.large_binary()).to_pylist()
        return pa.array([None if label is None else _escaped(label) for label in labels], pa.large_string())


def _escaped(label: bytes) -> str:
    r"""Give the text of a label; one that is not UTF-8 has ``\xNN`` for each such byte, and ``\\`` for a backslash."""
    try:
        return label.decode()
    except UnicodeDecodeError:
        return label.replace(b"\\", rb"\\").decode(errors="backslashreplace")
