"""Tokenizers from files: of a training run, of Hugging Face, of tiktoken, of sentencepiece."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import zstandard

from tokenize_lib.byte_pairs import BytePairs
from tokenize_lib.errors import InputError, OptionError
from tokenize_lib.formats import tiktoken_ranks
from tokenize_lib.formats.byte_pair_json import byte_pairs_of
from tokenize_lib.loading import RUN_FILES, read_run
from tokenize_lib.tokenizer import Tokenizer
from tokenize_lib.training_options import PretokenizeOptions
from tokenize_lib.vocabulary import Vocabulary

IN_DIRECTORY = (RUN_FILES, ("tokenizer.json",), ("tokenizer.model",))
"""What is looked for in a directory, in this order: all files of one of these."""

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\s")
_lock = threading.RLock()


@dataclasses.dataclass(frozen=True)
class TokenizerFiles:
    """All that a tokenizer is made of, as bytes: to be read in one place and loaded in another.

    Attributes:
        name: What the tokenizer is called.
        contents: File names and contents, compressed.
        pretokenizer: For tiktoken's ranks: where text is cut.
    """

    name: str
    contents: tuple[tuple[str, bytes], ...] = dataclasses.field(repr=False)
    pretokenizer: str | None = None

    @classmethod
    def of(cls, path: str, files: Mapping[str, bytes], pretokenizer: str | None = None) -> TokenizerFiles:
        """Take files that were read.

        Args:
            path: Where they are from: the directory, or the file. Its name is the tokenizer's, without its suffix; of
                ``llama/tokenizer.json`` it is ``llama``.
            files: The contents by file name: those of one line of ``IN_DIRECTORY``, or one file of any name.
            pretokenizer: For tiktoken's ranks: where text is cut.
        """
        place = PurePosixPath(path)
        is_file = len(files) == 1 and place.name in files
        name = place.stem if is_file else place.name
        if is_file and name == "tokenizer":
            name = place.parent.name or name
        compressed = ((file, zstandard.compress(content)) for file, content in files.items())
        return cls(name, tuple(compressed), pretokenizer)

    @classmethod
    def read(cls, path: Path, pretokenizer: str | None = None) -> TokenizerFiles:
        """Read a local file or directory.

        Raises:
            InputError: It cannot be read, or the directory has no tokenizer.
        """
        path = path.resolve()
        try:
            if not path.is_dir():
                return cls.of(str(path), {path.name: path.read_bytes()}, pretokenizer)
            for names in IN_DIRECTORY:
                if all((path / name).exists() for name in names):
                    return cls.of(str(path), {name: (path / name).read_bytes() for name in names}, pretokenizer)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        raise InputError(
            f"{path} has no tokenizer: neither run.json of a finished training run (finish one with --resume), nor "
            "tokenizer.json, nor tokenizer.model"
        )

    def files(self) -> dict[str, bytes]:
        """Give the contents by file name."""
        return {name: zstandard.decompress(content) for name, content in self.contents}


def tokenizer_of_files(files: TokenizerFiles) -> Tokenizer:
    """Load a tokenizer; equal files give the same one again, in this process.

    Raises:
        InputError: The files hold no tokenizer.
        OptionError: They are tiktoken's ranks, and no pretokenizer is given, or none that there is.
    """
    with _lock:
        return _load(files)


@functools.lru_cache(maxsize=64)
def _load(files: TokenizerFiles) -> Tokenizer:
    contents = files.files()
    if set(contents) == set(RUN_FILES):
        return _of_run(files, contents)
    ((name, content),) = contents.items()
    digest = hashlib.sha256(content).hexdigest()
    if content.lstrip()[:1] == b"{":
        return _of_json(files, digest, content)
    if _RANK_LINE.match(content):
        return _of_ranks(files, digest, content, name)
    if content.startswith(b"\n"):  # the first field of sentencepiece's message: its pieces
        from tokenize_lib.backends.sentence_piece import SentencePieceTokenizer  # noqa: PLC0415

        return SentencePieceTokenizer(files.name, digest, content, (tokenizer_of_files, (files,)))
    raise InputError(f"{name}: neither a tokenizer.json, nor tiktoken's ranks, nor a sentencepiece model")


def _of_json(files: TokenizerFiles, digest: str, content: bytes) -> Tokenizer:
    try:
        document = json.loads(content)
        parts = byte_pairs_of(document)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError)):
            raise InputError(f"{files.name}: no JSON: {error}") from error
        parts = None  # the library says better what is wrong, if it is
    if parts is not None:
        return _byte_pairs(files, digest, parts)
    from tokenize_lib.backends.hugging_face import HuggingFaceTokenizer  # noqa: PLC0415

    return HuggingFaceTokenizer(files.name, digest, content.decode(), (tokenizer_of_files, (files,)))


def _of_ranks(files: TokenizerFiles, digest: str, content: bytes, name: str) -> Tokenizer:
    if files.pretokenizer is None:
        raise OptionError(
            f"{name}: tiktoken's ranks do not say where text is cut: give --pretokenizer (o200k, cl100k, gpt2, "
            "regex:PATTERN)"
        )
    cut = PretokenizeOptions(pretokenizer=files.pretokenizer)
    return _byte_pairs(files, digest, BytePairs(tokens=tiktoken_ranks.read_tokens(content, name), cut=cut))


def _of_run(files: TokenizerFiles, contents: Mapping[str, bytes]) -> Tokenizer:
    try:
        vocabulary = read_run(contents, files.name)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{files.name}: no training run that can be read: {error!r}") from error
    options = json.dumps(vocabulary.options.as_dict()).encode()
    digest = hashlib.sha256(options + contents["vocab.parquet"] + contents["merges.parquet"]).hexdigest()
    if vocabulary.options.alphabet == "bytes":
        return _byte_pairs(files, digest, _parts_of(vocabulary))
    from tokenize_lib.backends.vocabulary import VocabularyTokenizer  # noqa: PLC0415

    return VocabularyTokenizer(files.name, digest, vocabulary, (tokenizer_of_files, (files,)))


def _parts_of(vocabulary: Vocabulary) -> BytePairs:
    first = vocabulary.special_size
    left, right = (ids.cast(pa.uint32()) for ids in (vocabulary.left_ids, vocabulary.right_ids))
    new = pa.array(np.arange(len(left), dtype=np.uint32) + np.uint32(vocabulary.first_merge_id))
    return BytePairs(
        tokens=pa.array([None] * first + vocabulary.tokens[first:], pa.large_binary()),
        merges=pa.RecordBatch.from_pydict({"left": left, "right": right, "new": new}),
        whole_pretokens=False,
        cut=vocabulary.options.pretokenize,
        special={token: place for place, token in enumerate(vocabulary.options.special_tokens)},
    )


def _byte_pairs(files: TokenizerFiles, digest: str, parts: BytePairs) -> Tokenizer:
    from tokenize_lib.backends.kernel import BytePairTokenizer  # noqa: PLC0415

    return BytePairTokenizer(files.name, digest, parts, (tokenizer_of_files, (files,)))
