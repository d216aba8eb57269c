//! Byte strings to ids: the tokens of a vocabulary, looked up by their bytes.

use hashbrown::HashTable;

use crate::count::hash_of_long;
use crate::error::{KernelError, Result};

/// The bytes of each id, and the id of given bytes.
pub struct ByteStrings {
    bytes: Vec<u8>,
    /// Where each id's bytes end; an id without bytes has none.
    ends: Vec<u32>,
    ids: HashTable<u32>,
}

impl ByteStrings {
    /// `tokens[id]`, `None` where there is no such id. Of equal strings the lowest id is kept.
    pub fn new<'t>(tokens: impl ExactSizeIterator<Item = Option<&'t [u8]>>) -> Result<Self> {
        let mut strings = Self {
            bytes: Vec::new(),
            ends: Vec::with_capacity(tokens.len()),
            ids: HashTable::with_capacity(tokens.len()),
        };
        for token in tokens {
            let id = strings.ends.len() as u32;
            let token = token.unwrap_or_default();
            strings.bytes.extend_from_slice(token);
            let end = u32::try_from(strings.bytes.len())
                .map_err(|_| KernelError::Value("the tokens of a vocabulary take over 4 GiB".to_owned()))?;
            strings.ends.push(end);
            if !token.is_empty() && strings.id_of(token).is_none() {
                let Self { bytes, ends, ids } = &mut strings;
                ids.insert_unique(hash_of_long(token), id, |&other| hash_of_long(string(bytes, ends, other)));
            }
        }
        Ok(strings)
    }

    /// How many ids there are, those without bytes included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of an id below `len`.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        string(&self.bytes, &self.ends, id)
    }

    #[inline]
    pub fn id_of(&self, token: &[u8]) -> Option<u32> {
        self.ids.find(hash_of_long(token), |&id| self.get(id) == token).copied()
    }
}

#[inline]
fn string<'s>(bytes: &'s [u8], ends: &[u32], id: u32) -> &'s [u8] {
    let start = match id {
        0 => 0,
        _ => ends[id as usize - 1],
    };
    &bytes[start as usize..ends[id as usize] as usize]
}
