"""Wrong usage of the command line in one line: what was found, what was meant, and which help says more."""

import difflib
from collections.abc import Iterable, Sequence

import click

from pipelines.words import either

_WITH_BEAM = ("train", "count")
_BEAM_OPTIONS = ("--runner", "--streaming", "--project", "--region")  # its other ones are written with underscores


def usage_line(error: click.UsageError, arguments: Sequence[str], commands: Iterable[str]) -> str:
    """Give an error of click as one line.

    Args:
        error: What click found.
        arguments: The command line, without what is Beam's.
        commands: The names of the subcommands.
    """
    # Not left to the error's context, which click does not give to all of them.
    command = next((word for word in arguments if not word.startswith("-")), None)
    known = command if command in set(commands) else None
    message = " ".join((_of_option(error, known) or error.format_message()).split()).removesuffix(".")
    return f"{message} ({' '.join(filter(None, ('tokenbeam', known, '--help')))})"


def no_such_command(name: str, commands: Sequence[str]) -> str:
    """Say that there is no such subcommand, and which is near."""
    near = difflib.get_close_matches(name.lower(), commands, n=1, cutoff=0.5)
    return f"No such command {name!r}" + (f": did you mean {near[0]!r}?" if near else f": give {either(commands)}")


def _of_option(error: click.UsageError, command: str | None) -> str | None:
    """Say more of an option that there is not than click knows; None for all else."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return None
    name = error.option_name
    flags = {flag for param in error.ctx.command.params for flag in param.opts}
    if (dashed := name.replace("_", "-")) in flags:
        return f"No such option {name!r}: did you mean {dashed!r}?"
    if command in _WITH_BEAM and (name in _BEAM_OPTIONS or "_" in name):
        return f"{name} is no option of {command}: those of Beam stand after --"
    return None
