//! The published patterns on windows: where pretokens begin, as operations on bit sets.
//!
//! Each rule says the same as its scanner and is held to it by tests. A window begins where a
//! pretoken does, so nothing before it matters. The starts that are returned are sure whatever
//! comes after the window.

use crate::windows::{Window, below};

/// The first byte of each run.
#[inline(always)]
fn first(set: u64) -> u64 {
    set & !after(set)
}

/// The bytes after those of the set.
#[inline(always)]
fn after(set: u64) -> u64 {
    set << 1
}

/// The bytes before those of the set.
#[inline(always)]
fn before(set: u64) -> u64 {
    set >> 1
}

/// Of each run of the set the part from `starts` on, which has one start in a run at most.
#[inline(always)]
fn rest_of_runs(set: u64, starts: u64) -> u64 {
    set & !set.wrapping_add(starts & set)
}

/// The runs of the set that end in `ends`, back to their starts.
#[inline(always)]
fn runs_up_to(set: u64, ends: u64) -> u64 {
    let mut runs = ends & set;
    while before(runs) & set & !runs != 0 {
        runs |= before(runs) & set;
    }
    runs
}

/// `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`
#[inline(always)]
pub fn gpt2(window: &Window<'_>) -> u64 {
    let &Window { letters, numbers, others, spaces, .. } = window;
    let blanks = window.equal(b' ');
    let runs = first(letters) | first(numbers) | first(others);
    let mut starts = runs & !after(blanks) | first(spaces) | spaces & before(letters | numbers | others);
    let mut sure = window.length.saturating_sub(1);
    let mut apostrophes = window.equal(b'\'') & starts & below(sure);
    while apostrophes != 0 {
        let at = apostrophes.trailing_zeros();
        if at + 3 >= window.length {
            sure = at + 1;
            break;
        }
        let length = match window.from(at) {
            [_, b's' | b'd' | b'm' | b't', ..] => 2,
            [_, b'l', b'l', ..] | [_, b'v' | b'r', b'e', ..] => 3,
            _ => 0,
        };
        if length > 0 {
            starts = starts & !(2 << at) | 1 << (at + length);
        }
        apostrophes &= apostrophes - 1;
    }
    starts & below(sure)
}

/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
#[inline(always)]
pub fn cl100k(window: &Window<'_>) -> u64 {
    let newlines = window.equal(b'\n') | window.equal(b'\r');
    let tails = rest_of_runs(newlines, newlines & after(window.others));
    let mut starts = starts_but_of_contractions(window, newlines, tails);
    let mut sure = sure_length(window);
    let mut apostrophes = window.equal(b'\'') & starts & below(sure);
    while apostrophes != 0 {
        let at = apostrophes.trailing_zeros();
        if at + 3 >= window.length {
            sure = at + 1;
            break;
        }
        if let Some(length) = contraction_of_any_case(window.from(at)) {
            starts |= 1 << (at + length);
        }
        apostrophes &= apostrophes - 1;
    }
    starts & below(sure)
}

/// o200k's pattern, for windows whose letters all have a case:
/// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]*\p{Ll}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
/// `|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
/// `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
#[inline(always)]
pub fn o200k(window: &Window<'_>) -> u64 {
    let newlines = window.equal(b'\n') | window.equal(b'\r');
    let slashes = window.equal(b'/');
    let mut sure = sure_length(window);
    let slashes_after_lines = slashes & after(newlines);
    if slashes_after_lines != 0 && newlines & after(slashes) != 0 {
        // Two tails might lie in one run.
        sure = sure.min(slashes_after_lines.trailing_zeros());
    }
    let tails = rest_of_runs(newlines | slashes, newlines & after(window.others));
    let lowers = window.letters & !window.uppers;
    let mut starts = starts_but_of_contractions(window, newlines, tails) | window.uppers & after(lowers);
    let mut apostrophes = window.equal(b'\'') & after(window.letters) & below(sure);
    let mut contraction_end = 0;
    while apostrophes != 0 {
        let at = apostrophes.trailing_zeros();
        apostrophes &= apostrophes - 1;
        if at + 3 >= window.length {
            sure = sure.min(at);
            break;
        }
        // Behind a contraction no word ends that could have another.
        if at != contraction_end
            && let Some(length) = contraction_of_any_case(window.from(at))
        {
            contraction_end = at + length;
            // Nothing begins inside it, also where a capital stands behind a small letter: `'lL`.
            let inside = ((1 << length) - 1) << at;
            starts = starts & !inside | 1 << contraction_end;
        }
    }
    starts & below(sure)
}

