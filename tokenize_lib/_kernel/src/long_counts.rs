//! The counts of pretokens that are too long for a slot of `TokenCounter`, up to a length from which
//! hardly any comes twice.

use crate::count::prefetch;

const LONGEST: usize = 128;
const FIRST_SLOTS: usize = 1 << 8;
/// 2 MiB, and with their bytes about 4 MiB more.
const MOST_SLOTS: usize = 1 << 17;

/// A slot of length 0 is free.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Slot {
    hash: u64,
    /// Where its bytes begin.
    start: u32,
    length: u16,
    tokens: u16,
}

pub struct LongCounts {
    slots: Vec<Slot>,
    taken: usize,
    bytes: Vec<u8>,
}

impl Default for LongCounts {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); FIRST_SLOTS], taken: 0, bytes: Vec::new() }
    }
}

impl LongCounts {
    #[inline]
    pub fn keeps(pretoken: &[u8]) -> bool {
        pretoken.len() <= LONGEST
    }

    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[hash as usize & (self.slots.len() - 1)]);
    }

    /// The tokens of a pretoken that `keeps`; `count` gives them the first time.
    #[inline]
    pub fn get_or_insert_with(&mut self, hash: u64, pretoken: &[u8], count: impl FnOnce() -> usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.length == 0 {
                break;
            }
            if slot.hash == hash && self.bytes_of(slot) == pretoken {
                return usize::from(slot.tokens);
            }
            at = (at + 1) & mask;
        }
        let tokens = count();
        // At most 128 bytes for each of the slots: both fit.
        let start = self.bytes.len() as u32;
        self.slots[at] = Slot { hash, start, length: pretoken.len() as u16, tokens: tokens as u16 };
        self.bytes.extend_from_slice(pretoken);
        self.taken += 1;
        if self.taken * 4 > self.slots.len() * 3 {
            self.make_room();
        }
        tokens
    }

    fn bytes_of(&self, slot: Slot) -> &[u8] {
        &self.bytes[slot.start as usize..][..usize::from(slot.length)]
    }

    #[cold]
    fn make_room(&mut self) {
        if self.slots.len() == MOST_SLOTS {
            self.slots.fill(Slot::default());
            self.bytes.clear();
            self.taken = 0;
            return;
        }
        let mask = self.slots.len() * 2 - 1;
        for slot in std::mem::replace(&mut self.slots, vec![Slot::default(); mask + 1]) {
            if slot.length == 0 {
                continue;
            }
            let mut at = slot.hash as usize & mask;
            while self.slots[at].length != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}
