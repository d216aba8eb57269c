//! The commonest records of JSON Lines, read in one pass over their bytes, with a text unescaped to where it stays.
//!
//! What is read here is an object as RFC 8259 has it, and what `serde_json` would read. Whatever is odd about it (an
//! escape in a key, half a surrogate pair, deep nesting) or invalid is left to `jsonl`, which also says what is wrong.

use std::ops::Range;

use crate::windows::{WIDTH, within_any};

/// Values that lie deeper are left to serde_json.
const DEEPEST: u32 = 32;

/// Reads records of a block of valid UTF-8, one after another from its start on. `None` always means: left to others.
pub struct PlainReader<'b> {
    block: &'b [u8],
    at: usize,
    end: usize,
    is_first: bool,
    /// Which of the `WIDTH` bytes before `known_to` end a piece of a string.
    specials: u64,
    known_to: usize,
}

impl<'b> PlainReader<'b> {
    pub fn new(block: &'b [u8]) -> Self {
        Self { block, at: 0, end: 0, is_first: true, specials: 0, known_to: 0 }
    }

    /// Begins a record, which lies behind all that were read before.
    pub fn open(&mut self, record: Range<usize>) -> Option<()> {
        (self.at, self.end, self.is_first) = (record.start, record.end, true);
        self.skip_space();
        self.expect(b'{')
    }

    /// The next key of the record; its value comes next and must be read or skipped. `Some(None)` at the record's end.
    #[inline]
    pub fn next_key(&mut self) -> Option<Option<&'b [u8]>> {
        self.skip_space();
        match self.next()? {
            b'}' => {
                self.skip_space();
                return (self.at == self.end).then_some(None);
            }
            b',' if !self.is_first => {
                self.skip_space();
                self.expect(b'"')?;
            }
            b'"' if self.is_first => {}
            _ => return None,
        }
        self.is_first = false;
        let start = self.at;
        let end = self.next_special()?;
        self.at = end + 1;
        if self.block[end] != b'"' {
            return None;
        }
        self.colon()?;
        Some(Some(&self.block[start..end]))
    }

    /// Appends a value that is a string, unescaped.
    #[inline]
    pub fn string(&mut self, into: &mut Vec<u8>) -> Option<()> {
        self.expect(b'"')?;
        into.reserve(self.end - self.at + PIECE); // a text is not longer unescaped
        loop {
            let start = self.at;
            let end = self.next_special()?;
            append_piece(into, self.block, start..end);
            self.at = end + 1;
            match self.block[end] {
                b'"' => return Some(()),
                b'\\' => self.escape(into)?,
                _ => return None,
            }
        }
    }

    pub fn is_at_string(&self) -> bool {
        self.peek() == Some(b'"')
    }

    /// A value that is a number, a boolean or null, as it is written.
    pub fn scalar(&mut self) -> Option<&'b [u8]> {
        let rest = &self.block[self.at..self.end];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || is_space(*byte);
        let raw = &rest[..rest.iter().position(is_end)?];
        self.at += raw.len();
        (matches!(raw, b"true" | b"false" | b"null") || is_number(raw)).then_some(raw)
    }

    pub fn skip_value(&mut self) -> Option<()> {
        self.skip(0)
    }

    fn skip(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' if depth < DEEPEST => self.skip_members(b'}', depth + 1),
            b'[' if depth < DEEPEST => self.skip_members(b']', depth + 1),
            _ => self.scalar().map(|_| ()),
        }
    }

    fn skip_members(&mut self, close: u8, depth: u32) -> Option<()> {
        self.at += 1;
        self.skip_space();
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            if close == b'}' {
                self.skip_string()?;
                self.colon()?;
            }
            self.skip(depth)?;
            self.skip_space();
            match self.next()? {
                b',' => self.skip_space(),
                byte if byte == close => return Some(()),
                _ => return None,
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let end = self.next_special()?;
            self.at = end + 1;
            match (self.block[end], self.block.get(self.at)) {
                (b'"', _) => return Some(()),
                (b'\\', Some(b'u')) => {
                    self.at += 1;
                    self.hex()?;
                }
                (b'\\', Some(&byte)) => {
                    unescaped(byte)?;
                    self.at += 1;
                }
                _ => return None,
            }
        }
    }

    /// Where the next quote, backslash or control character stands.
    #[inline(always)]
    fn next_special(&mut self) -> Option<usize> {
        let mut from = self.at;
        loop {
            if from >= self.known_to {
                self.specials = specials(&self.block[from..]);
                self.known_to = from + WIDTH;
            }
            let left = self.specials >> (from + WIDTH - self.known_to);
            if left != 0 {
                let found = from + left.trailing_zeros() as usize;
                return (found < self.end).then_some(found);
            }
            from = self.known_to;
            if from >= self.end {
                return None;
            }
        }
    }

    #[inline(always)]
    fn escape(&mut self, into: &mut Vec<u8>) -> Option<()> {
        let letter = self.next()?;
        if letter != b'u' {
            into.push(unescaped(letter)?);
            return Some(());
        }
        let character = self.escaped_character()?;
        into.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Some(())
    }

    fn escaped_character(&mut self) -> Option<char> {
        let code = self.hex()?;
        if !(0xD800..0xDC00).contains(&code) {
            return char::from_u32(code);
        }
        self.expect(b'\\')?;
        self.expect(b'u')?;
        let low = self.hex()?;
        match low {
            0xDC00..0xE000 => char::from_u32(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)),
            _ => None,
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits: &[u8; 4] = self.block[self.at..self.end].first_chunk()?;
        self.at += digits.len();
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }

    fn colon(&mut self) -> Option<()> {
        self.skip_space();
        self.expect(b':')?;
        self.skip_space();
        Some(())
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.block[self.at])
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }
}

