"""Help whose options stand in groups."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GroupedOption(click.Option):
    """An option that knows under which heading the help lists it."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command that lists its options by group, in the order of their declaration."""

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


def option_group(heading: str) -> Callable[..., Callable[[Decorated], Decorated]]:
    """Give a decorator like `click.option` whose options the help lists under a heading."""

    def declare(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
        return click.option(*names, cls=GroupedOption, group=heading, **settings)

    return declare
