"""What a finished count tells the person who started it."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.progress import format_bytes, format_seconds
from pipelines.run_directory import RunDirectory

SUMMARY = "summary.parquet"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountSummary:
    """The figures of a count.

    Attributes:
        output: The run directory.
        record: Its ``run.json``.
        whole: The row of ``summary.parquet`` for the whole dataset, by column.
        already_finished: The directory held this run, finished; nothing was done.
    """

    output: str
    record: Mapping[str, Any]
    whole: Mapping[str, Any]
    already_finished: bool = False

    @classmethod
    def of(cls, directory: RunDirectory, *, already_finished: bool = False) -> "CountSummary":
        """Read the summary of a finished run."""
        with directory.files.open_parquet(SUMMARY) as table:
            [whole] = next(table.iter_batches(batch_size=1)).to_pylist()
        return cls(
            output=directory.files.root, record=directory.record(), whole=whole, already_finished=already_finished
        )

    @property
    def bad_records(self) -> int:
        """Records that were set aside."""
        return int(self.record["records"]["bad"])

    def lines(self) -> Iterator[str]:
        """Give the summary, a line at a time."""
        if self.already_finished:
            yield f"This run is finished already: {self.output}"
        else:
            yield f"Done in {format_seconds(self.record['seconds']['all'])}: {self.output}"
        whole = self.whole
        documents = f"{whole['documents']:,} ({format_bytes(whole['bytes'])} of text)"
        if whole["empty"]:
            documents += f", {whole['empty']:,} of them empty"
        if self.bad_records:
            documents += f"; bad records: {self.bad_records:,}, listed in bad_records/"
        if mended := self.record["records"]["mended"]:
            documents += f"; mended with U+FFFD: {mended:,}"
        yield f"  documents   {documents}"
        if not_nfc := self.record["records"]["not_nfc"]:
            yield f"  not NFC     {not_nfc:,} of them, counted as they are; in NFC their tokens are others"
        yield f"  characters  {whole['characters']:,}"
        yield f"  words       {whole['words']:,}"
        if self.record["options"]["group_by"]:
            yield f"  groups      {self.record['results']['groups']:,}, a row each in {SUMMARY}"
        yield ""
        yield from (f"  {line}" for line in _aligned(list(self._tokenizers())))

    def _tokenizers(self) -> Iterator[list[str]]:
        limits = self.record["options"]["context_limits"]
        over = [f"over {limit:,}" for limit in limits]
        yield ["tokenizer", "tokens", "mean", "p50", "p90", "p99", "max", "bytes/token", *over]
        for tokenizer in self.record["tokenizers"]:
            name = tokenizer["column"]
            figures = [f"{self.whole[f'{figure}_{name}']:,}" for figure in ("p50", "p90", "p99", "max")]
            per_token = self.whole[f"bytes_per_token_{name}"]
            yield [
                name,
                f"{self.whole[f'tokens_{name}']:,}",
                f"{self.whole[f'mean_{name}']:,.1f}",
                *figures,
                "-" if per_token is None else f"{per_token:.2f}",
                *(f"{self.whole[f'over_{limit}_{name}']:,}" for limit in limits),
            ]


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        yield "  ".join(cells)
