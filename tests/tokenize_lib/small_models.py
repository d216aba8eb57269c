"""Small trainings: their options, and the models that the naive trainer makes of them."""

from tests.oracles import bpe
from tests.oracles import pretokenizers as pretokenizer_oracle
from tests.tokenize_lib.formats.vocabularies import TEXTS
from tokenize_lib import PretokenizeOptions, TrainOptions

SPECIALS = ("[UNK]", "<|end|>")


def cut_as(name: str, **others: object) -> PretokenizeOptions:
    return PretokenizeOptions(pretokenizer=name, special_tokens=SPECIALS, **others)


ON_CHARACTERS = {
    "characters": TrainOptions(
        vocab_size=200, alphabet="characters", unk_token="[UNK]", pretokenize=cut_as("whitespace")
    ),
    "end of word": TrainOptions(
        vocab_size=200, alphabet="characters", unk_token="[UNK]", end_of_word="</w>", pretokenize=cut_as("whitespace")
    ),
    "continuing prefix": TrainOptions(
        vocab_size=250, alphabet="characters", unk_token="[UNK]", continuing_prefix="##", pretokenize=cut_as("bert")
    ),
    "separate end of word": TrainOptions(
        vocab_size=200,
        alphabet="characters",
        unk_token="[UNK]",
        end_of_word="</w>",
        end_of_word_mark="separate",
        pretokenize=cut_as("whitespace"),
    ),
}


def model_of(options: TrainOptions) -> bpe.Model:
    pretokens: dict[str, int] = {}
    for text in TEXTS * 3:
        for pretoken in pretokenizer_oracle.split(text, options.pretokenize):
            pretokens[pretoken] = pretokens.get(pretoken, 0) + 1
    return bpe.train(list(pretokens.items()), options)