/// What cl100k and o200k have in common: words with a prefix, numbers in threes, others with their
/// `tails` (the line ends after them), and white space that ends with a line.
#[inline(always)]
fn starts_but_of_contractions(window: &Window<'_>, newlines: u64, tails: u64) -> u64 {
    let &Window { letters, numbers, others, spaces, continuations, .. } = window;
    let blanks = window.equal(b' ');
    let others = others & !tails;
    let plain_spaces = spaces & !newlines;

    // A word's prefix: white space, or another character unless there are several, or a blank and one.
    let mut no_prefixes = others & !continuations & after(others) | first(others) & after(blanks);
    for _ in 0..3 {
        no_prefixes |= after(no_prefixes) & continuations;
    }
    let prefixes = plain_spaces | others & !no_prefixes;
    let words = first(letters) & !after(prefixes);

    let mut threes = first(numbers);
    let mut numbers_in_threes = threes;
    while threes != 0 {
        threes = (threes << 3) & numbers & after(numbers) & after(after(numbers));
        numbers_in_threes |= threes;
    }

    // White space up to its last line's end; then what is left of it, but for its last character.
    let spaces_before_newlines = runs_up_to(plain_spaces, before(newlines));
    let spaces_after_newlines = plain_spaces & after(newlines) & !spaces_before_newlines;
    let white = first(spaces)
        | plain_spaces & after(tails)
        | spaces_after_newlines
        | plain_spaces & before(!spaces & below(window.length));

    words | numbers_in_threes | first(others) & !after(blanks) | white & !tails
}

/// Starts are sure up to here: not where white space runs out of the window, as its last line's end
/// may come later.
#[inline(always)]
fn sure_length(window: &Window<'_>) -> u32 {
    let not_spaces = !window.spaces & below(window.length);
    let last_run_start = u64::BITS - not_spaces.leading_zeros();
    (last_run_start + 1).min(window.length.saturating_sub(1))
}

/// The length of `'(?i:s|t|re|ve|m|ll|d)`, if these bytes, an apostrophe and more, begin with it.
#[inline(always)]
fn contraction_of_any_case(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [_, b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => Some(2),
        [_, b'l' | b'L', b'l' | b'L', ..] | [_, b'v' | b'V' | b'r' | b'R', b'e' | b'E', ..] => Some(3),
        [_, 0xC5, 0xBF, ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::pretokenize::Pretokenizer;
    use crate::scanners::{Text, cl100k, gpt2, o200k};

    type Scanner = fn(Text<'_>, usize) -> usize;

    const PIECES: [&str; 60] = [
        "a",
        "b",
        "A",
        "s",
        "S",
        "ll",
        "ve",
        "RE",
        "'",
        "'s",
        "'S",
        "'ll",
        "''",
        "'ſ",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\n\n",
        " \n",
        "\n ",
        "/",
        "//",
        "!",
        "(",
        "((",
        ".",
        "_",
        "\0",
        "\x7f",
        "1",
        "12",
        "1234567",
        "٣",
        "½",
        "é",
        "É",
        "ǅ",
        "ſ",
        "中",
        "ក",
        "ʰ",
        "\u{301}",
        "“",
        "”",
        "—",
        "🙂",
        "\u{a0}",
        "\u{3000}",
        "\u{2028}",
        "x",
        "foo",
        "Bar",
        "HELLO",
        "camelCase",
        "Việt",
        "hello world and ",
        "    return self.foo\n",
        "/* x */ // y\n",
    ];

    /// Xorshift: the same texts at every run.
    fn numbers() -> impl FnMut() -> usize {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize
        }
    }

    #[test]
    fn windows_cut_as_the_scanners_do() {
        let scanners = [("gpt2", gpt2 as Scanner), ("cl100k", cl100k), ("o200k", o200k)];
        let mut number = numbers();
        for _ in 0..20_000 {
            // A text of some of the pieces: few of them repeat much, many mix.
            let (first, kinds) = (number(), 2 + number() % PIECES.len());
            let text: String =
                (0..number() % 120).map(|_| PIECES[(first % PIECES.len() + number() % kinds) % PIECES.len()]).collect();
            for (name, scanner) in scanners {
                let mut one_by_one = Vec::new();
                let mut at = 0;
                while at < text.len() {
                    at = scanner(Text::new(&text), at);
                    one_by_one.push(at);
                }
                let mut by_windows = Vec::new();
                let pretokenizer = Pretokenizer::new(name, &[], "none", false).unwrap();
                pretokenizer.for_each_pretoken(&text, |range| by_windows.push(range.end)).unwrap();
                assert_eq!(by_windows, one_by_one, "{name} on {text:?}");
            }
        }
    }
}
