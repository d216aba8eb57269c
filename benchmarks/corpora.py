"""One plain-text file that every trainer reads: a document a line, no empty line, lines end in a line feed.

Framing changes more merges than any tie rule does, so the lines of the source documents are the documents here.
Trainers that read files themselves (Hugging Face, gigabpe) keep the line feed at the end of a document; the others do
not see it.
"""

import gzip
import io
import itertools
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from zstandard import ZstdDecompressor

_SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "sample"
_SOURCE_CODE = {".c", ".h", ".rst"}
_EMPTY_LINES = re.compile(rb"\n\n+")


def write_lines(source: Path, target: Path) -> None:
    """The lines of all documents under ``source``: ``.jsonl`` (field ``text``), ``.txt``, ``.c``, ``.h``, ``.rst``.

    ``.jsonl`` and ``.txt`` may be compressed. Carriage returns, byte-order marks and empty lines are left out, and so
    are files that are not UTF-8.
    """
    write_blocks(documents(source), target)


def documents(source: Path) -> Iterator[bytes]:
    """The documents under ``source``, as UTF-8: the records of JSONL, each other file as a whole."""
    for path in sorted([source] if source.is_file() else source.rglob("*")):
        if path.is_file():
            yield from _blocks(path)


def write_blocks(blocks: Iterable[bytes], target: Path) -> None:
    """The lines of blocks of UTF-8 text; a block ends where a line does."""
    with target.open("wb") as lines:
        for block in blocks:
            cleaned = _EMPTY_LINES.sub(b"\n", block.replace(b"\r", b"").replace(b"\xef\xbb\xbf", b"")).strip(b"\n")
            if cleaned:
                lines.write(cleaned + b"\n")


def write_jsonl(lines: Path, target: Path) -> None:
    """The same documents with the line feed kept: what Hugging Face and gigabpe see of ``lines``."""
    with lines.open(encoding="utf-8", newline="\n") as source, target.open("w", encoding="utf-8") as records:
        for line in source:
            records.write(json.dumps({"text": line}, ensure_ascii=False) + "\n")


def distinct_bytes(path: Path) -> int:
    """How many of the 256 bytes stand in a file."""
    seen: set[int] = set()
    with path.open("rb") as file:
        while block := file.read(1 << 24):
            seen.update(byte for byte in range(256) if byte not in seen and bytes([byte]) in block)
    return len(seen)


def _blocks(path: Path) -> Iterator[bytes]:
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".zst", ".gz")]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".jsonl":
        with io.TextIOWrapper(_open(path), encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield json.loads(line)["text"].encode()
    elif kind == ".txt" or path.suffix in _SOURCE_CODE:
        with _open(path) as file:
            content = file.read()
        try:
            content.decode()
        except UnicodeDecodeError:
            return
        yield content


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".zst":
        return ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def generated(size: int) -> Iterator[bytes]:
    """About ``size`` bytes of words, short ones the most frequent, by Zipf's law; the same at every run."""
    texts = b" ".join(block for path in sorted(_SAMPLE.iterdir()) for block in _blocks(path)).decode()
    chance = random.Random(1)
    new_words = (_new_word(chance) for _ in range(200_000))
    words = [*sorted(dict.fromkeys(texts.split()), key=len), *new_words]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    return _lines_until(size, lambda: " ".join(chance.choices(words, cum_weights=weights, k=40)))


def long_runs(size: int) -> Iterator[bytes]:
    """Runs of one character, up to 20,000 long: pretokens that are long and full of overlapping pairs."""
    chance = random.Random(2)
    return _lines_until(size, lambda: chance.choice("^=-a .#\t") * chance.randrange(1, 20_000) + "x")


def no_spaces(size: int) -> Iterator[bytes]:
    """Lines of 3,000 letters without a space: pretokens of a script that does not part words."""
    chance = random.Random(3)
    syllables = [_new_word(chance, 2, 4) for _ in range(400)]
    weights = [1 / rank for rank in range(1, 401)]
    return _lines_until(size, lambda: "".join(chance.choices(syllables, weights, k=1000)))


def all_distinct(size: int) -> Iterator[bytes]:
    """Words of ten letters, hardly one of them twice: a pretoken table as large as the corpus."""
    chance = random.Random(4)
    return _lines_until(size, lambda: " ".join(_new_word(chance, 10, 10) for _ in range(20)))


def _lines_until(size: int, line: Callable[[], str]) -> Iterator[bytes]:
    written = 0
    while written < size:
        block = line().encode() + b"\n"
        written += len(block)
        yield block


def _new_word(chance: random.Random, shortest: int = 3, longest: int = 12) -> str:
    return "".join(chance.choices("etaoinshrdlucmfwypvbgkjqxz", k=chance.randint(shortest, longest)))


WORST_CASES: dict[str, Callable[[int], Iterator[bytes]]] = {
    "long runs": long_runs,
    "no spaces": no_spaces,
    "all distinct": all_distinct,
}
