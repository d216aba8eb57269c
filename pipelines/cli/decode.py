"""``tokenbeam decode``: token ids to text."""

import re
from typing import Any

import click

from pipelines.cli.grouped_help import GroupedCommand
from pipelines.cli.process import DONE
from pipelines.cli.texts import (
    apply_to_each,
    blocks_of_texts,
    debug_option,
    input_option,
    standard_output,
    tokenizer_options,
)
from tokenize_lib.errors import InputError

_DOC = """Print the text that token ids stand for.

Ids stand between spaces or commas, also in brackets. Those of the arguments are one text, written byte for byte: no
line end is added. Of a file or standard input each line is a text, and becomes a line.

\b
Examples:
  tokenbeam decode 24912 2375 --tokenizer o200k_base
  tokenbeam decode '[24912, 2375]' --tokenizer gpt-4o
  tokenbeam encode -i corpus.txt -t o200k_base | tokenbeam decode -t o200k_base

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

_BETWEEN = re.compile(rb"[\s,\[\]]+")


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("ids", nargs=-1)
@tokenizer_options(several=False)
@input_option
@debug_option
def decode(ids: tuple[str, ...], **given: Any) -> int:
    """Decode what the options describe; give the exit code."""
    from pipelines.tokenizer_paths import open_tokenizer  # noqa: PLC0415

    tokenizer = open_tokenizer(given["tokenizer"], pretokenizer=given["pretokenizer"])

    def texts_of(lines: list[bytes]) -> list[bytes]:
        return [tokenizer.decode(_ids_in(line)) for line in lines]

    blocks = blocks_of_texts([" ".join(ids)] if ids else [], given["input_file"])
    line_end = b"" if ids else b"\n"
    with standard_output() as output:
        for text in apply_to_each(blocks, texts_of, given["input_file"], None if ids else "line"):
            output.write(text + line_end)
    return DONE


def _ids_in(line: bytes) -> list[int]:
    found: list[int] = []
    for word in _BETWEEN.split(line):
        if word and not word.isdigit():
            raise InputError(f"{word.decode(errors='replace')!r} is no token id: ids are whole numbers")
        if word:
            found.append(int(word))
    return found
