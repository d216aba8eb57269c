//! The sizes of a text: its characters, and its words as Python's `str.split()` parts them.

use crate::windows::{WIDTH, below, equal, within, within_any};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSizes {
    pub characters: u64,
    /// Runs of characters that are not white space: White_Space of Unicode, and U+001C to U+001F.
    pub words: u64,
}

impl TextSizes {
    /// Of a text in valid UTF-8; of other bytes, some numbers.
    pub fn of(text: &[u8]) -> Self {
        let mut sizes = Self::default();
        let mut after_space = 1;
        let mut start = 0;
        while let Some(window) = text[start..].first_chunk::<WIDTH>() {
            // Up to the last character that is whole: a character is judged by all its bytes.
            let is_boundary = |length: &u32| text.get(start + *length as usize).is_none_or(|byte| byte & 0xC0 != 0x80);
            let length = (1..=WIDTH as u32).rev().find(is_boundary).unwrap_or(WIDTH as u32);
            after_space = sizes.add(window, length, after_space);
            start += length as usize;
        }
        let mut last = [0; WIDTH];
        let rest = &text[start..];
        last[..rest.len()].copy_from_slice(rest);
        sizes.add(&last, rest.len() as u32, after_space);
        sizes
    }

    /// Adds the first `length` bytes, whole characters. `after_space`: 1 if white space or nothing stands before them,
    /// else 0. Returns the same for what comes next.
    #[inline(always)]
    fn add(&mut self, window: &[u8; WIDTH], length: u32, after_space: u64) -> u64 {
        if length == 0 {
            return after_space;
        }
        let here = below(length);
        let beyond_ascii = within(window, 0x80, 0xFF);
        let spaces = white_space(window, beyond_ascii);
        let continuations = if beyond_ascii == 0 { 0 } else { within(window, 0x80, 0xBF) };
        let starts = !spaces & (spaces << 1 | after_space) & here;
        self.characters += u64::from((!continuations & here).count_ones());
        self.words += u64::from(starts.count_ones());
        spaces >> (length - 1) & 1
    }
}

/// All bytes of white space.
#[inline(always)]
fn white_space(window: &[u8; WIDTH], beyond_ascii: u64) -> u64 {
    let spaces = within_any(window, [(b' ', b' '), (b'\t', b'\r'), (0x1C, 0x1F)]);
    if beyond_ascii == 0 { spaces } else { spaces | white_space_beyond_ascii(window) }
}

#[inline(always)]
fn white_space_beyond_ascii(window: &[u8; WIDTH]) -> u64 {
    let is = |byte| equal(window, byte);
    let mut spaces = 0;
    let second_of_two = is(0xC2) << 1;
    if second_of_two != 0 {
        // U+0085, U+00A0
        let ends = second_of_two & (is(0x85) | is(0xA0));
        spaces |= ends | ends >> 1;
    }
    // Most characters of three bytes that begin so, as Khmer's, have another second byte.
    let second_of_three = within(window, 0xE1, 0xE3) << 1;
    if second_of_three != 0 && second_of_three & within_any(window, [(0x80, 0x81), (0x9A, 0x9A)]) != 0 {
        let thirds = (is(0xE1) << 1 & is(0x9A)) << 1 & is(0x80) // U+1680
            | (is(0xE2) << 1 & is(0x80)) << 1 & (within(window, 0x80, 0x8A) | within(window, 0xA8, 0xA9) | is(0xAF))
            | (is(0xE2) << 1 & is(0x81)) << 1 & is(0x9F) // U+205F
            | (is(0xE3) << 1 & is(0x80)) << 1 & is(0x80); // U+3000
        spaces |= thirds | thirds >> 1 | thirds >> 2;
    }
    spaces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_space(character: char) -> bool {
        character.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&character)
    }

    #[test]
    fn every_character_parts_words_or_does_not() {
        for character in '\0'..='\u{FFFF}' {
            for padding in [0, 62] {
                let text = format!("{}a{character}b", " ".repeat(padding));
                let words = if is_space(character) { 2 } else { 1 };
                assert_eq!(
                    TextSizes::of(text.as_bytes()),
                    TextSizes { characters: padding as u64 + 3, words },
                    "{character:?}"
                );
            }
        }
    }

    #[test]
    fn sizes_of_texts() {
        assert_eq!(TextSizes::of(b""), TextSizes { characters: 0, words: 0 });
        assert_eq!(TextSizes::of(" \u{3000}\n".as_bytes()), TextSizes { characters: 3, words: 0 });
        let text = "a\u{2003}ភាសា \u{85}é".repeat(100);
        let words = text.split(is_space).filter(|word| !word.is_empty()).count() as u64;
        assert_eq!(TextSizes::of(text.as_bytes()), TextSizes { characters: text.chars().count() as u64, words });
    }
}
