"""The ranks that OpenAI published, as files of this package: read without the network, and checked.

A file is Arrow's IPC format, compressed: one ``large_binary`` column, the bytes of each token in the order of ids, null
where the published file skips an id. Written out again as the published file, it has the published SHA-256, which a
test holds it to; what is read at run time is held to its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
from binascii import b2a_base64
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from tokenize_lib.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankFile:
    """A published file of ranks.

    Attributes:
        published_sha256: Of the ``.tiktoken`` file, as tiktoken 0.14.0 has it in ``tiktoken_ext/openai_public.py``.
        shipped: The file of this package that has its tokens.
        ids: How many of the shipped tokens, from the first, are its.
    """

    published_sha256: str
    shipped: str
    ids: int


RANK_FILES: Mapping[str, RankFile] = MappingProxyType(
    {
        "o200k_base": RankFile(
            published_sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            shipped="o200k_base.arrow",
            ids=199_998,
        ),
        "cl100k_base": RankFile(
            published_sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            shipped="cl100k_base.arrow",
            ids=100_256,
        ),
        "p50k_base": RankFile(
            published_sha256="94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
            shipped="p50k_base.arrow",
            ids=50_281,
        ),
        # p50k_base is these and 24 runs of spaces.
        "r50k_base": RankFile(
            published_sha256="306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
            shipped="p50k_base.arrow",
            ids=50_256,
        ),
    }
)
"""The published files by name."""

SHIPPED_SHA256: Mapping[str, str] = MappingProxyType(
    {
        "o200k_base.arrow": "57a89a9a54d41d808e6534c842c947b194e9868e1eb17dedd86fbff57eb73e8b",
        "cl100k_base.arrow": "15d25a847aa0969e99e3de954cf96fbd7047438b8ef1b224fdbb9d475926bfd9",
        "p50k_base.arrow": "94e5384dd58f4068a43dc741fca06a6fc48b8462567228a6fa134c5d86c6c03d",
    }
)
"""The files of this package, and the hash of each."""


def read_ranks(name: str) -> pa.LargeBinaryArray:
    """Give the tokens of a published file in the order of their ids: ``large_binary``, null where there is no such id.

    Raises:
        InputError: The file of this package is missing or is not the one that was shipped.
    """
    ranks = RANK_FILES[name]
    path = resources.files("tokenize_lib") / "data" / ranks.shipped
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; install tokenbeam again") from error
    if hashlib.sha256(content).hexdigest() != SHIPPED_SHA256[ranks.shipped]:
        raise InputError(f"{path} is not the file that was shipped (its SHA-256 differs): install tokenbeam again")
    tokens: Any = pa.ipc.open_file(pa.py_buffer(content)).read_all()["token"].combine_chunks()
    found: pa.LargeBinaryArray = tokens.slice(0, ranks.ids)
    return found


def render_ranks(tokens: pa.Array[Any]) -> bytes:
    """Give the ``.tiktoken`` file of tokens: a line each, its bytes in base64, a space, its id."""
    pairs = enumerate(tokens.to_pylist())
    return b"".join(
        [b"%b %d\n" % (b2a_base64(token, newline=False), rank) for rank, token in pairs if token is not None]
    )


def write_shipped(tokens: pa.Array[Any]) -> bytes:
    """Give the content of a file of this package, for tokens in the order of their ids; the hash depends on Arrow's."""
    table = pa.table({"token": tokens.cast(pa.large_binary())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 19))) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()
