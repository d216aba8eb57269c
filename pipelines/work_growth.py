"""How fast a corpus' table of distinct pretokens grows: a power law, fitted through measured points (Heaps' law)."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.documents import DocumentBatch, read_splits
from pipelines.inputs import InputPlan, ReadOptions, Split
from pipelines.work_figures import MIX, TrainPoint
from tokenize_lib import _native
from tokenize_lib.errors import InputError
from tokenize_lib.pretokenizers import build_pretokenizer
from tokenize_lib.training_options import PretokenizeOptions

_SAMPLED_SPLITS = 64
_STEPS = (8, 4, 2, 1)  # every so many of the documents are a smaller corpus of the same kind


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """``factor * size ** exponent``, rising, and no faster than the size itself; never more than the size."""

    factor: float
    exponent: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> "PowerLaw":
        """The law nearest to points of (size, value) on logarithmic scales, which goes through the last of them."""
        sizes, values = np.log(np.array(points, np.float64)).T
        slope = float(np.polyfit(sizes, values, 1)[0]) if len(set(sizes)) > 1 else 1.0
        exponent = min(max(slope, 0.0), 1.0)
        size, value = points[-1]
        return cls(value / size**exponent, exponent)

    def at(self, size: float) -> float:
        """The value for a size."""
        return min(self.factor * size**self.exponent, size) if size > 0 else 0.0

    def size_of(self, value: float) -> float:
        """The size that has this value."""
        return max((value / self.factor) ** (1 / self.exponent), value) if self.exponent else math.inf


@dataclasses.dataclass(frozen=True, kw_only=True)
class Growth:
    """What is known of how a corpus' table grows.

    Attributes:
        distinct: Distinct pretokens for bytes of text.
        symbols: Bytes of the distinct pretokens for bytes of text.
        measured_text: The most text that it was measured on, in bytes.
        text_a_stored_byte: Bytes of text in a byte of the files, where this corpus was looked at.
        source: Where it was measured, in words.
    """

    distinct: PowerLaw
    symbols: PowerLaw
    measured_text: int
    text_a_stored_byte: float | None = None
    source: str = "a mix of English, code and six other languages"

    @classmethod
    def through(cls, points: Sequence[tuple[int, int, int]], **found: Any) -> "Growth":
        """The growth that goes through points of (bytes of text, distinct pretokens, their bytes)."""
        return cls(
            distinct=PowerLaw.through([(text, distinct) for text, distinct, _ in points]),
            symbols=PowerLaw.through([(text, symbols) for text, _, symbols in points]),
            measured_text=points[-1][0],
            **found,
        )

    @property
    def is_sampled(self) -> bool:
        """Whether it is that of a sample of the corpus itself."""
        return self.text_a_stored_byte is not None

    @classmethod
    def of_runs(cls, points: Sequence[TrainPoint] = MIX) -> "Growth":
        """The growth of a corpus that was trained on at several sizes."""
        return cls.through([(point.text_bytes, point.distinct, point.symbols) for point in points])


def sample_growth(plan: InputPlan, read: ReadOptions, options: PretokenizeOptions, size: int) -> Growth:
    """Read some of the input, a little of each of its splits, and fit the growth of its table to that.

    Args:
        plan: The files and their splits.
        read: How documents are read.
        options: How they are cut.
        size: About how many bytes of text to read and hold.

    Raises:
        InputError: A file cannot be read, or there is no text.
    """
    stored = 0

    def advance(*, bytes: int, documents: int) -> None:  # noqa: A002, ARG001
        nonlocal stored
        stored += bytes

    step = max(1, len(plan.splits) // _SAMPLED_SPLITS)
    readers = [_texts(split, read, advance) for split in plan.splits[::step]]
    texts: list[pa.LargeBinaryArray] = []
    held = 0
    while readers and held < size:
        for reader in list(readers):
            found = next(reader, None)
            if found is None:
                readers.remove(reader)
                continue
            texts.append(found)
            held += found.nbytes
            if held >= size:
                break
    points = [point for step in _STEPS if (point := _count(texts, step, options))[0]]
    if not points or not points[-1][1]:
        raise InputError("--sample: no text in what was read; check --format and --text-field")
    return Growth.through(points, text_a_stored_byte=points[-1][0] / max(stored, 1), source="a sample of this corpus")


def _texts(split: Split, read: ReadOptions, advance: object) -> Iterator[pa.LargeBinaryArray]:
    for item in read_splits([split], read, advance=advance):  # type: ignore[arg-type]
        if isinstance(item, DocumentBatch):
            yield item.texts


def _count(texts: Sequence[pa.LargeBinaryArray], step: int, options: PretokenizeOptions) -> tuple[int, int, int]:
    counter = _native.PretokenCounter(build_pretokenizer(options), False)  # noqa: FBT003 - as the kernel declares it
    read = 0
    for batch in texts:
        some = batch.take(pa.array(range(0, len(batch), step), pa.int64()))
        counter.add(some)
        read += some.total_values_length
    [table] = counter.drain(1)
    symbols = int(table["pretoken"].total_values_length) if table.num_rows else 0  # type: ignore[attr-defined]
    return read, table.num_rows, symbols
