"""``--config FILE.toml``: options from a file, under the names of the flags; what the command line says wins."""

import datetime as dt
import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pipelines.cli.grouped_help import option_group
from tokenize_lib.errors import OptionError

_running = option_group("Running")
_NOT_IN_FILE = ("config", "help")
_BEAM = "beam"


def _read(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    known = {name: param for param in ctx.command.params for name in _names(param)}
    defaults: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key, value in _parse(path).items():
        name = key.replace("_", "-")
        if name == _BEAM:
            if not isinstance(value, list):
                raise OptionError(f'--config {path}: beam is no list: write it as beam = ["--runner", "FlinkRunner"]')
            ctx.obj = ctx.obj or tuple(map(str, value))
            continue
        if name not in known or name in _NOT_IN_FILE:
            raise OptionError(f"--config {path}: {ctx.info_name} has no option {key!r}{_nearest(name, known)}")
        option = str(known[name].name)
        if (other := keys.setdefault(option, key)) != key:
            raise OptionError(f"--config {path}: {other} and {key} are one option: give it once")
        defaults[option] = _as_given(path, key, value, known[name])
    ctx.default_map = {**(ctx.default_map or {}), **defaults}


def _parse(path: str) -> Mapping[str, Any]:
    if not path.strip():
        raise OptionError("--config is empty: name a file of options")
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise OptionError(f"--config {path}: no such file") from error
    except OSError as error:
        raise OptionError(f"--config {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OptionError(f"--config {path}: this is not UTF-8, at byte {error.start}; TOML is") from error
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"--config {path}: this is not TOML: {' '.join(str(error).split())}") from error


def _names(param: click.Parameter) -> list[str]:
    """Give what a parameter may be called in a file: its long flags; an argument by its own name."""
    if isinstance(param, click.Argument):
        return [str(param.name)]
    return [flag.removeprefix("--") for flag in param.opts if flag.startswith("--")]


def _nearest(name: str, known: Mapping[str, click.Parameter]) -> str:
    near = difflib.get_close_matches(name, [*known.keys() - set(_NOT_IN_FILE), _BEAM], n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else f"; it has {', '.join(sorted(known.keys() - set(_NOT_IN_FILE)))}"


def _as_given(path: str, key: str, value: Any, param: click.Parameter) -> Any:
    """Give a value as click has it from a command line."""
    if isinstance(value, dict):
        raise OptionError(f"--config {path}: {key} is a table: options stand at the top, each with its value")
    if param.multiple or param.nargs == -1:
        return [_one(each) for each in _as_list(value)]
    if isinstance(value, list):
        raise OptionError(f"--config {path}: {key} is a list, and can be given once only")
    is_flag = isinstance(param, click.Option) and param.is_flag
    if is_flag != isinstance(value, bool):
        wanted = "true or false" if is_flag else "a value"
        raise OptionError(f"--config {path}: {key} is {str(value).lower()}: give {wanted}")
    return _one(value)


def _one(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


config_option = _running(
    "--config",
    metavar="FILE.toml",
    is_eager=True,
    expose_value=False,
    callback=_read,
    help="Options from a file, by the names of the flags, and inputs; what the command line says wins.",
)
