"""Text, a document a file. Small files, of which there may be very many, are checked together."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from pipelines.formats.blocks import Block, Marks, documents_batch, record_rules, screen, too_long, with_null_fields
from pipelines.formats.streams import open_file, read_whole
from pipelines.splits import InputFile, ReadOptions


def read_file_documents(
    files: Sequence[InputFile], options: ReadOptions, block_bytes: int
) -> Iterator[tuple[InputFile, Block]]:
    """Read files, each one document at position 0. A block for each, in their order."""
    held: list[InputFile] = []
    texts: list[bytes] = []
    consumed: list[int] = []
    held_bytes = 0
    for file in files:
        with open_file(file) as stream:
            text, read_bytes = read_whole(file, stream, options.max_document_bytes, block_bytes)
        if text is None:
            yield file, too_long(0, 0, read_bytes, options)
            continue
        held.append(file)
        texts.append(text)
        consumed.append(read_bytes)
        held_bytes += len(text)
        if held_bytes >= block_bytes:
            yield from zip(held, _screened(texts, consumed, options), strict=True)
            held, texts, consumed, held_bytes = [], [], [], 0
    yield from zip(held, _screened(texts, consumed, options), strict=True)


def _screened(texts: list[bytes], consumed: list[int], options: ReadOptions) -> Iterator[Block]:
    """Check many texts as one array, and give each its own block again."""
    count = len(texts)
    ends = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, count + 1)
    array = pa.Array.from_buffers(
        pa.large_binary(), count, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(texts))]
    )
    documents, bad, _, marks, *_ = screen(array, options.text_field, record_rules(options))
    at_zero = pa.array(np.zeros(max(documents.num_rows, bad.num_rows), np.int64))
    good = iter(documents.column("position").to_pylist())
    documents = documents_batch(at_zero[: documents.num_rows], documents.column("text"), {})
    documents = with_null_fields(documents, options)
    bad = pa.RecordBatch.from_arrays(
        [at_zero[: bad.num_rows], at_zero[: bad.num_rows], bad.column("reason")], schema=bad.schema
    )
    next_good, used = next(good, None), 0
    for index in range(count):
        is_good = index == next_good
        yield Block(
            documents.slice(used, int(is_good)),
            bad.slice(index - used, int(not is_good)),
            1,
            marks if index == 0 else Marks(),  # one tally stands for all the files
            consumed[index],
        )
        if is_good:
            next_good, used = next(good, None), used + 1
