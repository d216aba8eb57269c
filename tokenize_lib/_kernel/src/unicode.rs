//! Character classes as the engines that run the published patterns mean them: `\p{L}`, `\p{N}`,
//! `\s` and so on come from the tables of the `regex-syntax` crate, which tiktoken's engine uses
//! too. They are read once and packed into a two-level table with one byte a character.

use std::sync::LazyLock;

use regex_syntax::hir::{Class as HirClass, HirKind};

/// The version of the Unicode Character Database that `regex-syntax` carries; held by a test.
pub const UNICODE_VERSION: &str = "16.0.0";

/// What a character is: a set of the classes below.
pub type Class = u8;

/// `\p{Lu}` and `\p{Lt}`.
pub const UPPER: Class = 1;
/// `\p{Ll}`.
pub const LOWER: Class = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`: letters without case.
pub const CASELESS: Class = 1 << 2;
/// `\p{M}`.
pub const MARK: Class = 1 << 3;
/// `\p{N}`.
pub const NUMBER: Class = 1 << 4;
/// `\s`, the property White_Space.
pub const SPACE: Class = 1 << 5;
/// `\w`.
pub const WORD: Class = 1 << 6;
/// `\p{P}` and the ASCII symbols: what BERT's splitting takes for punctuation.
pub const PUNCTUATION: Class = 1 << 7;

/// `\p{L}`.
pub const LETTER: Class = UPPER | LOWER | CASELESS;

const BLOCK_BITS: u32 = 7;
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCKS: usize = 0x11_0000 >> BLOCK_BITS;

/// The classes of all characters: equal blocks of 128 characters are kept once.
pub struct Classes {
    block_of: Box<[u16; BLOCKS]>,
    blocks: Vec<[Class; BLOCK]>,
}

impl Classes {
    /// The one table of this process, built at its first use (about 2 ms).
    pub fn get() -> &'static Self {
        static CLASSES: LazyLock<Classes> = LazyLock::new(Classes::build);
        &CLASSES
    }

    #[inline(always)]
    pub fn of(&self, character: char) -> Class {
        let code = character as usize;
        self.blocks[self.block_of[code >> BLOCK_BITS] as usize][code & (BLOCK - 1)]
    }

    fn build() -> Self {
        let mut flat = vec![0; 0x11_0000];
        for (pattern, class) in [
            (r"[\p{Lu}\p{Lt}]", UPPER),
            (r"\p{Ll}", LOWER),
            (r"[\p{Lm}\p{Lo}]", CASELESS),
            (r"\p{M}", MARK),
            (r"\p{N}", NUMBER),
            (r"\s", SPACE),
            (r"\w", WORD),
            (r"[\p{P}!-/:-@\[-`{-~]", PUNCTUATION),
        ] {
            for (first, last) in ranges(pattern) {
                for entry in &mut flat[first as usize..=last as usize] {
                    *entry |= class;
                }
            }
        }
        let mut block_of = Box::new([0; BLOCKS]);
        let mut blocks: Vec<[Class; BLOCK]> = Vec::new();
        let mut seen = std::collections::HashMap::new();
        for (place, block) in block_of.iter_mut().zip(flat.as_chunks::<BLOCK>().0) {
            *place = *seen.entry(block).or_insert_with(|| {
                blocks.push(*block);
                (blocks.len() - 1) as u16
            });
        }
        Self { block_of, blocks }
    }
}

/// The ranges of characters that a pattern of one character class stands for.
fn ranges(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(HirClass::Unicode(class))) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        other => unreachable!("{pattern} is a class of the Unicode tables: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_engine_says() {
        for (pattern, class) in [
            (r"\p{Lu}|\p{Lt}", UPPER),
            (r"\p{Ll}", LOWER),
            (r"\p{Lm}|\p{Lo}", CASELESS),
            (r"\p{L}", LETTER),
            (r"\p{M}", MARK),
            (r"\p{N}", NUMBER),
            (r"\s", SPACE),
            (r"\w", WORD),
        ] {
            let regex = fancy_regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
            for character in '\0'..=char::MAX {
                let is_in = regex.is_match(character.encode_utf8(&mut [0; 4])).unwrap();
                let said = Classes::get().of(character) & class != 0;
                assert_eq!(said, is_in, "{character:?} in {pattern}");
            }
        }
    }

    #[test]
    fn the_tables_are_of_the_unicode_version_we_name() {
        // Garay came with 16.0, Sidetic and Beria Erfe with 17.0.
        assert_eq!(UNICODE_VERSION, "16.0.0");
        assert_eq!(Classes::get().of('\u{10D50}') & LETTER, UPPER);
        assert_eq!(Classes::get().of('\u{10940}') & LETTER, 0);
        assert_eq!(Classes::get().of('\u{16EA0}') & LETTER, 0);
    }
}
