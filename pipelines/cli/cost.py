"""``tokenbeam cost``: options into values, the costs to a file and to standard output."""

from typing import Any

import click

from pipelines.cli.config_file import config_option
from pipelines.cli.cost_options import cost_options, pricing_options
from pipelines.cli.grouped_help import GroupedCommand, option_group
from pipelines.cli.process import DONE, configure_log
from pipelines.progress import Talk
from tokenize_lib.errors import OptionError

_output = option_group("Output")
_talking = option_group("Talking")

_DOC = """Price a counted dataset for one model or several.

COUNTS_DIR is a directory of tokenbeam count; the corpus is not read again. A document is one request: prices that rise
with the length of a request are applied to each by itself. The costs go to COUNTS_DIR/costs.parquet and, as a table, to
standard output.

\b
Examples:
  tokenbeam cost counts --model gpt-4o --model gpt-4o-mini --output-tokens 500
  tokenbeam cost counts --model claude-sonnet-4-5 --tokenizer-for claude-sonnet-4-5=o200k_base --batch
  tokenbeam cost counts --model gpt-4o --prompt-tokens 800 --output-ratio 0.3 --cached-share 40% --format csv

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("counts_dir", metavar="COUNTS_DIR")
@_output("--model", "models", several=True, required=True, metavar="NAME...", help="Models to price.")
@_output(
    "-o",
    "--output",
    metavar="FILE",
    help="Parquet file for the costs; older costs are replaced. Default: COUNTS_DIR/costs.parquet.",
)
@_output(
    "--format",
    default="table",
    show_default=True,
    type=click.Choice(["table", "csv", "json"]),
    help="Of standard output.",
)
@pricing_options
@config_option
@_talking("--quiet", is_flag=True, help="Only the costs, warnings and errors.")
@_talking("--debug", is_flag=True, help="Show where an error arose.")
def cost(**given: Any) -> int:
    """Price what the options describe; give the exit code."""
    configure_log(debug=given["debug"])
    for name, path in (("COUNTS_DIR", given["counts_dir"]), ("--output", given["output"])):
        if path is not None and not path.strip():
            raise OptionError(f"{name} is empty: give a path")
    options = cost_options(given)
    from pipelines import cost_report  # noqa: PLC0415
    from pipelines.dataset_costs import price_dataset  # noqa: PLC0415

    talk = Talk(quiet=given["quiet"])
    path = price_dataset(given["counts_dir"], options, talk, output=given["output"])
    formats = {"table": cost_report.table_lines, "csv": cost_report.csv_lines, "json": cost_report.json_lines}
    for line in formats[given["format"]](cost_report.read_costs(path)):
        click.echo(line)
    return DONE
