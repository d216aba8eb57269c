//! Many pretokens at once: where pretokens begin in the 64 bytes after one's start, as a bit set.
//!
//! A scanner that goes character by character pays for a mispredicted branch at the end of nearly
//! every word. Here the bytes of a window are classed all together, and `window_rules` finds the
//! starts with a few operations on bit sets, in which bit `i` stands for byte `i` and a character
//! of several bytes has its class at each of them. A window ends early at a character that the
//! rule leaves to its scanner (`scanners`); the scanner also cuts what is left at a text's end.

use std::ops::Range;

use crate::scanners::Text;
use crate::unicode::{Class, Classes, LETTER, NUMBER, SPACE, UPPER};

pub const WIDTH: usize = 64;

/// The bytes after a pretoken's start, as sets of the characters' classes.
pub struct Window<'t> {
    bytes: &'t [u8; WIDTH],
    /// Classes are known, and bits set, for the bytes before this one.
    pub length: u32,
    pub letters: u64,
    /// Of the letters, those of title case among them.
    pub uppers: u64,
    pub numbers: u64,
    pub spaces: u64,
    /// `[^\s\p{L}\p{N}]`
    pub others: u64,
    /// All bytes of characters but the first.
    pub continuations: u64,
}

impl<'t> Window<'t> {
    /// The window ends before white space and `left_out` classes that are not ASCII, and before a
    /// character that does not end in it.
    #[inline(always)]
    pub fn new(bytes: &'t [u8; WIDTH], classes: &Classes, left_out: Class) -> Self {
        let uppers = within(bytes, b'A', b'Z');
        let mut window = Self {
            bytes,
            length: WIDTH as u32,
            letters: uppers | within(bytes, b'a', b'z'),
            uppers,
            numbers: within(bytes, b'0', b'9'),
            spaces: equal(bytes, b' ') | within(bytes, b'\t', b'\r'),
            others: 0,
            continuations: 0,
        };
        let beyond_ascii = within(bytes, 0x80, 0xFF);
        if beyond_ascii != 0 {
            window.class_beyond_ascii(beyond_ascii, classes, left_out);
        }
        let apart = window.letters | window.numbers | window.spaces;
        window.others = !apart & below(window.length);
        window
    }

    #[inline(always)]
    fn class_beyond_ascii(&mut self, beyond_ascii: u64, classes: &Classes, left_out: Class) {
        self.continuations = within(self.bytes, 0x80, 0xBF);
        let mut leads = beyond_ascii & !self.continuations;
        while leads != 0 {
            let at = leads.trailing_zeros();
            leads &= leads - 1;
            let length = length_beyond_ascii(self.bytes[at as usize]);
            let class = decode(&self.bytes[at as usize..], length).map(|read| classes.of(read));
            let Some(class) = class.filter(|class| class & (left_out | SPACE) == 0) else {
                return self.end_at(at);
            };
            let bits = below(length as u32) << at;
            self.letters |= if class & LETTER != 0 { bits } else { 0 };
            self.uppers |= if class & UPPER != 0 { bits } else { 0 };
            self.numbers |= if class & NUMBER != 0 { bits } else { 0 };
        }
    }

    fn end_at(&mut self, length: u32) {
        let kept = below(length);
        self.length = length;
        for set in [&mut self.letters, &mut self.uppers, &mut self.numbers, &mut self.spaces] {
            *set &= kept;
        }
    }

    /// The bytes that are this one.
    #[inline(always)]
    pub fn equal(&self, byte: u8) -> u64 {
        equal(self.bytes, byte)
    }

    /// The bytes from `at` on.
    #[inline(always)]
    pub fn from(&self, at: u32) -> &'t [u8] {
        &self.bytes[at as usize..]
    }
}

