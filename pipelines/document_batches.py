"""The elements of the reading step: Arrow batches of documents and of bad records."""

from dataclasses import dataclass
from typing import NamedTuple, cast

import apache_beam as beam
import pyarrow as pa

from tokenize_lib.chat import Chats


@dataclass(frozen=True)
class DocumentBatch:
    """Documents of one file.

    source: the file's ordinal.
    documents: columns position (int64: offset of the record in the uncompressed file, or row number in Parquet), text
        (large_binary, valid UTF-8), then the kept fields (large_string, null where a record has none) in the order of
        `ReadOptions.kept_fields`.
    chats: the documents as chats, where they are read as such; the text is then the whole record. Not sent along.
    """

    source: int
    documents: pa.RecordBatch
    chats: Chats | None = None

    @property
    def positions(self) -> pa.Int64Array:
        """Where each document stands in its file."""
        return cast("pa.Int64Array", self.documents.column(0))

    @property
    def texts(self) -> pa.LargeBinaryArray:
        """The text of each document."""
        return cast("pa.LargeBinaryArray", self.documents.column(1))

    @property
    def fields(self) -> list[pa.LargeStringArray]:
        """The kept fields, each with a value or null for each document."""
        return cast("list[pa.LargeStringArray]", self.documents.columns[2:])


@dataclass(frozen=True)
class BadRecords:
    """Records that are none, of the split of a file (its ordinal: `source`) that begins at `start`.

    records: position (int64), row (int64, from 0 within the split), reason (string).
    """

    source: int
    start: int
    records: pa.RecordBatch


class SplitBad(NamedTuple):
    """`BadRecords` as they are sent: with the path of the file, and the records as an IPC stream."""

    source: int
    start: int
    path: str
    records: bytes


class DocumentBatchCoder(beam.coders.Coder):  # type: ignore[misc]
    """Arrow IPC. A batch is meant for a fused step; where a runner does send it, this is small and exact."""

    def encode(self, value: DocumentBatch) -> bytes:
        """Give the ordinal in 8 bytes, then an IPC stream."""
        return value.source.to_bytes(8, "big") + ipc_bytes(value.documents)

    def decode(self, encoded: bytes) -> DocumentBatch:
        """Give the batch back."""
        return DocumentBatch(int.from_bytes(encoded[:8], "big"), ipc_batch(encoded[8:]))

    def estimate_size(self, value: DocumentBatch) -> int:
        """Give the size without encoding: Beam asks for it to keep its statistics."""
        return int(value.documents.nbytes)

    def is_deterministic(self) -> bool:
        """A batch is no key."""
        return False


beam.coders.registry.register_coder(DocumentBatch, DocumentBatchCoder)


def ipc_bytes(batch: pa.RecordBatch) -> bytes:
    """Write a batch as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def ipc_batch(encoded: bytes) -> pa.RecordBatch:
    """Read the one batch of an Arrow IPC stream."""
    with pa.ipc.open_stream(encoded) as reader:
        return reader.read_next_batch()
