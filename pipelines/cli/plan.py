"""``tokenbeam plan``: options into values, the prediction to standard output."""

from typing import Any

import click

from pipelines.cli.config_file import config_option
from pipelines.cli.grouped_help import GroupedCommand, option_group
from pipelines.cli.process import DONE, configure_log
from pipelines.cli.shared_options import READING, reading_options
from pipelines.cli.sizes import Size
from pipelines.machine import usable_cores, usable_memory
from pipelines.progress import Talk, format_size
from pipelines.work_figures import PROGRAM_BYTES
from tokenize_lib.errors import OptionError

_work = option_group("Work")
_cluster = option_group("Where")
_output = option_group("Output")
_talking = option_group("Talking")

_DOC = """Predict what train and count would take: time, shuffle, disk and memory of each step.

INPUT is listed as train and count list it. No text is read, unless --sample says how much. Each step is marked as
measured, if the corpus is within the sizes that the figures were measured on, or as extrapolated. Chats are planned by
the bytes of their files.

\b
Examples:
  tokenbeam plan 'shards/*.jsonl.zst' --workers 32 --worker-memory 2GiB
  tokenbeam plan corpus/ --sample 64MiB --tokenizer o200k_base --output-format json
  tokenbeam plan gs://bucket/corpus/ --workers 200 --memory 64GiB --worker-memory 4GiB --job-seconds 180

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@_work("--vocab-size", type=int, default=32_000, show_default=True, metavar="N", help="Of train.")
@_work(
    "--tokenizer",
    "tokenizers",
    several=True,
    metavar="NAME|PATH...",
    help="Of count, which is left out without one. Repeatable.",
)
@_work(
    "--sample",
    type=Size(),
    help="Read so much of the text to see how fast its distinct pretokens grow. Default: nothing, take it for a mix.",
)
@_work("--pretokenizer", default="o200k", show_default=True, metavar="NAME", help="Where the sample is cut.")
@_cluster("--workers", type=int, metavar="N", help="Threads, or slots of a cluster. Default: the machine's cores.")
@_cluster("--memory", type=Size(), help="What the driver may use, as 64GiB. Default: half the machine's.")
@_cluster("--worker-memory", type=Size(), help="What each slot of a cluster may use. Default: threads of the driver.")
@_cluster("--partitions", type=int, default=16, show_default=True, metavar="N", help="Files of the pretoken table.")
@_cluster("--rounds-per-job", type=int, default=1, show_default=True, metavar="N", help="Rounds of train in a job.")
@_cluster(
    "--job-seconds",
    type=float,
    metavar="S",
    help="What starting a job takes: 0.3 in this process, on Flink about 5, on Dataflow minutes. Default: 0.3.",
)
@reading_options
@config_option
@_output(
    "--output-format",
    default="table",
    show_default=True,
    type=click.Choice(["table", "json"]),
    help="Of standard output.",
)
@_talking("--quiet", is_flag=True, help="Only the prediction, warnings and errors.")
@_talking("--debug", is_flag=True, help="Show where an error arose.")
def plan(**given: Any) -> int:
    """Predict what the options describe; give the exit code."""
    configure_log(debug=given["debug"])
    _refuse_too_small(given)
    # Only now, as they load Beam and Arrow: wrong options were found without.
    from pipelines import work_report  # noqa: PLC0415
    from pipelines.inputs import ReadOptions  # noqa: PLC0415
    from pipelines.work_plan import WorkSetting, predict  # noqa: PLC0415
    from tokenize_lib.training_options import PretokenizeOptions  # noqa: PLC0415

    setting = WorkSetting(
        workers=given["workers"] if given["workers"] is not None else usable_cores(),
        memory=given["memory"] or usable_memory() // 2,
        **{name: given[name] for name in ("worker_memory", "partitions", "rounds_per_job")},
        **({} if given["job_seconds"] is None else {"job_seconds": given["job_seconds"]}),
    )
    found = predict(
        given["inputs"],
        ReadOptions(**{name: given[name] for name in READING}),
        setting,
        vocab_size=given["vocab_size"],
        tokenizers=given["tokenizers"],
        sample=given["sample"],
        cut=PretokenizeOptions(pretokenizer=given["pretokenizer"]),
    )
    talk = Talk(quiet=given["quiet"])
    for warning in found.warnings:
        talk.warn(warning)
    formats = {"table": work_report.table_lines, "json": work_report.json_lines}
    for line in formats[given["output_format"]](found):
        click.echo(line)
    return DONE


def _refuse_too_small(given: dict[str, Any]) -> None:
    for name in ("workers", "vocab_size", "partitions", "rounds_per_job"):
        if given[name] is not None and given[name] < 1:
            raise OptionError(f"--{name.replace('_', '-')} {given[name]} is too small: give at least 1")
    needed, of_worker = PROGRAM_BYTES, given["worker_memory"]
    if of_worker is not None and of_worker < needed:
        raise OptionError(
            f"--worker-memory {format_size(of_worker)} is less than the program itself takes in a worker: give "
            f"{format_size(needed)} or more"
        )
    if given["job_seconds"] is not None and not given["job_seconds"] >= 0:
        raise OptionError(f"--job-seconds {given['job_seconds']} is negative: give 0 or more")
