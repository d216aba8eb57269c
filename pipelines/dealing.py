"""How a list that the driver knows becomes elements that workers share."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam


class Deal(beam.PTransform):  # type: ignore[misc]
    """Deals elements out to the workers in turn: give the largest first.

    As ``Create`` and ``Reshuffle``, in a third of their steps: for short jobs, building and starting steps is what
    takes the time.
    """

    def __init__(self, elements: Sequence[Any]) -> None:
        super().__init__()
        self._elements = tuple(elements)

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        """Without the grouping, all elements would stay with the one worker that made them."""
        return (
            begin
            | "Once" >> beam.Impulse()
            | "Number" >> beam.ParDo(_Number(self._elements))
            | "Share out" >> beam.GroupByKey()
            | "Take" >> beam.ParDo(_Take())
        )


class _Number(beam.DoFn):  # type: ignore[misc]
    def __init__(self, elements: tuple[Any, ...]) -> None:
        self._elements = elements

    def process(self, _: bytes) -> Iterator[tuple[int, Any]]:
        yield from enumerate(self._elements)


class _Take(beam.DoFn):  # type: ignore[misc]
    def process(self, share: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        yield from share[1]
