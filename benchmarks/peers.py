# ruff: noqa: PLC0415 - a process imports the one trainer that it runs
"""The other trainers, each in a process of its own: ``python -m benchmarks.peers NAME JOB`` (JOB is JSON).

What is learned goes to ``NAME.json`` in the output directory: Hugging Face's tokenizer.json, a list of merges, or,
where a trainer tells no more, a list of the tokens made. Tokens are in GPT-2's byte characters.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.job import MIN_FREQUENCY, Job

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def gigabpe(job: Job) -> object:
    """Reads the file itself, lines with their line feeds, and begins with the bytes it has seen."""
    import gigabpe as package

    vocab_size = job.merge_count + job.seen_bytes
    return package.train_bpe([job.lines], vocab_size, min_frequency=MIN_FREQUENCY, pretokenizer="bytelevel")[1]


def gigatoken(job: Job) -> object:
    """Reads the file itself; the separator is what makes lines of it."""
    import gigatoken as package

    _, merges = package.train_bpe(Path(job.lines), 256 + job.merge_count, [], "huggingface", b"\n")
    return [[_characters(left), _characters(right)] for left, right in merges]


def rustbpe(job: Job) -> object:
    """Takes Python strings; its ties follow no rule that it tells, so its tokens are compared, not their order."""
    import rustbpe as package

    tokenizer = package.Tokenizer()
    with Path(job.lines).open(encoding="utf-8", newline="\n") as lines:
        texts = (line.removesuffix("\n") for line in lines)
        tokenizer.train_from_iterator(texts, 256 + job.merge_count, pattern=_GPT2)
    return [_characters(bytes(token)) for token, _ in tokenizer.get_mergeable_ranks()[256:]]


def tokenizers(job: Job) -> object:
    """Hugging Face's; reads the file itself, lines with their line feeds."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=job.pretokenizer == "gpt2")
    trainer = trainers.BpeTrainer(
        vocab_size=256 + job.merge_count,
        min_frequency=MIN_FREQUENCY,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([job.lines], trainer)
    tokenizer.save(str(job.path("tokenizers.json")))
    return None


PEERS: dict[str, Callable[[Job], object]] = {
    "gigabpe": gigabpe,
    "gigatoken": gigatoken,
    "rustbpe": rustbpe,
    "tokenizers": tokenizers,
}


def _characters(token: bytes) -> str:
    from tokenize_lib.formats.byte_characters import CHARACTERS

    return "".join([CHARACTERS[byte] for byte in token])


if __name__ == "__main__":
    the_job = Job(**json.loads(sys.argv[2]))
    learned = PEERS[sys.argv[1]](the_job)
    if learned is not None:
        the_job.path(f"{sys.argv[1]}.json").write_text(json.dumps(learned), encoding="utf-8")
