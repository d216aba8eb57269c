"""``tokenbeam train``: options into values, the job, the summary."""

import dataclasses
from typing import Any

import click

from pipelines.cli.grouped_help import GroupedCommand, option_group
from pipelines.cli.process import DONE, configure_log
from pipelines.cli.shared_options import (
    READING,
    bad_records_code,
    max_bad_records_option,
    output_options,
    reading_options,
    refuse_negative_bad_records,
    running_options,
    runtime_options,
    talking_options,
)
from pipelines.progress import Talk
from pipelines.run_mode import RunMode
from tokenize_lib.errors import OptionError, TokenbeamError
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

_vocabulary = option_group("Vocabulary")
_pretokens = option_group("Pretokens")
_variants = option_group("Variants of BPE")
_running = option_group("Running")

_MOST_PARTITIONS = 4096  # so many files take half a minute to open and write alone, and no cluster has more workers

_DOC = """Train a tokenizer on text files and write it to a directory.

INPUT is a file, a directory or a quoted pattern: text, JSONL or Parquet, plain, .gz or .zst, on any filesystem that
Beam opens. What stands after -- goes to Beam.

\b
Examples:
  tokenbeam train corpus.txt -o tokenizer
  tokenbeam train 'shards/*.jsonl.zst' -o tokenizer --vocab-size 50000 --special-token '<|endoftext|>'
  tokenbeam train gs://bucket/corpus/ -o gs://bucket/tokenizer -- --runner DataflowRunner --project P --region R

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but with more than --max-bad-records, 130 stopped by
Ctrl-C, 143 by SIGTERM.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@output_options
@_vocabulary("--model", default="bpe", show_default=True, metavar="bpe", help="What to train.")
@_vocabulary("--vocab-size", type=int, default=32_000, show_default=True, metavar="N", help="Entries in all.")
@_vocabulary(
    "--special-token",
    "special_tokens",
    multiple=True,
    metavar="TEXT",
    help="A text that is one token, cut out first and never merged. Repeatable; ids from 0 in this order.",
)
@_vocabulary("--min-frequency", type=int, default=2, show_default=True, metavar="N", help="Rarer pairs stay apart.")
@_vocabulary("--max-token-length", type=int, metavar="N", help="Longest token: bytes, or code points for characters.")
@_vocabulary("--strict", is_flag=True, help="Exit code 1 when the corpus gives fewer entries than asked.")
@_pretokens(
    "--pretokenizer",
    default="o200k",
    show_default=True,
    metavar="NAME",
    help=(
        "Where text is cut before merging: gpt2, cl100k, o200k, whitespace, bert, metaspace, space-prefixed, none, "
        "or regex:PATTERN."
    ),
)
@_pretokens(
    "--normalize",
    default="none",
    show_default=True,
    metavar="none|nfc|nfd|nfkc|nfkd",
    help="Unicode normalization first; none keeps the text as it is.",
)
@_pretokens("--lowercase", is_flag=True, help="Lower-case the text first.")
@_variants("--alphabet", default="bytes", show_default=True, metavar="bytes|characters", help="What is merged.")
@_variants("--unk-token", metavar="TEXT", help="Stands for characters outside the alphabet.")
@_variants(
    "--character-coverage",
    type=float,
    default=1.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the corpus' characters that the alphabet keeps; the rest is --unk-token.",
)
@_variants("--end-of-word", metavar="TEXT", help="Mark for the end of a pretoken, such as '</w>'.")
@_variants("--end-of-word-mark", metavar="attached|separate", help="To the last character, or a symbol of its own.")
@_variants("--continuing-prefix", metavar="TEXT", help="Mark of a symbol that does not begin a pretoken: '##'.")
@_variants(
    "--tie-break",
    default="ids",
    show_default=True,
    metavar="ids|first-seen",
    help="Which of equal pairs is first: by smallest ids, or by place in the corpus.",
)
@reading_options
@max_bad_records_option
@running_options
@_running(
    "--partitions",
    type=int,
    default=16,
    show_default=True,
    metavar="N",
    help="Files of the pretoken table; more of them use more workers of a cluster.",
)
@_running(
    "--rounds-per-job",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Merge rounds in one job, for runners whose jobs take long to start; workers then merge, too.",
)
@talking_options
@click.pass_context
def train(ctx: click.Context, /, **given: Any) -> int:
    """Run the job that the options describe; give the exit code."""
    configure_log(debug=given["debug"])
    options = _train_options(given)
    refuse_negative_bad_records(given["max_bad_records"])
    mode = RunMode(resume=given["resume"], replace=given["replace"])
    if given["partitions"] < 1:
        raise OptionError(f"--partitions {given['partitions']} is too small: give at least 1")
    if given["partitions"] > _MOST_PARTITIONS:
        raise OptionError(
            f"--partitions {given['partitions']} is too large: each is a file; give at most {_MOST_PARTITIONS}"
        )
    talk = Talk(quiet=given["quiet"])

    # Only now, as they load Beam: wrong options were found without.
    from pipelines.cli.dry_run import print_plan  # noqa: PLC0415
    from pipelines.inputs import ReadOptions, plan_input  # noqa: PLC0415

    runtime = runtime_options(ctx, given, talk)
    if given["format"] == "chat":
        raise OptionError("--format chat is for tokenbeam count: train on the text of a field, as --format jsonl")
    read = ReadOptions(**{name: given[name] for name in READING})
    if given["dry_run"]:
        plan = plan_input(given["inputs"], read, output=given["output"])
        print_plan(plan, given, runtime, {**options.as_dict(), **dataclasses.asdict(read)}, talk)
        return DONE
    from pipelines.train import train as train_tokenizer  # noqa: PLC0415

    summary = train_tokenizer(
        given["inputs"], given["output"], options=options, read=read, runtime=runtime, mode=mode,
        partitions=given["partitions"], talk=talk,
    )  # fmt: skip
    for line in summary.lines():
        talk.say(line)
    if not summary.vocabulary_reached:
        lacking = (
            f"the vocabulary has {summary.vocab_size:,} entries, not {summary.wanted_vocab_size:,}: "
            f"no pair is left that counts --min-frequency {options.min_frequency}"
        )
        if given["strict"]:
            raise TokenbeamError(f"{lacking} (--strict); all is written to {given['output']} even so")
        talk.warn(lacking)
    return bad_records_code(summary.bad_records, given["max_bad_records"], talk)


def _train_options(given: dict[str, Any]) -> TrainOptions:
    names = (
        "model",
        "vocab_size",
        "alphabet",
        "unk_token",
        "character_coverage",
        "end_of_word",
        "end_of_word_mark",
        "continuing_prefix",
        "max_token_length",
        "min_frequency",
        "tie_break",
    )
    pretokenize = PretokenizeOptions(
        pretokenizer=given["pretokenizer"],
        normalize=given["normalize"],
        lowercase=given["lowercase"],
        special_tokens=tuple(given["special_tokens"]),
    )
    return TrainOptions(**{name: given[name] for name in names}, pretokenize=pretokenize)
