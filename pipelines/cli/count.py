"""``tokenbeam count``: options into values, the job, the summary."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import click

from pipelines.cli.cost_options import cost_options, pricing_options, refuse_without_model
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

_output = option_group("Output")
_counting = option_group("Counting")

_DOC = """Count the tokens of every document in files of text, by any number of tokenizers in one pass.

INPUT is a file, a directory or a quoted pattern: text, JSONL or Parquet, plain, .gz or .zst, on any filesystem that
Beam opens. What stands after -- goes to Beam. The directory gets documents/, a row a document with its counts and
nothing of its text, and summary.parquet, a row a group; with --model also costs.parquet, and the costs are printed.

\b
Examples:
  tokenbeam count corpus.jsonl -o counts --tokenizer o200k_base
  tokenbeam count 'shards/*.parquet' -o counts --tokenizer cl100k_base --tokenizer my-tokenizer/ --group-by language
  tokenbeam count mail.jsonl.gz -o counts --model gpt-4o --id-field id --context-limit 8192 --on-bad-record skip

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but with more than --max-bad-records, 130 stopped by
Ctrl-C, 143 by SIGTERM.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@output_options
@_output(
    "--incremental",
    metavar="PREVIOUS_DIR",
    help="An earlier run: rows of files that are as they were then are taken from it, only the others are counted.",
)
@_counting(
    "--tokenizer",
    "tokenizers",
    several=True,
    metavar="NAME|PATH...",
    help=(
        "An encoding (o200k_base, cl100k_base, p50k_base, r50k_base), chars, words, bytes, the directory of a "
        "training, or a tokenizer.json, .tiktoken or sentencepiece .model file. Repeatable."
    ),
)
@_counting("--model", "models", several=True, metavar="M...", help="Count as these models do, and price.")
@_counting("--pretokenizer", metavar="NAME", help="Where a .tiktoken file's text is cut, as in tokenbeam train.")
@_counting("--id-field", metavar="F", help="Field or column to keep as each document's id; a.b for nested ones.")
@_counting(
    "--group-by", multiple=True, metavar="F", help="Field or column to keep, and to sum up by. Repeatable: together."
)
@_counting(
    "--context-limit",
    "context_limits",
    multiple=True,
    type=int,
    metavar="N",
    help="Count the documents of more than N tokens. Repeatable.",
)
@pricing_options
@reading_options
@max_bad_records_option
@running_options
@talking_options
@click.pass_context
def count(ctx: click.Context, /, **given: Any) -> int:
    """Run the job that the options describe; give the exit code."""
    configure_log(debug=given["debug"])
    mode = RunMode(resume=given["resume"], replace=given["replace"])
    refuse_negative_bad_records(given["max_bad_records"])
    talk = Talk(quiet=given["quiet"])

    # Only now, as they load Beam and tokenizers: wrong options were found without.
    from pipelines.splits import ReadOptions  # noqa: PLC0415

    read = ReadOptions(
        **{name: given[name] for name in READING}, id_field=given["id_field"], group_by=tuple(given["group_by"])
    )
    refuse_without_model(ctx)
    # Importing Beam keeps one core busy for most of a second; meanwhile another one hashes, and makes tokenizers.
    hashing = None
    if not (ctx.obj or given["dry_run"] or given["incremental"]):
        from pipelines.input_hashes import InputHashes  # noqa: PLC0415

        hashing = InputHashes.ahead(given["inputs"], given["output"])
    from pipelines.count_options import CountOptions  # noqa: PLC0415

    cost, specs = None, list(given["tokenizers"])
    if given["models"]:
        from pipelines.dataset_costs import find_models  # noqa: PLC0415

        cost = cost_options(given)
        specs += [model.count_with for model in find_models(cost)]
    load = partial(CountOptions.load, specs, context_limits=given["context_limits"], pretokenizer=given["pretokenizer"])
    with ThreadPoolExecutor(1) as pool:
        # Those that Beam opens need to know what stands behind -- first.
        loading = None if any("://" in spec for spec in specs) else pool.submit(load)
        runtime = runtime_options(ctx, given, talk)
        from pipelines.count import count as count_tokens  # noqa: PLC0415

        options = load() if loading is None else loading.result()
    if given["dry_run"]:
        from pipelines.cli.dry_run import print_plan  # noqa: PLC0415
        from pipelines.count_parts import part_bytes  # noqa: PLC0415
        from pipelines.inputs import plan_input  # noqa: PLC0415

        plan = plan_input(given["inputs"], read, split_bytes=part_bytes, output=given["output"])
        print_plan(plan, given, runtime, {**options.as_dict(), **dataclasses.asdict(read)}, talk)
        return DONE
    summary = count_tokens(
        given["inputs"], given["output"], options=options, read=read, runtime=runtime, mode=mode, talk=talk,
        incremental=given["incremental"], hashing=hashing,
    )  # fmt: skip
    for line in summary.lines():
        talk.say(line)
    if cost is not None:
        from pipelines.cost_report import read_costs, table_lines  # noqa: PLC0415
        from pipelines.dataset_costs import price_dataset  # noqa: PLC0415

        for line in table_lines(read_costs(price_dataset(given["output"], cost, talk))):
            click.echo(line)
    return bad_records_code(summary.bad_records, given["max_bad_records"], talk)
