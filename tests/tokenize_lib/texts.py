"""Random texts that lean towards what breaks pretokenizers."""

import unicodedata

from hypothesis import strategies as st

from tests.oracles.pretokenizers import is_comparable

CONTRACTIONS = ["'s", "'S", "'ſ", "'t", "'re", "'RE", "'rE", "'ve", "'m", "'ll", "'lL", "'d", "'", "’s", "'l", "'r"]
LINES = ["\n", "\r", "\r\n", "\n\n", "/", "/\n", "\n/", "!\n", "!\r\n/", "//", " \n ", "\u2028", "\u0085", "\x0b"]
SPACES = [" ", "  ", "   ", "\t", "\t\t", "\xa0", "\u3000", "\u2009", " \t", "\u180e", "\u200b", "\x1c", "\x1f"]
WORDS = ["hello", "Hello", "HELLO", "helloWorld", "ABc", "AB中C", "中A", "ǅ", "ǅa", "aʰB", "ʰ", "ไทย", "ភាសា", "Việt",
         "Vie\u0323\u0302t", "İ", "ß", "ſ", "Σ", "ΑΣ", "ﬁ", "K", "é", "e\u0301", "ª", "x" * 40, "ក" * 12]  # fmt: skip
MARKS = ["\u0301", "\u0301\u0302", "\u20dd", "\ufe0f", "\u0903", "\u17d2"]
NUMBERS = ["1", "12", "123", "1234567", "٣", "०", "Ⅷ", "½", "1٣½4", "²"]
OTHERS = ["!", "!!", "...", "(", "((", "$", "_", "-", "§", "▁", "🙂", "👩\u200d💻"]
OTHERS += ["\0", "\x7f", "\ufeff", "\ufffd", "\ue000"]
CATEGORIES = sorted({unicodedata.category(chr(code)) for code in range(0x11_0000)} - {"Cn", "Cs"})

characters_of_every_category = st.sampled_from(CATEGORIES).flatmap(
    lambda category: st.characters(categories=[category])
)  # fmt: skip
pieces = st.one_of(
    *[st.sampled_from(kind) for kind in (CONTRACTIONS, LINES, SPACES, WORDS, MARKS, NUMBERS, OTHERS)],
    characters_of_every_category.filter(is_comparable),
)
texts = st.lists(pieces, max_size=24).map("".join)
"""Mixed characters of every general category, in texts of some dozen pieces."""

ascii_texts = st.text(st.sampled_from("aAbBsStTlLvVrReEmMdD''''   \t\n\r/!.(_019"), max_size=200)
"""Long texts of the ASCII characters that patterns treat apart."""
