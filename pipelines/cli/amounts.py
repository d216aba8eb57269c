"""Amounts and moments as people write them: ``0.5``, ``50%``, ``2026-11-30``, ``2026-11-30T20:00``."""

import datetime as dt
from decimal import Decimal, InvalidOperation

import click


class Amount(click.ParamType[Decimal]):
    """A click parameter that keeps every digit; ``%`` divides by a hundred."""

    name = "SHARE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Give the number."""
        if isinstance(value, Decimal):
            return value
        text = str(value).strip()
        try:
            number = Decimal(text.removesuffix("%").strip())
        except InvalidOperation:
            self.fail(f"{text!r} is not a number: write it as 0.5 or 50%", param, ctx)
        return number.scaleb(-2) if text.endswith("%") else number


class Moment(click.ParamType[dt.datetime]):
    """A click parameter in UTC; a date alone is its noon."""

    name = "DATE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> dt.datetime:
        """Give the moment."""
        if isinstance(value, dt.datetime):
            return value
        try:
            day = dt.date.fromisoformat(str(value))
        except ValueError:
            pass
        else:
            return noon(day)
        try:
            moment = dt.datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a date: write it as 2026-11-30 or 2026-11-30T20:00 (UTC)", param, ctx)
        return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


def noon(day: dt.date) -> dt.datetime:
    """Give the moment that stands for a day."""
    return dt.datetime.combine(day, dt.time(12), dt.UTC)
