//! Encoding with the ids of short pretokens seen before: a table like that of `TokenCounter`, with
//! the ids in its slots.

use crate::byte_pair_model::{BytePairModel, Scratch};
use crate::count::{hash_of_short, short_key};
use crate::error::Result;
use crate::pretokenize::Pretokenizer;

const FIRST_SLOTS: usize = 1 << 12;
/// 12 MiB; the table is emptied when three of four are taken.
const MOST_SLOTS: usize = 1 << 18;
/// Pretokens of more tokens are encoded each time.
const MOST_IDS: usize = 7;

/// A pretoken and its ids; the key is 0 where the slot is free.
#[derive(Clone, Copy, Default)]
struct Slot {
    key: u128,
    length: u32,
    ids: [u32; MOST_IDS],
}

/// Encodes, with a table of its own: one thread at a time, and always with the same model.
pub struct TokenEncoder {
    slots: Vec<Slot>,
    taken: usize,
    scratch: Scratch,
}

impl Default for TokenEncoder {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); FIRST_SLOTS], taken: 0, scratch: Scratch::default() }
    }
}

impl TokenEncoder {
    /// Appends the ids of a section of a text.
    pub fn encode(
        &mut self,
        model: &BytePairModel,
        pretokenizer: &Pretokenizer,
        section: &str,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let bytes = section.as_bytes();
        pretokenizer.for_each_pretoken(section, |range| match short_key(bytes, range.start, range.len()) {
            Some(key) => self.encode_short(model, key, &bytes[range], ids),
            None => model.encode(&bytes[range], &mut self.scratch, ids),
        })
    }

    #[inline]
    fn encode_short(&mut self, model: &BytePairModel, key: u128, pretoken: &[u8], ids: &mut Vec<u32>) {
        let mask = self.slots.len() - 1;
        let mut at = hash_of_short(key) as usize & mask;
        while self.slots[at].key != key {
            if self.slots[at].key == 0 {
                return self.encode_new(model, at, key, pretoken, ids);
            }
            at = (at + 1) & mask;
        }
        let slot = &self.slots[at];
        ids.extend_from_slice(&slot.ids[..slot.length as usize]);
    }

    #[cold]
    fn encode_new(&mut self, model: &BytePairModel, at: usize, key: u128, pretoken: &[u8], ids: &mut Vec<u32>) {
        let start = ids.len();
        model.encode(pretoken, &mut self.scratch, ids);
        let new = &ids[start..];
        if let Some(kept) = self.slots[at].ids.get_mut(..new.len()) {
            kept.copy_from_slice(new);
            (self.slots[at].key, self.slots[at].length) = (key, new.len() as u32);
            self.taken += 1;
            if self.taken * 4 > self.slots.len() * 3 {
                self.make_room();
            }
        }
    }

    fn make_room(&mut self) {
        if self.slots.len() == MOST_SLOTS {
            self.slots.fill(Slot::default());
            self.taken = 0;
            return;
        }
        let length = self.slots.len() * 2;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); length]);
        for slot in slots.into_iter().filter(|slot| slot.key != 0) {
            let mut at = hash_of_short(slot.key) as usize & (length - 1);
            while self.slots[at].key != 0 {
                at = (at + 1) & (length - 1);
            }
            self.slots[at] = slot;
        }
    }
}
