"""Numbers of things, and lists of choices, as people write them."""

from collections.abc import Sequence


def number_of(number: int, what: str) -> str:
    """Give ``1 file``, ``2,000 files``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def either(words: Sequence[str]) -> str:
    """Give ``a``, ``a or b``, ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
