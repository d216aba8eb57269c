"""Tokenizers on other filesystems than the disk."""

import pickle
from pathlib import Path

import pytest

from pipelines.tokenizer_paths import open_tokenizer
from tests.pipelines import object_store
from tests.tokenize_lib.test_tokenizer_files import run_files
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.rank_files import read_ranks, render_ranks


def test_a_name_is_a_name() -> None:
    assert open_tokenizer("gpt-4o").name == "o200k_base"


def test_files_in_an_object_store(tmp_path: Path) -> None:
    store = f"{object_store.SCHEME}:/{tmp_path}"
    run = tmp_path / "run"
    run.mkdir()
    for name, content in run_files("gpt2").items():
        (run / name).write_bytes(content)
    tokenizer = open_tokenizer(f"{store}/run/")
    assert (tokenizer.name, tokenizer.backend) == ("run", "kernel")
    assert tokenizer is open_tokenizer(str(run))
    (tmp_path / "r50k.tiktoken").write_bytes(render_ranks(read_ranks("r50k_base")))
    ranks = open_tokenizer(f"{store}/r50k.tiktoken", pretokenizer="gpt2")
    assert (ranks.name, ranks.encode("low lower")) == ("r50k", open_tokenizer("r50k_base").encode("low lower"))
    assert pickle.loads(pickle.dumps(ranks)) is ranks  # noqa: S301
    with pytest.raises(OptionError, match=r"r50k\.tiktoken: tiktoken's ranks do not say where text is cut"):
        open_tokenizer(f"{store}/r50k.tiktoken")


def test_what_is_not_there(tmp_path: Path) -> None:
    store = f"{object_store.SCHEME}:/{tmp_path}"
    with pytest.raises(InputError, match=r"none\.json cannot be read: "):
        open_tokenizer(f"{store}/none.json")
    with pytest.raises(InputError, match=r"^nowhere://x/tokenizer cannot be read: "):
        open_tokenizer("nowhere://x/tokenizer")
