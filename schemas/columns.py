"""Columns that say what they mean, and the check that a table has them."""

from typing import Any, TypeVar

import pyarrow as pa

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


class SchemaError(ValueError):
    """A table does not have the columns that its schema promises."""


def column(name: str, data_type: pa.DataType, *, meaning: str, unit: str, nullable: bool = False) -> "pa.Field[Any]":
    """A field whose metadata holds ``meaning`` (a sentence) and ``unit`` (what the value counts or identifies)."""
    return pa.field(name, data_type, nullable=nullable, metadata={"meaning": meaning, "unit": unit})


def table_schema(name: str, columns: "list[pa.Field[Any]]", *, meaning: str) -> pa.Schema:
    """A schema whose metadata holds the table's ``name`` and the ``meaning`` of a row."""
    return pa.schema(columns, metadata={"name": name, "meaning": meaning})


def conform(rows: Rows, schema: pa.Schema) -> Rows:
    """The same rows under exactly ``schema``, its meanings and units included. Nothing is cast or reordered.

    Raises:
        SchemaError: A column is missing, superfluous, in another place, of another type, or holds a null where the
            schema allows none. The message names the table, the field, what was found and what is wanted.
    """
    table = (schema.metadata or {}).get(b"name", b"table").decode()
    found_names, wanted_names = rows.schema.names, schema.names
    if found_names != wanted_names:
        raise SchemaError(f"{table}: found the columns {', '.join(found_names)}; wanted {', '.join(wanted_names)}")
    for field, values in zip(schema, rows.columns, strict=True):
        if values.type != field.type:
            raise SchemaError(f"{table}: field {field.name} has type {values.type}; wanted {field.type}")
        if values.null_count and not field.nullable:
            raise SchemaError(f"{table}: field {field.name} has {values.null_count} nulls; wanted none")
    return type(rows).from_arrays(rows.columns, schema=schema)


def as_markdown(schema: pa.Schema) -> str:
    """The schema as a section of documentation: the meaning of a row, then a line for each field."""
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    lines = [
        f"## {metadata['name']}",
        "",
        metadata["meaning"],
        "",
        "| field | type | unit | meaning |",
        "| - | - | - | - |",
    ]
    for field in schema:
        said = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        kind = f"{field.type}, may be null" if field.nullable else str(field.type)
        lines.append(f"| `{field.name}` | {kind} | {said['unit']} | {said['meaning']} |")
    return "\n".join(lines) + "\n"
