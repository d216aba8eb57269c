"""What the trainers are asked to train."""

import dataclasses
from pathlib import Path

MIN_FREQUENCY = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """Byte-level BPE on one corpus.

    Attributes:
        lines: The corpus as plain text, a document a line.
        records: The same as JSONL, each document with the line feed that ends it.
        output: Directory for what a trainer leaves.
        pretokenizer: ``gpt2`` or ``none``.
        merge_count: How many merges to make; the vocabulary is larger by the start alphabet.
        seen_bytes: Distinct bytes in the corpus.
    """

    lines: str
    records: str
    output: str
    pretokenizer: str
    merge_count: int
    seen_bytes: int

    def path(self, name: str) -> Path:
        """A file or directory in ``output``."""
        return Path(self.output) / name
