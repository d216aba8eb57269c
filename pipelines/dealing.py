"""How a list that the driver knows becomes elements that workers share."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import msgspec

from pipelines.run_files import PLANNED, RunFiles


@dataclasses.dataclass(frozen=True)
class DealtFile:
    """Elements in a file of the run, one a line as JSON: a graph holds its name, however many they are.

    Runners send a graph whole, and refuse a large one: Dataflow takes 10 MB.

    Attributes:
        files: The run's files.
        name: The file's name among them.
        kind: The type of an element: dataclasses, tuples and plain values.
    """

    files: RunFiles
    name: str
    kind: Any

    @classmethod
    def write(cls, files: RunFiles, name: str, elements: Iterable[Any], kind: Any) -> "DealtFile":
        """Write elements for workers to read.

        Args:
            files: The run's files.
            name: What the file is called under `PLANNED`.
            elements: The elements, in the order in which they are dealt.
            kind: Their type.
        """
        dealt = cls(files, f"{PLANNED}/{name}", kind)
        encoder = msgspec.json.Encoder()
        files.write_bytes(dealt.name, b"".join(encoder.encode(element) + b"\n" for element in elements))
        return dealt

    def read(self) -> Iterator[Any]:
        """Give the elements back, in their order."""
        decoder = msgspec.json.Decoder(self.kind)
        for line in self.files.read_bytes(self.name).splitlines():
            yield decoder.decode(line)


class Deal(beam.PTransform):  # type: ignore[misc]
    """Deals elements out to the workers in turn: give the largest first.

    As ``Create`` and ``Reshuffle``, in a third of their steps: for short jobs, building and starting steps is what
    takes the time.

    Args:
        elements: A few elements, which the graph then holds, or a file of any number of them.
    """

    def __init__(self, elements: Sequence[Any] | DealtFile) -> None:
        super().__init__()
        self._elements = elements if isinstance(elements, DealtFile) else tuple(elements)

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
    def __init__(self, elements: tuple[Any, ...] | DealtFile) -> None:
        self._elements = elements

    def process(self, _: bytes) -> Iterator[tuple[int, Any]]:
        yield from enumerate(self._elements.read() if isinstance(self._elements, DealtFile) else self._elements)


class _Take(beam.DoFn):  # type: ignore[misc]
    def process(self, share: tuple[int, Iterable[Any]]) -> Iterator[Any]:
        yield from share[1]
