"""Reads files through plan and splits, for tests to hold against values they know."""

from dataclasses import dataclass, field
from pathlib import Path

from pipelines.bad_records import number_bad_records
from pipelines.document_batches import SplitBad, ipc_bytes
from pipelines.documents import BadRecords, DocumentBatch, Tally, read_splits
from pipelines.inputs import SPLIT_BYTES, ReadOptions, plan_input


@dataclass
class Read:
    documents: list[tuple[str, int, bytes, list[str | None]]] = field(
        default_factory=list
    )  # path, position, text, fields
    tallies: list[Tally] = field(default_factory=list)
    bad: list[dict] = field(default_factory=list)
    consumed: int = 0

    @property
    def texts(self) -> list[bytes]:
        return [text for _, _, text, _ in self.documents]

    @property
    def positions(self) -> list[int]:
        return [position for _, position, _, _ in self.documents]

    def sum(self, name: str) -> int:
        return sum(getattr(tally, name) for tally in self.tallies)


def read(*paths: Path | str, split_bytes: int = SPLIT_BYTES, block_bytes: int = 8 << 20, **options: object) -> Read:
    read_options = ReadOptions(**options)
    plan = plan_input([str(path) for path in paths], read_options, split_bytes=split_bytes)
    result, bad = Read(), []

    def advance(*, bytes: int, documents: int) -> None:  # noqa: A002, ARG001
        result.consumed += bytes

    for group in plan.groups():
        for item in read_splits(group, read_options, block_bytes=block_bytes, advance=advance):
            if isinstance(item, Tally):
                result.tallies.append(item)
            elif isinstance(item, BadRecords):
                bad.append(SplitBad(item.source, item.start, plan.files[item.source].path, ipc_bytes(item.records)))
            else:
                result.documents += rows_of(plan.files[item.source].path, item)
    result.documents.sort(key=lambda document: document[:2])
    result.bad = number_bad_records(result.tallies, bad).to_pylist()
    return result


def rows_of(path: str, batch: DocumentBatch) -> list[tuple[str, int, bytes, list[str | None]]]:
    fields = [column.to_pylist() for column in batch.fields]
    columns = zip(batch.positions.to_pylist(), batch.texts.to_pylist(), strict=True)
    return [(path, position, text, [column[at] for column in fields]) for at, (position, text) in enumerate(columns)]
