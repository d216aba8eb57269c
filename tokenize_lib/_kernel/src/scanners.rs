//! The published patterns as hand-written scanners. Each is one function that gives the end of the
//! pretoken beginning at `start`, written branch by branch beside the pattern's alternatives, and
//! looks at each character a fixed number of times at most, whatever the text.

use crate::unicode::{CASELESS, Class, Classes, LETTER, LOWER, MARK, NUMBER, SPACE, UPPER};

/// A text and the classes of its characters, read at byte offsets that are character boundaries.
#[derive(Clone, Copy)]
pub struct Text<'t> {
    text: &'t str,
    classes: &'static Classes,
}

impl<'t> Text<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, classes: Classes::get() }
    }

    pub fn bytes(self) -> &'t [u8] {
        self.text.as_bytes()
    }

    /// The character at `at`, its class, and where the next one begins; None at the end.
    #[inline(always)]
    fn read(self, at: usize) -> Option<(char, Class, usize)> {
        let character = self.text[at..].chars().next()?;
        Some((character, self.classes.of(character), at + character.len_utf8()))
    }

    /// The end of the run, from `at`, of characters for which `belongs` holds.
    #[inline(always)]
    pub fn run(self, mut at: usize, belongs: impl Fn(char, Class) -> bool) -> usize {
        while let Some((character, class, next)) = self.read(at)
            && belongs(character, class)
        {
            at = next;
        }
        at
    }

    pub fn run_of(self, at: usize, classes: Class) -> usize {
        self.run(at, |_, class| class & classes != 0)
    }

    /// `[^\s\p{L}\p{N}]*`
    fn run_of_others(self, at: usize) -> usize {
        self.run(at, |_, class| class & (SPACE | LETTER | NUMBER) == 0)
    }

    /// The end of `'(?i:s|t|re|ve|m|ll|d)` at `at`, or `at` if none stands there.
    /// Case-insensitive by Unicode's simple folding: U+017F (long s) folds to `s`.
    fn contraction_of_any_case(self, at: usize) -> usize {
        match self.bytes()[at..] {
            [b'\'', b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => at + 2,
            [b'\'', b'l' | b'L', b'l' | b'L', ..] => at + 3,
            [b'\'', b'v' | b'V' | b'r' | b'R', b'e' | b'E', ..] => at + 3,
            [b'\'', 0xC5, 0xBF, ..] => at + 3,
            _ => at,
        }
    }

    /// `\s+(?!\S)|\s`, where the white space `start..end` is all there is: to the text's end all of
    /// it; before another character all but its last, which may belong to what follows, or else one.
    fn spaces_without_the_last(self, start: usize, end: usize) -> usize {
        if end == self.text.len() {
            return end;
        }
        let before_the_last = self.text[..end].char_indices().next_back().map_or(start, |(at, _)| at);
        if before_the_last > start { before_the_last } else { end }
    }

    /// The end of `\s*[\r\n]` in the white space `start..end`, if a line ends in it.
    fn last_newline(self, start: usize, end: usize) -> Option<usize> {
        let newline = |byte: &u8| matches!(byte, b'\r' | b'\n');
        self.bytes()[start..end].iter().rposition(newline).map(|at| start + at + 1)
    }
}

/// `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`
///
/// `start` must be within the text, here and below.
pub fn gpt2(text: Text<'_>, start: usize) -> usize {
    // '(?:[sdmt]|ll|ve|re)
    match text.bytes()[start..] {
        [b'\'', b's' | b'd' | b'm' | b't', ..] => return start + 2,
        [b'\'', b'l', b'l', ..] | [b'\'', b'v' | b'r', b'e', ..] => return start + 3,
        _ => {}
    }
    //  ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++
    let after_space = start + usize::from(text.bytes()[start] == b' ');
    if let Some((_, class, next)) = text.read(after_space) {
        if class & LETTER != 0 {
            return text.run_of(next, LETTER);
        } else if class & NUMBER != 0 {
            return text.run_of(next, NUMBER);
        } else if class & SPACE == 0 {
            return text.run_of_others(next);
        }
    }
    // \s++$|\s+(?!\S)|\s
    text.spaces_without_the_last(start, text.run_of(start, SPACE))
}

