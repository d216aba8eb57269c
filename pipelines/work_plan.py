"""The prediction of ``tokenbeam plan``: the input as ``train`` and ``count`` list it, and what each step would take."""

import dataclasses
from collections.abc import Sequence

from pipelines.count_options import CountOptions
from pipelines.count_parts import part_bytes, plan_parts
from pipelines.input_formats import FormatShare, by_format
from pipelines.inputs import ReadOptions, plan_input
from pipelines.work_growth import Growth, sample_growth
from pipelines.work_steps import ABOUT, Work, WorkSetting, WorkStep, plan_counting, plan_training
from tokenize_lib.errors import OptionError
from tokenize_lib.training_options import PretokenizeOptions

__all__ = ["Prediction", "WorkSetting", "predict"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prediction:
    """What was listed, and what is thought to come of it.

    Attributes:
        inputs: The files by format, with the splits of training; of counting: `count_inputs`.
        count_inputs: The same files with the splits of counting; none where nothing is counted.
        text_bytes: Their text.
        distinct_pretokens: Rows of the pretoken table.
        growth: How that was worked out.
        training: The steps of training; none for chats, which are counted only.
        counting: The steps of counting; none without a tokenizer.
        setting: Where the work would be done.
        warnings: What the files show that the person who named them may not know.
    """

    inputs: list[FormatShare]
    count_inputs: list[FormatShare]
    text_bytes: float
    distinct_pretokens: float
    growth: Growth
    training: list[WorkStep]
    counting: list[WorkStep]
    setting: WorkSetting
    warnings: list[str]

    @property
    def sample_runs_low(self) -> bool:
        """Whether the growth is that of a sample smaller than the corpus."""
        return self.growth.is_sampled and self.text_bytes > ABOUT * self.growth.measured_text


def predict(  # noqa: PLR0913 - one call a command, all by name
    inputs: Sequence[str],
    read: ReadOptions,
    setting: WorkSetting,
    *,
    vocab_size: int,
    tokenizers: Sequence[str],
    sample: int | None,
    cut: PretokenizeOptions,
) -> Prediction:
    """List the input and predict each step.

    Args:
        inputs: Files, directories and globs.
        read: How they would be read.
        setting: Where the work would be done.
        vocab_size: Of the training.
        tokenizers: Of the count; none: it is left out.
        sample: Bytes of text to read for the growth of the table; None: it is that of the measured mix.
        cut: Where the sample is cut.

    Raises:
        TokenbeamError: An input or a tokenizer cannot be used; see its class.
    """
    is_chat = read.format == "chat"
    if is_chat and not tokenizers:
        raise OptionError("--format chat is for count alone: name what it would count with, as --tokenizer o200k_base")
    counters = CountOptions.load(tokenizers).describe() if tokenizers else []
    plan = plan_input(inputs, read)
    warnings = list(plan.warnings())
    if is_chat and sample is not None:
        warnings.append("--sample is left out: chats are planned by the bytes of their files, and not read")
    sampled = None if is_chat else sample
    growth = Growth.of_runs() if sampled is None else sample_growth(plan, read, cut, sampled)
    work = Work.of(plan, [sum(split.work for split in group) for group in plan.groups()], growth)
    counting: list[WorkStep] = []
    count_inputs: list[FormatShare] = []
    if counters:
        count_plan = plan_input(inputs, read, split_bytes=part_bytes)
        count_inputs = by_format(count_plan)
        parts = Work.of(count_plan, [part.work for part in plan_parts(count_plan)], growth, is_chat=is_chat)
        counting = list(plan_counting(parts, setting, [(found["name"], found["backend"]) for found in counters]))
    return Prediction(
        inputs=by_format(plan),
        count_inputs=count_inputs,
        text_bytes=work.text_bytes,
        distinct_pretokens=work.distinct,
        growth=growth,
        training=[] if is_chat else list(plan_training(work, setting, vocab_size=vocab_size)),
        counting=counting,
        setting=setting,
        warnings=warnings,
    )
