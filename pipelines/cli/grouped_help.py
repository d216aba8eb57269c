"""Commands whose help lists options in groups, and whose options may take several values after one flag."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GroupedOption(click.Option):
    """An option that knows under which heading the help lists it, and whether one flag takes several values."""

    def __init__(self, *args: Any, group: str, several: bool = False, multiple: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "multiple": several or multiple})
        self.group = group
        self.several = several


class GroupedCommand(click.Command):
    """A command that lists its options by group, in the order of their declaration."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with the flag before each of several values, as click wants it."""
        options = {name: param for param in self.params if isinstance(param, click.Option) for name in param.opts}
        return super().parse_args(ctx, list(_with_flags_repeated(args, options)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group; what belongs to none stands in the last one."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                groups.setdefault(getattr(param, "group", next(reversed(groups), "Options")), []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


def _with_flags_repeated(args: Sequence[str], options: Mapping[str, click.Option]) -> Iterator[str]:
    """Give ``INPUT --tokenizer A --tokenizer B`` for ``INPUT --tokenizer A B``.

    Only behind an argument: before the first one, what follows a value may be that argument, as in
    ``--tokenizer A INPUT``.
    """
    waiting = list(reversed(args))
    had_argument = False
    while waiting:
        word = waiting.pop()
        yield word
        option = options.get(word)
        if option is None:
            had_argument |= not word.startswith("-")
        elif not option.is_flag and waiting:
            yield waiting.pop()
            while had_argument and getattr(option, "several", False) and waiting and not waiting[-1].startswith("-"):
                yield from (word, waiting.pop())


def option_group(heading: str) -> Callable[..., Callable[[Decorated], Decorated]]:
    """Give a decorator like `click.option` whose options the help lists under a heading."""

    def declare(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
        return click.option(*names, cls=GroupedOption, group=heading, **settings)

    return declare