/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
pub fn cl100k(text: Text<'_>, start: usize) -> usize {
    // '(?i:[sdmt]|ll|ve|re)
    let contraction = text.contraction_of_any_case(start);
    if contraction > start {
        return contraction;
    }
    let Some((first, class, next)) = text.read(start) else {
        return start;
    };
    // [^\r\n\p{L}\p{N}]?+\p{L}++
    if class & LETTER != 0 {
        return text.run_of(next, LETTER);
    }
    if class & NUMBER == 0 && first != '\r' && first != '\n' {
        let letters = text.run_of(next, LETTER);
        if letters > next {
            return letters;
        }
    }
    // \p{N}{1,3}+
    if class & NUMBER != 0 {
        return numbers_up_to_three(text, next);
    }
    //  ?[^\s\p{L}\p{N}]++[\r\n]*+
    let others = start + usize::from(first == ' ');
    let others_end = text.run_of_others(others);
    if others_end > others {
        return text.run(others_end, |character, _| matches!(character, '\r' | '\n'));
    }
    // \s++$|\s*[\r\n]|\s+(?!\S)|\s
    let spaces_end = text.run_of(next, SPACE);
    match text.last_newline(start, spaces_end) {
        Some(end) if spaces_end < text.text.len() => end,
        _ => text.spaces_without_the_last(start, spaces_end),
    }
}

const UPPERS: Class = UPPER | CASELESS | MARK; // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
const LOWERS: Class = LOWER | CASELESS | MARK; // [\p{Ll}\p{Lm}\p{Lo}\p{M}]

/// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
/// `|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
/// `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
pub fn o200k(text: Text<'_>, start: usize) -> usize {
    let Some((first, class, next)) = text.read(start) else {
        return start;
    };
    // The first two alternatives: a word, before it perhaps one character that is no part of it.
    if let Some(word) = cased_word(text, start, first, class, next) {
        return text.contraction_of_any_case(word);
    }
    // \p{N}{1,3}
    if class & NUMBER != 0 {
        return numbers_up_to_three(text, next);
    }
    //  ?[^\s\p{L}\p{N}]+[\r\n/]*
    let others = start + usize::from(first == ' ');
    let others_end = text.run_of_others(others);
    if others_end > others {
        return text.run(others_end, |character, _| matches!(character, '\r' | '\n' | '/'));
    }
    // \s*[\r\n]+|\s+(?!\S)|\s+
    let spaces_end = text.run_of(next, SPACE);
    text.last_newline(start, spaces_end).unwrap_or_else(|| text.spaces_without_the_last(start, spaces_end))
}

/// The end of o200k's word at `start`, without its contraction.
///
/// With U for `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and W for `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` the engine
/// tries, in this order: a prefix and `U*W+`; `U*W+`; a prefix and `U+W*`; `U+W*`. A mark may be the
/// prefix or a part of the word, so the second can match where the first could not.
fn cased_word(text: Text<'_>, start: usize, first: char, class: Class, next: usize) -> Option<usize> {
    if class & LETTER != 0 {
        let word = Word::read(text, start);
        return word.ends_in_lowers.or(word.uppers_end);
    }
    if class & NUMBER != 0 || first == '\r' || first == '\n' {
        return None;
    }
    let word = Word::read(text, next);
    let mark_alone = (class & MARK != 0).then_some(next);
    word.ends_in_lowers.or(mark_alone).or(word.uppers_end)
}

struct Word {
    /// The end of `U*W+`.
    ends_in_lowers: Option<usize>,
    /// The end of `U+`, which `W*` adds nothing to where `U*W+` does not match.
    uppers_end: Option<usize>,
}

impl Word {
    fn read(text: Text<'_>, start: usize) -> Self {
        // Where the greedy U* gives back characters until W+ has one: after the last caseless one.
        let mut after_caseless = None;
        let mut end = start;
        while let Some((_, class, next)) = text.read(end)
            && class & UPPERS != 0
        {
            end = next;
            if class & LOWERS != 0 {
                after_caseless = Some(end);
            }
        }
        let lowers_end = text.run_of(end, LOWERS);
        Self {
            ends_in_lowers: if lowers_end > end { Some(lowers_end) } else { after_caseless },
            uppers_end: (end > start).then_some(end),
        }
    }
}

/// The end of `\p{N}{0,2}` from `at`.
fn numbers_up_to_three(text: Text<'_>, at: usize) -> usize {
    let mut end = at;
    for _ in 0..2 {
        match text.read(end) {
            Some((_, class, next)) if class & NUMBER != 0 => end = next,
            _ => break,
        }
    }
    end
}
