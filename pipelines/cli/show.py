"""``tokenbeam show``: how tokenizers cut a text."""

from typing import Any

import click

from pipelines.cli.grouped_help import GroupedCommand
from pipelines.cli.process import DONE
from pipelines.cli.texts import (
    apply_to_each,
    blocks_of_texts,
    debug_option,
    document_option,
    input_option,
    special_option,
    standard_output,
    tokenizer_options,
)

_DOC = """Show how tokenizers cut a text, piece by piece.

Each text with its code points and its bytes; then for each tokenizer its pieces, in colours on a terminal and with
bars between them elsewhere, and a table of their ids and bytes. Bytes of a character that is cut are written \\xe1.

\b
Examples:
  tokenbeam show 'low lower lowest' --tokenizer o200k_base
  tokenbeam show coffee ' coffee' Coffee -t o200k_base -t cl100k_base -t runs/khmer/tokenizer.json

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@tokenizer_options(several=True)
@special_option
@input_option
@document_option
@debug_option
def show(texts: tuple[str, ...], **given: Any) -> int:
    """Show what the options describe; give the exit code."""
    from pipelines.cli.piece_tables import heading_lines, tokenizer_lines  # noqa: PLC0415
    from pipelines.tokenizer_paths import open_tokenizer  # noqa: PLC0415

    tokenizers = [open_tokenizer(spec, pretokenizer=given["pretokenizer"]) for spec in given["tokenizers"]]

    def lines_of(block: list[bytes]) -> list[list[str]]:
        return [
            [
                *heading_lines(text),
                *(
                    line
                    for tokenizer in tokenizers
                    for line in ["", *tokenizer_lines(tokenizer, text, special=given["special"])]
                ),
            ]
            for text in block
        ]

    one_by_one = ([text] for block in blocks_of_texts(texts, given["input_file"], given["document"]) for text in block)
    document = None if texts else given["document"]
    shown = apply_to_each(one_by_one, lines_of, given["input_file"], document)
    with standard_output():
        for number, lines in enumerate(shown):
            for line in ["", *lines] if number else lines:
                click.echo(line)
    return DONE