/// The slot that a key fills, if any; None if its value must be looked into, or fills several.
#[inline]
pub fn wanted_by(paths: &[(usize, &str)], key: &[u8]) -> Option<Option<usize>> {
    let mut wanted = None;
    for &(slot, path) in paths {
        match path.as_bytes().strip_prefix(key) {
            Some([]) if wanted.is_none() => wanted = Some(slot),
            Some([] | [b'.', ..]) => return None,
            _ => {}
        }
    }
    Some(wanted)
}

/// Pieces up to so many bytes are copied as one of just so many: most are shorter, and a copy of known length needs no
/// call and no branch.
pub const PIECE: usize = 32;

#[inline(always)]
fn append_piece(into: &mut Vec<u8>, block: &[u8], piece: Range<usize>) {
    let length = piece.len();
    match block[piece.start..].first_chunk::<PIECE>() {
        Some(bytes) if length <= PIECE && into.capacity() - into.len() >= PIECE => {
            let before = into.len();
            // SAFETY: there is room for `PIECE` bytes behind the vector's, which are written here; it takes `length` of
            // them, not more than were written.
            unsafe {
                into.as_mut_ptr().add(before).cast::<[u8; PIECE]>().write_unaligned(*bytes);
                into.set_len(before + length);
            }
        }
        _ => into.extend_from_slice(&block[piece]),
    }
}

#[inline(always)]
fn specials(bytes: &[u8]) -> u64 {
    let mut padded = [b' '; WIDTH];
    let window = match bytes.first_chunk() {
        Some(window) => window,
        None => {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        }
    };
    within_any(window, [(0, 0x1F), (b'"', b'"'), (b'\\', b'\\')])
}

/// What an escape of one letter stands for.
#[inline(always)]
fn unescaped(letter: u8) -> Option<u8> {
    const MEANINGS: [u8; 256] = {
        let mut meanings = [0; 256];
        let letters = *b"nrtbf\"\\/";
        let meant = *b"\n\r\t\x08\x0C\"\\/";
        let mut at = 0;
        while at < letters.len() {
            meanings[letters[at] as usize] = meant[at];
            at += 1;
        }
        meanings
    };
    let meaning = MEANINGS[usize::from(letter)];
    (meaning != 0).then_some(meaning)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_number(raw: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unsigned = raw.strip_prefix(b"-").unwrap_or(raw);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned[0] == b'0') {
        return false;
    }
    let mut rest = &unsigned[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_grammar_has_them() {
        for raw in ["0", "-0", "12", "1.50", "-3.0e+7", "1E5", "0e0"] {
            assert!(is_number(raw.as_bytes()), "{raw}");
        }
        for raw in ["", "-", "01", "+1", "1.", ".5", "1e", "1e+", "1e5x", "0x1", "NaN", "1.2.3"] {
            assert!(!is_number(raw.as_bytes()), "{raw}");
        }
    }
}
