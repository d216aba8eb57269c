"""Training byte-pair encodings on a pretoken table in memory. `pipelines.train` does the same for any size."""

from typing import Any, cast

import pyarrow as pa

from tokenize_lib import _native, merge_rounds
from tokenize_lib.start_alphabet import form_rule, start_alphabet
from tokenize_lib.training_options import TrainOptions
from tokenize_lib.vocabulary import Vocabulary


def train(pretokens: pa.Table, options: TrainOptions) -> Vocabulary:
    """Train a vocabulary.

    Args:
        pretokens: A table of schema ``schemas.pretokens.PRETOKENS``, from `tokenize_lib.count_pretokens`; for ties by
            first place ``PRETOKENS_FIRST_SEEN``.
        options: What to train. Of ``options.pretokenize`` only the special tokens matter: the table is cut already.

    Returns:
        The vocabulary; smaller than ``options.vocab_size`` where no pair is left that counts ``min_frequency``.

    Raises:
        OverflowError: A pair counts over 2^63 - 1.
        ValueError: Ties are to go by first place, and the table has no ``first_seen``.
    """
    if options.tie_break == "first-seen" and "first_seen" not in pretokens.column_names:
        raise ValueError("ties by first place need a pretoken table with first_seen: count with first_seen=True")
    batches = pretokens.to_batches()
    forms = (_native.character_forms(batch, **form_rule(options)) for batch in batches)
    state = merge_rounds.train(start_alphabet(options, forms), batches)
    return vocabulary_of(state)


def vocabulary_of(state: merge_rounds.MergeState) -> Vocabulary:
    """The vocabulary that the merges so far make."""
    types = {"left": pa.int32(), "right": pa.int32(), "count": pa.int64(), "replaced": pa.int64()}
    columns = [cast("Any", state.merges[name].combine_chunks().cast(kind)) for name, kind in types.items()]
    return Vocabulary.of_merges(state.options, state.alphabet.symbols, *columns)
