"""The shipped ranks are the published ones."""

import hashlib
import inspect

import pytest
import tiktoken_ext.openai_public

from tokenize_lib import rank_files
from tokenize_lib.errors import InputError
from tokenize_lib.rank_files import RANK_FILES, read_ranks, render_ranks


@pytest.mark.parametrize("name", list(RANK_FILES))
def test_written_out_again_they_have_the_published_hash(name: str) -> None:
    published = RANK_FILES[name].published_sha256
    assert hashlib.sha256(render_ranks(read_ranks(name))).hexdigest() == published
    assert published in inspect.getsource(getattr(tiktoken_ext.openai_public, name))  # tiktoken pins the same


@pytest.mark.parametrize(
    ("name", "ids", "missing"),
    [("o200k_base", 199_998, 0), ("cl100k_base", 100_256, 0), ("p50k_base", 50_281, 1), ("r50k_base", 50_256, 0)],
)
def test_how_many_there_are(name: str, ids: int, missing: int) -> None:
    tokens = read_ranks(name)
    assert (len(tokens), tokens.null_count) == (ids, missing)


def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_files, "SHIPPED_SHA256", {"p50k_base.arrow": "0" * 64})
    with pytest.raises(InputError, match=r"p50k_base\.arrow is not the file that was shipped"):
        read_ranks("r50k_base")
