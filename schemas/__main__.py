"""Prints ``docs/tables.md``."""

import sys

from schemas.bad_records import BAD_RECORDS
from schemas.columns import as_markdown
from schemas.merges import MERGES
from schemas.pretokens import PRETOKENS_FIRST_SEEN
from schemas.rounds import ROUNDS
from schemas.vocab import VOCAB

_OPENING = """# Tables

Written by `python -m schemas > docs/tables.md`, from the schemas that every file is checked against.
"""

TABLES = (PRETOKENS_FIRST_SEEN, MERGES, VOCAB, ROUNDS, BAD_RECORDS)


def documentation() -> str:
    """All tables as one Markdown page."""
    return "\n".join([_OPENING, *map(as_markdown, TABLES)])


if __name__ == "__main__":
    sys.stdout.write(documentation())
