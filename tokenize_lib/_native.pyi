# The kernel: hot loops over Arrow data, compiled from `_kernel`, where each has its docstring. They release the GIL.
# Arrays and batches may be any object with the Arrow PyCapsule interface; what comes back is pyarrow's.

from collections.abc import Sequence
from typing import Any, Self, final

import pyarrow as pa

# Pretokenizing and counting

UNICODE_VERSION: str

class Pretokenizer:
    def __new__(
        cls, spec: str, special_tokens: Sequence[str] = ..., normalize: str = "none", lowercase: bool = False
    ) -> Self: ...
    def split(self, texts: pa.Array[Any]) -> pa.LargeListArray[Any]: ...
    def __getnewargs__(self) -> tuple[str, list[str], str, bool]: ...

class PretokenCounter:
    def __new__(cls, pretokenizer: Pretokenizer, first_seen: bool) -> Self: ...
    def add(self, texts: pa.Array[Any], source: int = 0, positions: pa.Array[Any] | None = None) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def distinct(self) -> int: ...
    def drain(self, partitions: int) -> list[pa.RecordBatch]: ...

def merge_sorted(heads: Sequence[pa.RecordBatch], last: Sequence[bool]) -> tuple[pa.RecordBatch, list[int]]: ...

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
