"""Texts of the commands that look at a few: from arguments, lines of a file, or standard input."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from pipelines.cli.grouped_help import Decorated, option_group
from tokenize_lib.errors import InputError, OptionError

_tokenizing = option_group("Tokenizing")
_reading = option_group("Reading")
_talking = option_group("Talking")

_BLOCK_BYTES = 4 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STANDARD_INPUT = "-"


def tokenizer_options(*, several: bool) -> Callable[[Decorated], Decorated]:
    """Give the decorator for --tokenizer and --pretokenizer."""
    where = "Encoding, model, chars, words, bytes, or path: training run, tokenizer.json, .tiktoken, .model."
    tokenizer = _tokenizing(
        "-t",
        "--tokenizer",
        "tokenizers" if several else "tokenizer",
        several=several,
        required=True,
        metavar="T..." if several else "T",
        help=where,
    )
    pretokenizer = _tokenizing(
        "--pretokenizer", metavar="NAME", help="For a .tiktoken file: where text is cut, as in train."
    )

    def declare(command: Decorated) -> Decorated:
        return tokenizer(pretokenizer(command))

    return declare


special_option = _tokenizing(
    "--special",
    default="text",
    show_default=True,
    type=click.Choice(["text", "allow", "deny"]),
    help="What the text of a special token is: text, that token, or an error.",
)
input_option = _reading(
    "-i", "--input", "input_file", metavar="FILE", help="Each line of it, - for standard input, which is the default."
)
document_option = _reading(
    "--document",
    default="line",
    show_default=True,
    type=click.Choice(["line", "file"]),
    help="What a text is: a line, or all of the input.",
)
debug_option = _talking("--debug", is_flag=True, help="Show where an error arose.")


def blocks_of_texts(texts: Iterable[str], input_file: str | None, document: str = "line") -> Iterator[list[bytes]]:
    r"""Give the texts that a command line asks for, some at a time, as UTF-8.

    Lines end at ``\n`` and nowhere else, as in training; a byte order mark at the start of a file is dropped.

    Args:
        texts: The arguments.
        input_file: A path, or ``-``; without it and without arguments it is standard input.
        document: ``line`` or ``file``.

    Raises:
        OptionError: There are both.
        InputError: The file cannot be read.
    """
    given = list(texts)
    if input_file is not None and not input_file.strip():
        raise OptionError("--input is empty: name a file, or give - for standard input")
    if given and input_file is not None:
        raise OptionError("give a text, or -i FILE, not both")
    if given:
        yield [os.fsencode(text) for text in given]
        return
    if input_file is None and sys.stdin is not None and sys.stdin.isatty():
        click.echo("Reading texts from the terminal, a line each; Ctrl-D ends.", err=True)
    with _opened(input_file or STANDARD_INPUT) as stream:
        if document == "file":
            yield [stream.read().removeprefix(_BYTE_ORDER_MARK)]
            return
        is_first = True
        while lines := stream.readlines(_BLOCK_BYTES):
            if is_first:
                lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
                is_first = False
            yield [line.removesuffix(b"\n") for line in lines]


def apply_to_each(
    blocks: Iterable[list[bytes]],
    function: Callable[[list[bytes]], list[Any]],
    input_file: str | None,
    document: str | None = "line",
) -> Iterator[Any]:
    """Give the results of a function of many texts, text by text.

    Args:
        blocks: The texts, some at a time.
        function: Gives the results of some texts.
        input_file: Where they are from, as `blocks_of_texts` has it.
        document: ``line`` or ``file``; None for arguments.

    Raises:
        InputError: As the function for that text alone, with its file and line.
    """
    source = "standard input" if input_file in {None, STANDARD_INPUT} else input_file
    line = 1
    for texts in blocks:
        try:
            yield from function(texts)
        except InputError:
            for place, text in enumerate(texts):
                try:
                    function([text])
                except InputError as error:
                    where = {"line": f"{source}, line {line + place}: ", "file": f"{source}: "}.get(document or "", "")
                    raise InputError(f"{where}{error}") from error
            raise
        line += len(texts)


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Give standard output for bytes; whoever reads it may stop early."""
    stream = sys.stdout.buffer
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the exit of Python would complain


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
