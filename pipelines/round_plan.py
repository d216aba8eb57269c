"""What a merge round knows: the setting that all rounds share, the plan of one, and what its workers find out.

The steps of a round are in a graph that was built before anything was known of the rounds before it. So a step holds
the setting alone, which is small whatever the corpus is, and a `RoundPlan` comes to it as an element. All that grows
with the corpus is in tables that setting and plan name.

A cluster may repeat a part of a step that had ended, as its output went with a machine. What is repeated gets other
names, and some readers may have met the old ones. Therefore what a step finds out is a function of the table and the
setting alone, never of names, bundles or order: the old and the new then mean the same, and readers may mix them.
"""

import dataclasses
import json
from typing import Any, Self, cast

import pyarrow as pa

from pipelines.memory import MemoryShares
from pipelines.partial_tables import PartialTable, concatenated, read_partial_table
from pipelines.run_files import WORK, RunFiles
from tokenize_lib.merge_rounds import MERGES, MergeState, Threshold
from tokenize_lib.start_alphabet import StartAlphabet
from tokenize_lib.training_options import TrainOptions

ROUND_FOLDERS = f"{WORK}/round-"
_ALPHABET = f"{WORK}/alphabet.json"


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """A row group of the pretoken table: pretokens, not encoded yet."""

    name: str
    number: int


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of the table: pretokens, or their symbols as an earlier round left them.

    Attributes:
        number: From 0, by its place in the pretoken table; it keeps it through all rounds.
        pretokens: Rows that are not encoded yet.
        symbols: Rows that are.
    """

    number: int
    pretokens: RowGroup | None = None
    symbols: PartialTable | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundSetting:
    """What the rounds of a job share, wherever they run.

    Attributes:
        files: The run's files.
        options: What is trained.
        rows_a_sample: A row of so many goes into the sample that decides the threshold.
        partitions: Into how many parts pairs and segments are dealt.
        shares: What worker and driver may hold. The one who merges counts as the driver.
        step: The name under which progress is told, in pieces, each counted twice a round: for its pairs and for its
            segments.
        number: Which round a step belongs to.
    """

    files: RunFiles
    options: TrainOptions
    rows_a_sample: int
    partitions: int
    shares: MemoryShares
    step: str
    number: int

    @property
    def folder(self) -> str:
        """Where in the run's files the round's own lie."""
        return f"{ROUND_FOLDERS}{self.number:04d}"

    def of_round(self, number: int) -> Self:
        """The setting for the steps of a round."""
        return dataclasses.replace(self, number=number)

    def write_alphabet(self, alphabet: StartAlphabet) -> None:
        """Write it for `alphabet`: with characters it may be too large for a graph."""
        content = {
            "symbols": [symbol.hex() for symbol in alphabet.symbols],
            "characters": alphabet.characters,
            "forms": alphabet.forms,
        }
        self.files.write_bytes(_ALPHABET, json.dumps(content).encode())

    def alphabet(self) -> StartAlphabet:
        """Read the start alphabet."""
        found = self.files.read_json(_ALPHABET)
        return StartAlphabet(
            self.options,
            tuple(bytes.fromhex(symbol) for symbol in found["symbols"]),
            tuple(found["characters"]),
            tuple(found["forms"]),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """What a round needs to know of the rounds before it.

    Attributes:
        merges: All merges so far, as `tokenize_lib.merge_rounds.MERGES`; None before the first.
        made: How many they are.
        encoded: How many of them the pieces hold already.
        tokens: A table with the length and the width of every token by id; None where nothing asks for it.
        ceiling: The threshold must be under this.
        correction: What part of its estimate the table of the round before turned out to be.
        started: When the round began, in seconds since 1970.
    """

    merges: PartialTable | None
    made: int
    encoded: int
    tokens: PartialTable | None
    ceiling: int
    correction: float
    started: float

    @property
    def encodes(self) -> bool:
        """Whether there are merges that the pieces do not hold yet."""
        return self.made > self.encoded

    def read_merges(self, files: RunFiles) -> pa.Table:
        """Read all merges so far."""
        if self.merges is None:
            return MERGES.empty_table()
        return pa.Table.from_batches(read_partial_table(files, self.merges), MERGES)

    def new_merges(self, files: RunFiles) -> pa.RecordBatch:
        """Read the merges that the pieces do not hold yet; there must be some."""
        fresh = self.read_merges(files).slice(self.encoded).select(["left", "right"])
        return concatenated(fresh.to_batches())

    def state(self, setting: RoundSetting) -> MergeState:
        """Read what there is to know before the round."""
        return MergeState(setting.alphabet(), self.read_merges(setting.files))

    def token_column(self, files: RunFiles, name: str) -> "pa.UInt32Array | None":
        """The length or the width of every token, if it was asked for."""
        if self.tokens is None:
            return None
        sizes: Any = pa.Table.from_batches(read_partial_table(files, self.tokens))[name].combine_chunks()
        return cast("pa.UInt32Array", sizes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """How a round is cut.

    Attributes:
        plan: Of the round.
        threshold: Where it is cut.
        pairs: Tables of the pairs that may still be merged.
        live: The live ones of them; None where there are none.
        bytes: Of the partial tables that were summed so far.
    """

    plan: RoundPlan
    threshold: Threshold
    pairs: tuple[PartialTable, ...]
    live: PartialTable | None
    bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoundResult:
    """What a round's workers leave to the one who merges.

    Attributes:
        decision: What was decided.
        segments: Tables of the summed segments.
        segment_rows: Distinct segments.
        segment_symbols: Symbols in them.
        bytes_shuffled: Bytes of the partial tables that were summed.
        pieces: The table with the symbols that the round began with.
    """

    decision: Decision
    segments: tuple[PartialTable, ...]
    segment_rows: int
    segment_symbols: int
    bytes_shuffled: int
    pieces: tuple[Piece, ...]

    @property
    def plan(self) -> RoundPlan:
        """What the round knew."""
        return self.decision.plan

    @property
    def threshold(self) -> Threshold:
        """Where it was cut."""
        return self.decision.threshold
