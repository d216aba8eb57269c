"""``tokenbeam train``: options into values, the job, the summary."""

import dataclasses
from typing import Any

import click

from pipelines.cli.grouped_help import GroupedCommand, option_group
from pipelines.cli.process import DONE, FAILED, configure_log
from pipelines.cli.sizes import Size
from pipelines.machine import usable_cores, usable_memory
from pipelines.progress import Talk, format_bytes
from pipelines.run_mode import RunMode
from tokenize_lib.errors import OptionError
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

_output = option_group("Output")
_vocabulary = option_group("Vocabulary")
_pretokens = option_group("Pretokens")
_variants = option_group("Variants of BPE")
_reading = option_group("Reading")
_running = option_group("Running")
_talking = option_group("Talking")

_DOC = """Train a tokenizer on text files and write it to a directory.

INPUT is a file, a directory or a quoted pattern: text, JSONL or Parquet, plain, .gz or .zst, on any filesystem that
Beam opens. What stands after -- goes to Beam.

\b
Examples:
  tokenbeam train corpus.txt -o tokenizer
  tokenbeam train 'shards/*.jsonl.zst' -o tokenizer --vocab-size 50000 --special-token '<|endoftext|>'
  tokenbeam train gs://bucket/corpus/ -o gs://bucket/tokenizer -- --runner DataflowRunner --project P --region R

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@_output("-o", "--output", metavar="DIR", required=True, help="Directory for the results; new or empty.")
@_output("--resume", is_flag=True, help="Go on with the run that was stopped there; the result is the same.")
@_output("--replace", is_flag=True, help="Remove what an earlier run wrote there, and nothing else; start anew.")
@_output("--dry-run", is_flag=True, help="Print what would be read and how, and stop. Reads no text.")
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
@_reading(
    "--format", default="auto", show_default=True, metavar="auto|text|jsonl|parquet", help="Auto goes by file names."
)
@_reading("--text-field", default="text", show_default=True, metavar="F", help="Field or column; a.b for nested ones.")
@_reading(
    "--document", default="line", show_default=True, metavar="line|file", help="What a document is in a text file."
)
@_reading(
    "--on-bad-record",
    default="fail",
    show_default=True,
    metavar="fail|skip|replace",
    help="Stop, set it aside, or mend it if it can be.",
)
@_reading("--null", default="bad", show_default=True, metavar="bad|empty", help="What a record is whose text is null.")
@_reading("--max-document-bytes", type=Size(), default="256MiB", show_default=True, help="Longer ones are bad.")
@_running("--memory", type=Size(), help="What this process may use, as 4GiB or 500M. Default: half the machine's.")
@_running("--workers", type=int, metavar="N", help="Threads at work. Default: the machine's cores.")
@_running(
    "--partitions",
    type=int,
    default=16,
    show_default=True,
    metavar="N",
    help="Files of the pretoken table; more of them use more workers of a cluster.",
)
@_talking("--quiet", is_flag=True, help="Only warnings and errors.")
@_talking("--debug", is_flag=True, help="Show Beam's log, and where an error arose.")
@click.pass_context
def train(ctx: click.Context, /, **given: Any) -> int:
    """Run the job that the options describe; give the exit code."""
    configure_log(debug=given["debug"])
    options = _train_options(given)
    mode = RunMode(resume=given["resume"], replace=given["replace"])
    if given["partitions"] < 1:
        raise OptionError(f"--partitions {given['partitions']} is too small: give at least 1")
    talk = Talk(quiet=given["quiet"])

    # Only now, as they load Beam: wrong options were found without.
    from pipelines.cli.dry_run import describe_plan  # noqa: PLC0415
    from pipelines.inputs import ReadOptions, plan_input  # noqa: PLC0415
    from pipelines.runner import RuntimeOptions, check_beam_args  # noqa: PLC0415

    beam_args = tuple(ctx.obj or ())
    check_beam_args(beam_args)
    names = ("format", "text_field", "document", "on_bad_record", "null", "max_document_bytes")
    read = ReadOptions(**{name: given[name] for name in names})
    runtime = RuntimeOptions(
        memory=given["memory"] or usable_memory() // 2,
        workers=given["workers"] if given["workers"] is not None else usable_cores(),
        beam_args=beam_args,
        debug=given["debug"],
    )
    if given["dry_run"]:
        running = {
            "output": given["output"],
            "workers": runtime.workers,
            "memory": format_bytes(runtime.memory),
            "partitions": given["partitions"],
            "beam": beam_args or "in this process",
        }
        plan = plan_input(given["inputs"], read)
        click.echo("\n".join(describe_plan(plan, running, {**options.as_dict(), **dataclasses.asdict(read)})))
        return DONE
    from pipelines.train import train as train_tokenizer  # noqa: PLC0415

    summary = train_tokenizer(
        given["inputs"], given["output"], options=options, read=read, runtime=runtime, mode=mode,
        partitions=given["partitions"], talk=talk,
    )  # fmt: skip
    for line in summary.lines():
        talk.say(line)
    if summary.vocabulary_reached:
        return DONE
    talk.warn(
        f"the vocabulary has {summary.vocab_size:,} entries, not {summary.wanted_vocab_size:,}: "
        f"no pair is left that counts --min-frequency {options.min_frequency}"
    )
    return FAILED if given["strict"] else DONE


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
