"""Merged totals to the rows of ``summary.parquet``, as they stream by."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.group_totals import TAIL_BYTES, WHOLE, Figure, Numbers, fields_of_group, figures_of
from schemas.dataset_summary import QUANTILES, dataset_summary
from tokenize_lib.errors import InputError

_MOST_TOKENS = float(1 << 62)
_Column: TypeAlias = "pa.Array[Any]"
_operations: Any = pc


def summary_rows(
    totals: Iterable[pa.RecordBatch], groups: Sequence[str], tokenizers: Sequence[str], context_limits: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Give the rows of `schemas.dataset_summary`, in their order.

    Args:
        totals: Rows of `pipelines.group_totals`, sorted by key, without repeats, however they are batched.
        groups: Columns of the group fields.
        tokenizers: Column names of the tokenizers.
        context_limits: Tokens above which documents are counted.

    Raises:
        InputError: A group has 2^62 tokens or more.
    """
    schema = dataset_summary(groups, tokenizers, context_limits)
    for rows in _whole_groups(totals):
        columns = list(_columns(rows, len(groups), len(tokenizers), context_limits))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _whole_groups(totals: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batch the rows so that no group is in two batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in totals:
        if not batch.num_rows:
            continue
        groups = _groups_of(batch)
        last = groups[len(groups) - 1]
        start = _operations.index(groups, last).as_py()
        if waiting and _groups_of(waiting[-1].slice(waiting[-1].num_rows - 1))[0] != groups[0]:
            yield _joined(waiting)
            waiting = []
        if start:
            yield _joined([*waiting, batch.slice(0, start)])
            waiting = []
        waiting.append(batch.slice(start))
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    [batch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


def _groups_of(rows: pa.RecordBatch) -> Any:
    return _operations.binary_slice(rows["pretoken"], 0, -TAIL_BYTES)


def _columns(rows: pa.RecordBatch, fields: int, tokenizers: int, context_limits: Sequence[int]) -> Iterator[_Column]:
    keys = _groups_of(rows)
    starts = np.ones(len(keys), bool)
    starts[1:] = _operations.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    row_groups = np.cumsum(starts) - 1
    names = [key.as_py() for key in keys.filter(pa.array(starts))]
    yield pa.array([name == WHOLE for name in names], pa.bool_())
    values = [fields_of_group(name, fields) for name in names]
    for field in range(fields):
        yield pa.array([value[field] for value in values], pa.string())
    figures, numbers = figures_of(rows["pretoken"])
    counts = rows["count"].to_numpy()
    sums = np.zeros((Figure.TOKENIZERS, len(names)), np.int64)
    is_sum = figures < Figure.TOKENIZERS
    sums[figures[is_sum], row_groups[is_sum]] = counts[is_sum]
    yield from map(pa.array, sums)
    for tokenizer in range(tokenizers):
        here = figures == Figure.TOKENIZERS + tokenizer
        distribution = _Distributions(row_groups[here], numbers[here], counts[here], len(names))
        yield from distribution.columns(sums, context_limits)


class _Distributions:
    """How many documents of each group have how many tokens, sorted by both."""

    def __init__(self, groups: Numbers, tokens: Numbers, documents: Numbers, number: int) -> None:
        self._tokens, self._documents = tokens, documents
        self._first = np.searchsorted(groups, np.arange(number))
        self._end = np.append(self._first[1:], len(groups))
        self._upto = np.cumsum(documents)
        self._before = self._upto[self._first] - documents[self._first]

    def columns(self, sums: Numbers, context_limits: Sequence[int]) -> Iterator[_Column]:
        documents = sums[Figure.DOCUMENTS]
        tokens = self._sum()
        yield pa.array(tokens)
        yield pa.array(tokens / documents)
        for hundredths in QUANTILES:
            yield pa.array(self.quantile(documents, hundredths))
        yield pa.array(self._tokens[self._end - 1])
        yield _ratio(sums[Figure.CHARACTERS], tokens)
        yield _ratio(sums[Figure.BYTES], tokens)
        yield _ratio(tokens, sums[Figure.WORDS])
        for limit in context_limits:
            yield pa.array(np.add.reduceat(np.where(self._tokens > limit, self._documents, 0), self._first))

    def quantile(self, documents: Numbers, hundredths: int) -> Numbers:
        """Give the least count that is not less than those of so many hundredths of a group's documents."""
        rank = -(-documents * hundredths // 100)  # in whole numbers, so that no rounding moves it
        return self._tokens[np.searchsorted(self._upto, self._before + rank)]

    def _sum(self) -> Numbers:
        about = np.add.reduceat(self._tokens.astype(np.float64) * self._documents, self._first)
        if about.max() >= _MOST_TOKENS:
            raise InputError(f"about {about.max():.3g} tokens are more than 64 bits count: count fewer files at a time")
        return np.add.reduceat(self._tokens * self._documents, self._first)


def _ratio(above: Numbers, below: Numbers) -> _Column:
    with np.errstate(divide="ignore", invalid="ignore"):
        return pa.array(above / below, mask=below == 0)
