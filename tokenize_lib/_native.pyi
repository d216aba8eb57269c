from typing import Any, final

import pyarrow as pa

# Records: blocks of text and JSON Lines into documents and bad records.

@final
class RecordRules:
    def __new__(cls, *, replace: bool, null_as_empty: bool, max_document_bytes: int) -> RecordRules: ...

def parse_lines(
    block: bytes, position: int, row: int, rules: RecordRules
) -> tuple[pa.RecordBatch, pa.RecordBatch, int]: ...
def parse_jsonl(
    block: bytes, position: int, row: int, fields: list[str], rules: RecordRules
) -> tuple[pa.RecordBatch, pa.RecordBatch, int]: ...
def screen_texts(
    texts: pa.Array[Any], field: str, rules: RecordRules
) -> tuple[pa.RecordBatch, pa.RecordBatch] | None: ...
