"""Prints ``docs/tables.md``."""

import sys

from schemas.bad_records import BAD_RECORDS
from schemas.columns import as_markdown
from schemas.dataset_costs import dataset_costs
from schemas.dataset_summary import dataset_summary
from schemas.document_tokens import document_tokens
from schemas.merges import MERGES
from schemas.pretokens import PRETOKENS_FIRST_SEEN
from schemas.rounds import ROUNDS
from schemas.vocab import VOCAB

_OPENING = """# Tables

Written by `python -m schemas > docs/tables.md`, from the schemas that every file is checked against.
`documents`, `summary` and `costs` are shown as with `--group-by language --tokenizer o200k_base --context-limit 8192`,
`documents` with the columns of `--format chat` besides.

What became of the records is in `run.json`, under `records`: `kept` leaves out `empty` documents, which count all the
same, so that `kept` + `empty` + `bad` = `read`. `mended` and `not_nfc` are among these.
"""

TABLES = (
    PRETOKENS_FIRST_SEEN,
    MERGES,
    VOCAB,
    ROUNDS,
    document_tokens(["language"], ["o200k_base"], chat=True),
    dataset_summary(["language"], ["o200k_base"], [8192]),
    dataset_costs(["language"]),
    BAD_RECORDS,
)


def documentation() -> str:
    """All tables as one Markdown page."""
    return "\n".join([_OPENING, *map(as_markdown, TABLES)])


if __name__ == "__main__":
    sys.stdout.write(documentation())
