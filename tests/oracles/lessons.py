"""The figures of the lessons that teach BPE by hand; the naive trainer and ours are both held to them."""

from tokenize_lib.training_options import TrainOptions

SENNRICH_WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
SENNRICH_OPTIONS = TrainOptions(
    vocab_size=11 + 10, alphabet="characters", end_of_word="</w>", tie_break="first-seen", min_frequency=1
)
SENNRICH_MERGES = [
    (b"e", b"s", 9),
    (b"es", b"t", 9),
    (b"est", b"</w>", 9),
    (b"l", b"o", 7),
    (b"lo", b"w", 7),
    (b"n", b"e", 6),
    (b"ne", b"w", 6),
    (b"new", b"est</w>", 6),
    (b"low", b"</w>", 5),
    (b"w", b"i", 3),
]

KHMER_MERGES = [(b"l", b"o", 3), (b"lo", b"w", 3), (b" ", b"low", 2), (b" low", b"e", 2)]
"""Of ``low lower lowest``, with its spaces before the words; a pair seen once is not merged."""
KHMER_TOKENS = [16, 13, 10, 8, 6]
"""Of the text before and after each merge."""
KHMER_BY_HAND_MERGES = [(b"a", b"a", 3), (b" ", b"aa", 2), (b" aa", b"b", 2)]
"""Of ``aa aab aab``."""
