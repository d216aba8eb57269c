"""The ``tokenbeam`` command: finds the subcommand, and turns errors into one line and an exit code.

Beam takes most of a second to import, so a subcommand imports what it needs only when it really runs.
"""

import importlib
import sys
import traceback
from collections.abc import Sequence

import click

from pipelines.cli.lean_imports import import_less
from pipelines.cli.process import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USAGE,
    collect_garbage_rarely,
    end_on_interrupt,
    keep_freed_memory,
    leave,
    leave_interrupted,
    take_turns_quickly,
)
from pipelines.cli.usage_errors import no_such_command, usage_line
from pipelines.interruption import wait_if_stopping
from tokenize_lib.errors import OptionError, TokenbeamError

_COMMANDS = {
    "train": "pipelines.cli.train",
    "count": "pipelines.cli.count",
    "cost": "pipelines.cli.cost",
    "plan": "pipelines.cli.plan",
    "encode": "pipelines.cli.encode",
    "decode": "pipelines.cli.decode",
    "show": "pipelines.cli.show",
}


class LazyGroup(click.Group):
    """Imports a subcommand's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Give the names in the order of the work they do."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a subcommand; its module has it under its own name."""
        module = _COMMANDS.get(cmd_name)
        return None if module is None else getattr(importlib.import_module(module), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a subcommand, or name the nearest."""
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(no_such_command(args[0], list(_COMMANDS)))
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if asked:
        from pipelines.versions import tokenbeam_version  # noqa: PLC0415

        click.echo(f"tokenbeam {tokenbeam_version()}")
        ctx.exit()


_DOC = """Train subword tokenizers exactly, count tokens document by document, and price whole datasets.

\b
Examples:
  tokenbeam train 'corpus/*.jsonl.zst' -o tokenizer --vocab-size 32000
  tokenbeam count 'corpus/*.jsonl.zst' -o counts --tokenizer o200k_base --tokenizer tokenizer
  tokenbeam cost counts --model gpt-4o --output-ratio 0.2
"""


@click.group(
    cls=LazyGroup, help=_DOC, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it.")
def cli() -> None:
    """Hold the subcommands."""


def run(argv: Sequence[str]) -> int:
    """Run a command line and give its exit code: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.

    A process that SIGTERM ends has the exit code 143.

    Args:
        argv: The arguments; those behind ``--`` are Beam's.
    """
    own, beam_args = _split_at_dashes(argv)
    debug = "--debug" in own
    try:
        result = cli.main(args=own, prog_name="tokenbeam", standalone_mode=False, obj=beam_args)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        click.echo(f"Error: {usage_line(error, own, _COMMANDS)}", err=True)
        return WRONG_USAGE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where one line can be made of it
        return _report(error, debug=debug)
    return result if isinstance(result, int) else DONE


def _report(error: Exception, *, debug: bool) -> int:
    wait_if_stopping()
    if debug:
        traceback.print_exception(error)
    if isinstance(error, TokenbeamError):
        click.echo(f"Error: {error}", err=True)
        return WRONG_USAGE if isinstance(error, OptionError) else FAILED
    where = "" if debug else " (--debug shows where)"
    click.echo(f"Error: {type(error).__name__}: {' '.join(str(error).split())}{where}", err=True)
    return FAILED


def _split_at_dashes(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    # Not left to click, which would take what follows for more inputs.
    arguments = list(argv)
    if "--" not in arguments:
        return arguments, ()
    place = arguments.index("--")
    return arguments[:place], tuple(arguments[place + 1 :])


def main() -> None:
    """Run the command line of this process and leave it."""
    in_process = "--" not in sys.argv  # other runners start servers, which are stopped at exit
    end_on_interrupt()
    if in_process:
        import_less()
        take_turns_quickly()
        collect_garbage_rarely()
        keep_freed_memory()
    code = run(sys.argv[1:])
    if code == INTERRUPTED:
        leave_interrupted()
    leave(code, at_once=in_process)


if __name__ == "__main__":
    main()
