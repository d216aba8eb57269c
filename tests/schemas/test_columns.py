"""Every table says what it holds, and no table is written that does not hold it."""

from pathlib import Path

import pyarrow as pa
import pytest

from schemas.__main__ import TABLES, documentation
from schemas.columns import SchemaError, as_markdown, column, conform, table_schema
from schemas.pretokens import PRETOKENS, PRETOKENS_FIRST_SEEN

SMALL = table_schema(
    "small",
    [
        column("id", pa.int32(), meaning="A number.", unit="token id"),
        column("text", pa.string(), meaning="Its text.", unit="text", nullable=True),
    ],
    meaning="A row is a test.",
)


def small(ids: pa.Array, texts: pa.Array) -> pa.Table:
    return pa.table({"id": ids, "text": texts})


@pytest.mark.parametrize("schema", [*TABLES, PRETOKENS], ids=lambda schema: schema.metadata[b"name"].decode())
def test_every_field_has_a_meaning_and_a_unit(schema: pa.Schema) -> None:
    assert schema.metadata[b"meaning"].endswith(b".")
    for field in schema:
        assert field.metadata[b"meaning"].endswith(b".")
        assert field.metadata[b"unit"]


def test_the_documentation_is_what_the_schemas_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    assert page.read_text(encoding="utf-8") == documentation()


def test_markdown() -> None:
    assert as_markdown(SMALL) == (
        "## small\n\nA row is a test.\n\n| field | type | unit | meaning |\n| - | - | - | - |\n"
        "| `id` | int32 | token id | A number. |\n| `text` | string, may be null | text | Its text. |\n"
    )


def test_conforming_rows_take_the_metadata() -> None:
    table = conform(small(pa.array([1], pa.int32()), pa.array([None], pa.string())), SMALL)
    assert table.schema.equals(SMALL, check_metadata=True)
    assert table.to_pylist() == [{"id": 1, "text": None}]
    batch = conform(table.to_batches()[0], SMALL)
    assert batch.schema.equals(SMALL, check_metadata=True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            small(pa.array([1], pa.int64()), pa.array(["a"])),
            "small: field id has type int64; wanted int32",
        ),
        (
            small(pa.array([1, None], pa.int32()), pa.array(["a", "b"])),
            "small: field id has 1 nulls; wanted none",
        ),
        (
            pa.table({"text": pa.array(["a"]), "id": pa.array([1], pa.int32())}),
            "small: found the columns text, id; wanted id, text",
        ),
        (pa.table({"id": pa.array([1], pa.int32())}), "small: found the columns id; wanted id, text"),
    ],
)
def test_other_rows_are_refused(table: pa.Table, message: str) -> None:
    with pytest.raises(SchemaError) as error:
        conform(table, SMALL)
    assert str(error.value) == message


def test_first_seen_is_one_column_more() -> None:
    assert PRETOKENS_FIRST_SEEN.names == [*PRETOKENS.names, "first_seen"]
