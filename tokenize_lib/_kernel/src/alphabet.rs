//! The start alphabet: how a pretoken becomes the symbols that training starts from.

use std::collections::HashMap;

use crate::error::{KernelError, Result};

/// Stands where no pair can be: a character outside the alphabet, the edge of a segment.
/// Never a symbol's id.
pub const BARRIER: u32 = u32::MAX;

/// A character's place in its pretoken decides which of its forms stands for it.
pub const CONTINUING: u8 = 1; // not the first: `##x`
pub const LAST: u8 = 2; // the last: `x</w>`

pub enum Alphabet {
    /// One symbol a byte.
    Bytes(Box<[u32; 256]>),
    /// One symbol a character form; `mark` is a symbol of its own after the last character.
    Characters { ids: HashMap<(char, u8), u32>, forms: FormRule, mark: Option<u32> },
}

/// Which places have forms of their own.
#[derive(Clone, Copy)]
pub struct FormRule {
    pub continuing: bool,
    pub last: bool,
}

impl FormRule {
    /// The form of the character at `start` that ends before `end`, in a pretoken of `len` bytes.
    fn form(self, start: usize, end: usize, len: usize) -> u8 {
        let mut form = 0;
        if self.continuing && start > 0 {
            form |= CONTINUING;
        }
        if self.last && end == len {
            form |= LAST;
        }
        form
    }
}

fn text_of(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken).map_err(|error| {
        KernelError::Value(format!("a pretoken is not UTF-8 ({error}); train it with the byte alphabet"))
    })
}

/// Calls `each` with every character of the pretoken and its form.
pub fn for_each_form(pretoken: &[u8], rule: FormRule, mut each: impl FnMut(char, u8)) -> Result<()> {
    let text = text_of(pretoken)?;
    for (start, character) in text.char_indices() {
        each(character, rule.form(start, start + character.len_utf8(), text.len()));
    }
    Ok(())
}

impl Alphabet {
    /// Appends the pretoken's start symbols to `out`.
    pub fn encode_into(&self, pretoken: &[u8], out: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::Bytes(ids) => out.extend(pretoken.iter().map(|&byte| ids[usize::from(byte)])),
            Self::Characters { ids, forms, mark } => {
                for_each_form(pretoken, *forms, |character, form| {
                    out.push(ids.get(&(character, form)).copied().unwrap_or(BARRIER));
                })?;
                out.extend(mark);
            }
        }
        Ok(())
    }
}
