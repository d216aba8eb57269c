"""Merge rounds as one pipeline, with the merging between two of them a step: jobs may take minutes to start."""

import dataclasses
from collections.abc import Iterator

import apache_beam as beam
import msgspec

from pipelines.dealing import DealtFile
from pipelines.merge_round import Keyed, MergeRound, round_elements
from pipelines.round_merging import finish_round, plan_round
from pipelines.round_plan import RoundPlan, RoundResult, RoundSetting


@dataclasses.dataclass(frozen=True)
class RoundJob:
    """Some rounds, one after the other, in one pipeline. The last of them is left to the driver to merge.

    Attributes:
        setting: Of the first round.
        plan: Of the first round.
        pieces: The table.
        rounds: How many rounds there are at most; training may end before.
        name: Unlike that of any other job of the run.
    """

    setting: RoundSetting
    plan: RoundPlan
    pieces: DealtFile
    rounds: int
    name: str

    @property
    def last(self) -> RoundSetting:
        """The setting of the last round."""
        return self.setting.of_round(self.setting.number + self.rounds - 1)

    @property
    def _result(self) -> str:
        return f"{self.last.folder}/result-{self.name}.json"

    def build(self, pipeline: beam.Pipeline) -> None:
        """Apply the rounds to a pipeline. Its size depends on their number alone, not on the table."""
        elements = pipeline | "Once" >> beam.Impulse() | "Begin" >> beam.ParDo(_Begin(self.plan, self.pieces))
        for number in range(self.setting.number, self.last.number):
            setting = self.setting.of_round(number)
            result = elements | f"Round {number}" >> MergeRound(setting)
            elements = result | f"Merges of round {number}" >> beam.ParDo(_Merge(setting))
        result = elements | f"Round {self.last.number}" >> MergeRound(self.last)
        _ = result | "Write the result" >> beam.ParDo(_WriteResult(self.last, self._result))

    def result(self) -> RoundResult | None:
        """Read what the last round left; None when training ended before it."""
        files = self.setting.files
        if not files.exists(self._result):
            return None
        return msgspec.json.decode(files.read_bytes(self._result), type=RoundResult)


class _Begin(beam.DoFn):  # type: ignore[misc]
    """Gives the first round what it begins with."""

    def __init__(self, plan: RoundPlan, pieces: DealtFile) -> None:
        self._plan = plan
        self._pieces = pieces

    def process(self, _: bytes) -> Iterator[Keyed]:
        yield from round_elements(self._plan, self._pieces.read())


class _Merge(beam.DoFn):  # type: ignore[misc]
    """Merges a round and plans the next; nothing comes out when there is none.

    A repeated attempt makes the same merges of the same segments, keeps them in the same file, and plans a round that
    differs in the names of its tables alone. So it does no harm that some workers may go by the earlier plan.
    """

    def __init__(self, setting: RoundSetting) -> None:
        self._setting = setting

    def process(self, result: RoundResult) -> Iterator[Keyed]:
        state = result.plan.state(self._setting)
        merged = finish_round(self._setting, state, result, lambda _: None)
        after = state.and_then(merged.merges)
        if not merged.was_last(after):
            following = self._setting.of_round(self._setting.number + 1)
            plan = plan_round(following, after, merged, encoded=result.plan.made)
            yield from round_elements(plan, result.pieces)


class _WriteResult(beam.DoFn):  # type: ignore[misc]
    """Writes what the driver needs to go on."""

    def __init__(self, setting: RoundSetting, name: str) -> None:
        self._setting = setting
        self._name = name

    def process(self, result: RoundResult) -> Iterator[None]:
        self._setting.files.write_bytes(self._name, msgspec.json.encode(result))
        yield from ()
