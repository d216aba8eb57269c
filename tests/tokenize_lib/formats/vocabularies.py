"""Small trained vocabularies for the tests of formats."""

import pyarrow as pa

from tests.oracles import bpe
from tokenize_lib.vocabulary import Vocabulary

SPECIALS = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")

TEXTS = (
    "She sells sea shells by the sea shore; the shells she sells are SEA shells, I'm sure — aren't they?",
    "Hôm nay trời đẹp, hôm nay trời mưa; ngày mai trời lại đẹp. 2026 2027",
    "ថ្ងៃនេះអាកាសធាតុល្អ ថ្ងៃស្អែកអាកាសធាតុល្អ",
    '今天天气很好,明天天气也很好。😀😀 "q\\"\x01\x7f',
    "aaaaaa aaa aaaa\tbb b",
)


def vocabulary_of(model: bpe.Model) -> Vocabulary:
    specials = len(model.options.special_tokens)
    return Vocabulary.of_merges(
        model.options,
        model.tokens[specials : model.first_merge_id],
        pa.array([merge.left for merge in model.merges], pa.int32()),
        pa.array([merge.right for merge in model.merges], pa.int32()),
        pa.array([merge.count for merge in model.merges], pa.int64()),
        pa.array([merge.replaced for merge in model.merges], pa.int64()),
    )
