"""The tables of a vocabulary, row by row."""

import pytest

from schemas.merges import MERGES
from schemas.vocab import VOCAB
from tests.oracles import bpe
from tests.tokenize_lib.formats.vocabularies import TEXTS, vocabulary_of
from tokenize_lib.formats.byte_characters import ALPHABET, BYTES, CHARACTERS
from tokenize_lib.training_options import PretokenizeOptions, TrainOptions

VARIANTS = [
    TrainOptions(vocab_size=400, pretokenize=PretokenizeOptions(special_tokens=("<s>", "</s>"))),
    TrainOptions(vocab_size=400, alphabet="characters", unk_token="[UNK]"),
    TrainOptions(vocab_size=400, alphabet="characters", continuing_prefix="##"),
    TrainOptions(vocab_size=400, alphabet="characters", end_of_word="</w>", tie_break="first-seen"),
]


@pytest.mark.parametrize("options", VARIANTS)
def test_tables_hold_what_was_learned(options: TrainOptions) -> None:
    model = bpe.train([(word, 1) for text in TEXTS for word in text.split()], options)
    vocabulary = vocabulary_of(model)
    assert vocabulary.tokens == list(model.tokens)
    merges = vocabulary.merges_table()
    assert merges.schema.equals(MERGES, check_metadata=True)
    assert merges.to_pylist() == [
        {
            "rank": rank,
            "left_id": merge.left,
            "right_id": merge.right,
            "new_id": merge.new,
            "left": model.tokens[merge.left],
            "right": model.tokens[merge.right],
            "new": model.tokens[merge.new],
            "pair_count": merge.count,
            "replaced": merge.replaced,
        }
        for rank, merge in enumerate(model.merges)
    ]
    assert vocabulary.vocab_table().schema.equals(VOCAB, check_metadata=True)


def test_vocab_table_tells_kinds_and_parts_of_characters() -> None:
    options = TrainOptions(vocab_size=259, pretokenize=PretokenizeOptions(special_tokens=("<s>",)))
    rows = vocabulary_of(bpe.train([("ééé", 9), ("ab", 2)], options)).vocab_table().to_pylist()
    assert rows[0] == {"id": 0, "token": b"<s>", "text": "<s>", "kind": "special", "rank": None}
    assert rows[1] == {"id": 1, "token": b"!", "text": "!", "kind": "alphabet", "rank": None}
    assert [row["kind"] for row in rows] == ["special"] + ["alphabet"] * 256 + ["merge"] * 2
    assert rows[257] == {"id": 257, "token": "é".encode(), "text": "é", "kind": "merge", "rank": 0}
    assert rows[258] == {"id": 258, "token": "éé".encode(), "text": "éé", "kind": "merge", "rank": 1}
    assert {row["token"]: row["text"] for row in rows}[b"\xc3"] is None


def test_byte_characters_are_those_of_the_oracle() -> None:
    assert list(CHARACTERS) == [bpe.gpt2_character(byte) for byte in range(256)]
    assert [CHARACTERS[BYTES[character]] for character in CHARACTERS] == list(CHARACTERS)
    assert list(ALPHABET) == bpe.start_alphabet([], TrainOptions())
