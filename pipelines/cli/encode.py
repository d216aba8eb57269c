"""``tokenbeam encode``: texts to token ids."""

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

_DOC = """Print the token ids of a text, or of each line of a file.

A text's ids are one line, with spaces between. Nothing is added at its begin or end. tokenbeam decode takes them back.

\b
Examples:
  tokenbeam encode 'hello world' --tokenizer o200k_base
  tokenbeam encode -i corpus.txt --tokenizer gpt-4 > ids.txt
  cat prompt.txt | tokenbeam encode --document file --tokenizer runs/khmer

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""


@click.command(cls=GroupedCommand, help=_DOC)
@click.argument("text", required=False)
@tokenizer_options(several=False)
@special_option
@input_option
@document_option
@debug_option
def encode(text: str | None, **given: Any) -> int:
    """Encode what the options describe; give the exit code."""
    import pyarrow as pa  # noqa: PLC0415

    from pipelines.tokenizer_paths import open_tokenizer  # noqa: PLC0415

    tokenizer = open_tokenizer(given["tokenizer"], pretokenizer=given["pretokenizer"])

    def lines_of(texts: list[bytes]) -> list[bytes]:
        if len(texts) == 1:
            return [_line(tokenizer.encode(texts[0], special=given["special"]))]
        lists: Any = tokenizer.encode(pa.array(texts, pa.large_binary()), special=given["special"])
        return [_line(ids) for ids in lists.to_pylist()]

    blocks = blocks_of_texts([] if text is None else [text], given["input_file"], given["document"])
    document = None if text is not None else given["document"]
    with standard_output() as output:
        for line in apply_to_each(blocks, lines_of, given["input_file"], document):
            output.write(line)
    return DONE


def _line(ids: list[int]) -> bytes:
    return f"{' '.join(map(str, ids))}\n".encode()
