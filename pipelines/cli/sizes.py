"""Sizes as people write them: ``4GiB``, ``512M``, ``1.5 GB``, ``1048576``."""

import re

import click

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<prefix>[kmgt]?)(?P<binary>i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Give the bytes that a size means: ``K M G T`` are powers of 1,000, ``Ki Mi Gi Ti`` of 1,024; a ``B`` may follow.

    Raises:
        ValueError: It is not such a size, or it is less than a byte.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match["binary"] and not match["prefix"]):
        raise ValueError(f"{text!r} is not a size: write it as 512M or 4GiB")
    size = int(float(match["number"]) * (1024 if match["binary"] else 1000) ** _POWERS[match["prefix"].lower()])
    if size < 1:
        raise ValueError(f"{text!r} is less than a byte")
    return size


class Size(click.ParamType[int]):
    """A click parameter in bytes."""

    name = "SIZE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Give bytes; a number is bytes already."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
