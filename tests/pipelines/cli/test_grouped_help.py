import click
import pytest

from pipelines.cli.grouped_help import GroupedCommand, option_group

_options = option_group("Options")


@click.command(cls=GroupedCommand)
@click.argument("inputs", nargs=-1)
@_options("-t", "--tokenizer", several=True)
@_options("--field", multiple=True)
@_options("--quiet", is_flag=True)
@_options("-o")
def command(**given):
    return given


@pytest.mark.parametrize(
    ("line", "inputs", "tokenizers"),
    [
        ("in -t a b --quiet", ["in"], ["a", "b"]),
        ("in1 in2 --tokenizer a b c -o dir", ["in1", "in2"], ["a", "b", "c"]),
        ("in -t a -t b", ["in"], ["a", "b"]),
        ("-t a in", ["in"], ["a"]),
        ("-t a in1 in2", ["in1", "in2"], ["a"]),
        ("in --tokenizer=a", ["in"], ["a"]),
        ("in --quiet -t a b", ["in"], ["a", "b"]),
        ("in --field f in2", ["in", "in2"], []),
        ("-o dir -t a in", ["in"], ["a"]),
    ],
)
def test_one_flag_takes_several_values_behind_an_argument(line, inputs, tokenizers):
    given = command.main(line.split(), standalone_mode=False)
    assert (list(given["inputs"]), list(given["tokenizer"])) == (inputs, tokenizers)


def test_a_flag_without_its_value_is_still_told():
    with pytest.raises(click.UsageError, match="'-t' requires an argument"):
        command.main(["in", "-t"], standalone_mode=False)