/// Cuts a text: by `starts_in` where a window has starts, else by `end_of`, which give the same.
#[inline(always)]
pub fn cut(
    section: &str,
    left_out: Class,
    starts_in: impl Fn(&Window<'_>) -> u64,
    end_of: impl Fn(Text<'_>, usize) -> usize,
    mut visit: impl FnMut(Range<usize>),
) {
    let text = Text::new(section);
    let classes = Classes::get();
    let mut start = 0;
    while let Some(bytes) = section.as_bytes()[start..].first_chunk::<WIDTH>() {
        let window = Window::new(bytes, classes, left_out);
        let origin = start;
        let mut starts = starts_in(&window) & !1;
        let is_cut_short = starts == 0 || window.length < WIDTH as u32 / 2;
        while starts != 0 {
            let next = origin + starts.trailing_zeros() as usize;
            visit(start..next);
            start = next;
            starts &= starts - 1;
        }
        // Where one character is left to the scanner, most of those near it are.
        while is_cut_short && start < section.len() && start < origin + WIDTH {
            let end = end_of(text, start);
            visit(start..end);
            start = end;
        }
    }
    while start < section.len() {
        let end = end_of(text, start);
        visit(start..end);
        start = end;
    }
}

/// The set of the bytes before `length`.
#[inline(always)]
pub fn below(length: u32) -> u64 {
    match length {
        64.. => u64::MAX,
        _ => (1 << length) - 1,
    }
}

/// How many bytes the character beyond ASCII takes that begins so.
#[inline(always)]
pub fn length_beyond_ascii(lead: u8) -> usize {
    match lead {
        0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// The character of valid UTF-8 that begins here and takes `length` bytes.
#[inline(always)]
pub fn decode(bytes: &[u8], length: usize) -> Option<char> {
    let bits = |at: usize| bytes.get(at).map(|byte| u32::from(byte & 0x3F));
    let lead = u32::from(*bytes.first()?);
    char::from_u32(match length {
        2 => (lead & 0x1F) << 6 | bits(1)?,
        3 => (lead & 0x0F) << 12 | bits(1)? << 6 | bits(2)?,
        _ => (lead & 0x07) << 18 | bits(1)? << 12 | bits(2)? << 6 | bits(3)?,
    })
}

#[inline(always)]
pub fn equal(bytes: &[u8; WIDTH], byte: u8) -> u64 {
    within(bytes, byte, byte)
}

/// The bytes from `first` to `last`.
#[inline(always)]
pub fn within(bytes: &[u8; WIDTH], first: u8, last: u8) -> u64 {
    within_any(bytes, [(first, last)])
}

/// The bytes in any of these ranges, their first and last bytes included.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn within_any<const RANGES: usize>(bytes: &[u8; WIDTH], ranges: [(u8, u8); RANGES]) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_setzero_si128, _mm_sub_epi8,
    };
    let mut set = 0;
    for (place, quarter) in bytes.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 is part of every x86-64 processor, and a quarter is 16 readable bytes.
        let quarter_set = unsafe {
            let values = _mm_loadu_si128(quarter.as_ptr().cast::<__m128i>());
            let mut is_within = _mm_setzero_si128();
            for (first, last) in ranges {
                let is_here = if first == last {
                    _mm_cmpeq_epi8(values, _mm_set1_epi8(first as i8))
                } else {
                    let above_first = _mm_sub_epi8(values, _mm_set1_epi8(first as i8));
                    let most = _mm_set1_epi8((last - first) as i8);
                    _mm_cmpeq_epi8(_mm_min_epu8(above_first, most), above_first)
                };
                is_within = _mm_or_si128(is_within, is_here);
            }
            _mm_movemask_epi8(is_within)
        };
        set |= u64::from(quarter_set as u16) << (16 * place);
    }
    set
}

/// The bytes in any of these ranges, their first and last bytes included.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn within_any<const RANGES: usize>(bytes: &[u8; WIDTH], ranges: [(u8, u8); RANGES]) -> u64 {
    let is_within = |byte: u8| ranges.iter().any(|(first, last)| byte.wrapping_sub(*first) <= last - first);
    bytes.iter().rev().fold(0, |set, byte| set << 1 | u64::from(is_within(*byte)))
}
