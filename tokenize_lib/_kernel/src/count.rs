//! The hot loop: how often each distinct pretoken stands in the corpus.
//!
//! One open-addressing table. A pretoken of at most 15 bytes lies in its slot as a key of 16 bytes,
//! so a probe is one cache line and one comparison. Pretokens are looked up in batches: the line is
//! asked for when a pretoken is cut and arrives while the next ones are. The pass over a batch only
//! compares each key with the first slot it may be in, and what it does next never depends on the
//! outcome, so no branch is mispredicted. The few that were not there are then looked up one by one.

use crate::error::{KernelError, Result};
use crate::pretokenize::Pretokenizer;

/// The longest pretoken that lies in its slot, in bytes.
pub const LONGEST_INLINE: usize = 15;

/// Set in the top byte of a key, where a short pretoken has its length, if the pretoken is longer.
const LONG: u128 = 0xFF << 120;

const FIRST_SLOTS: usize = 1 << 12;
const BATCH: usize = 128;

/// When the table doubles, pretokens that count as much as this are given their places first: in
/// the first slot they may be in.
const FREQUENT: i64 = 16;

/// Where a pretoken first stood in the corpus; the order of these numbers is that of the corpus.
pub type Place = u128;

/// The place of a document's first byte: 24 bits for its source, 64 for its position there, and 40
/// for the offset within it.
pub fn document_place(source: u64, position: u64) -> Result<Place> {
    if source >= 1 << 24 {
        return Err(KernelError::Value(format!(
            "source {source}: at most 2^24 input files have an order of first occurrence"
        )));
    }
    Ok((u128::from(source) << 104) | (u128::from(position) << 40))
}

/// One distinct pretoken. A slot of zeros is free.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    /// Up to 15 bytes: the bytes, first byte lowest, and the length in the top byte. Longer: the
    /// hash, above it 56 bits of the length, and `LONG`.
    key: u128,
    count: i64,
    /// Where a long pretoken's bytes begin in `long_bytes`.
    long_at: u64,
}

/// Distinct pretokens and their counts, with the place of each one's first occurrence if asked for.
///
/// Counts go up one by one, so none of them can pass 2^63 - 1 before 2^63 bytes of text were read.
pub struct PretokenCounts {
    slots: Vec<Slot>,
    /// Beside `slots`; empty unless first occurrences are kept.
    places: Vec<Place>,
    long_bytes: Vec<u8>,
    distinct: usize,
    keeps_places: bool,
    /// The latest place of a document so far, and whether the last one is it.
    latest: Place,
    in_order: bool,
    batch: Batch,
}

/// Short pretokens that wait to be looked up.
struct Batch {
    length: usize,
    /// No pretoken in it comes before one that was added earlier.
    in_order: bool,
    keys: Box<[u128; BATCH]>,
    /// The first slot that each may be in.
    homes: Box<[usize; BATCH]>,
    places: Box<[Place; BATCH]>,
}

impl PretokenCounts {
    pub fn new(keeps_places: bool) -> Self {
        Self {
            slots: vec![Slot::default(); FIRST_SLOTS],
            places: vec![0; if keeps_places { FIRST_SLOTS } else { 0 }],
            long_bytes: Vec::new(),
            distinct: 0,
            keeps_places,
            latest: 0,
            in_order: true,
            batch: Batch {
                length: 0,
                in_order: true,
                keys: Box::new([0; BATCH]),
                homes: Box::new([0; BATCH]),
                places: Box::new([0; BATCH]),
            },
        }
    }

    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Bytes allocated.
    pub fn nbytes(&self) -> usize {
        size_of_val(&*self.batch.keys)
            + size_of_val(&*self.batch.homes)
            + size_of_val(&*self.batch.places)
            + self.slots.capacity() * size_of::<Slot>()
            + self.places.capacity() * size_of::<Place>()
            + self.long_bytes.capacity()
    }

    /// Counts the pretokens of a document, and says how many there were.
    ///
    /// `place` is that of the document's first byte. After an error the counts are of no use.
    pub fn add(&mut self, pretokenizer: &Pretokenizer, document: &str, place: Place) -> Result<u64> {
        self.in_order = place > self.latest;
        self.batch.in_order &= self.in_order;
        self.latest = self.latest.max(place);
        let mut pretokens = 0;
        pretokenizer.for_each_section(document, |section, offset| {
            let section_place = place + offset as Place;
            let bytes = section.as_bytes();
            pretokenizer.for_each_pretoken(&section, |range| {
                pretokens += 1;
                let place = section_place + range.start as Place;
                match short_key(bytes, range.start, range.len()) {
                    Some(key) => self.add_short(key, place),
                    None => self.add_long(&bytes[range], place),
                }
            })
        })?;
        Ok(pretokens)
    }

    #[inline(always)]
    fn add_short(&mut self, key: u128, place: Place) {
        let home = hash_of_short(key) as usize & (self.slots.len() - 1);
        prefetch(&self.slots[home]);
        let at = self.batch.length % BATCH;
        self.batch.keys[at] = key;
        self.batch.homes[at] = home;
        if self.keeps_places {
            self.batch.places[at] = place;
        }
        self.batch.length = at + 1;
        if self.batch.length == BATCH {
            self.look_up_batch();
        }
    }

    /// Counts what waits in the batch. Due after the last `add`, before anything is read.
    #[inline(never)]
    pub fn look_up_batch(&mut self) {
        let mut absent = [0; BATCH];
        let mut absences = 0;
        // In order, what is in the table already was seen earlier.
        let may_be_first = self.keeps_places && !self.batch.in_order;
        for at in 0..self.batch.length.min(BATCH) {
            let home = self.batch.homes[at];
            let slot = &mut self.slots[home];
            let is_here = slot.key == self.batch.keys[at];
            slot.count += i64::from(is_here);
            absent[absences % BATCH] = at;
            absences += usize::from(!is_here);
            if may_be_first && is_here && self.batch.places[at] < self.places[home] {
                self.places[home] = self.batch.places[at];
            }
        }
        self.batch.length = 0;
        self.batch.in_order = self.in_order;
        for &at in &absent[..absences] {
            let key = self.batch.keys[at];
            let slot = self.find(key, hash_of_short(key), None);
            self.count(slot, key, 0, self.batch.places[at]);
        }
    }

    #[inline(never)]
    fn add_long(&mut self, pretoken: &[u8], place: Place) {
        let hash = hash_of_long(pretoken);
        let key = LONG | ((pretoken.len() as u128) << 64) | u128::from(hash);
        let slot = self.find(key, hash, Some(pretoken));
        let long_at = self.long_bytes.len();
        if self.slots[slot].key == 0 {
            self.long_bytes.extend_from_slice(pretoken);
        }
        self.count(slot, key, long_at as u64, place);
    }

    /// The slot of a pretoken, or the free one where it belongs.
    fn find(&self, key: u128, hash: u64, long: Option<&[u8]>) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            let is_same = || long.is_none_or(|pretoken| pretoken == self.long_pretoken(slot));
            if slot.key == 0 || (slot.key == key && is_same()) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn count(&mut self, at: usize, key: u128, long_at: u64, place: Place) {
        let slot = &mut self.slots[at];
        let is_new = slot.key == 0;
        if is_new {
            *slot = Slot { key, count: 0, long_at };
        }
        slot.count += 1;
        if self.keeps_places && (is_new || place < self.places[at]) {
            self.places[at] = place;
        }
        if is_new {
            self.distinct += 1;
            if self.distinct * 4 > self.slots.len() * 3 {
                self.grow();
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = self.slots.len() * 2;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); length]);
        let new_places = vec![0; if self.keeps_places { length } else { 0 }];
        let places = std::mem::replace(&mut self.places, new_places);
        let taken = || slots.iter().enumerate().filter(|(_, slot)| slot.key != 0);
        let frequent_first =
            taken().filter(|(_, slot)| slot.count >= FREQUENT).chain(taken().filter(|(_, slot)| slot.count < FREQUENT));
        for (from, slot) in frequent_first {
            let mut at = hash_of(slot) as usize & (length - 1);
            while self.slots[at].key != 0 {
                at = (at + 1) & (length - 1);
            }
            self.slots[at] = *slot;
            if self.keeps_places {
                self.places[at] = places[from];
            }
        }
    }

    fn long_pretoken(&self, slot: &Slot) -> &[u8] {
        let start = slot.long_at as usize;
        &self.long_bytes[start..start + long_length(slot.key)]
    }

    /// All distinct pretokens, in no order.
    pub fn counted(&self) -> impl Iterator<Item = Counted<'_>> {
        let places = self.places.iter().copied().chain(std::iter::repeat(0));
        let slots = self.slots.iter().zip(places).filter(|(slot, _)| slot.key != 0);
        slots.map(|(slot, place)| Counted {
            bytes: slot.key.to_le_bytes(),
            long: (slot.key & LONG == LONG).then(|| self.long_pretoken(slot)),
            count: slot.count,
            place,
        })
    }
}

/// One row of the counts.
pub struct Counted<'t> {
    bytes: [u8; 16],
    long: Option<&'t [u8]>,
    pub count: i64,
    pub place: Place,
}

impl Counted<'_> {
    pub fn pretoken(&self) -> &[u8] {
        match self.long {
            Some(pretoken) => pretoken,
            None => &self.bytes[..usize::from(self.bytes[LONGEST_INLINE])],
        }
    }
}

fn long_length(key: u128) -> usize {
    (key >> 64) as usize & ((1 << 56) - 1)
}

/// The key of the pretoken at `start`, if it is short.
#[inline(always)]
pub fn short_key(bytes: &[u8], start: usize, length: usize) -> Option<u128> {
    if length > LONGEST_INLINE {
        return None;
    }
    let word = match bytes.get(start..start + 16) {
        Some(whole) => u128::from_le_bytes(whole.try_into().unwrap_or_default()),
        None => {
            let mut padded = [0; 16];
            padded[..length].copy_from_slice(&bytes[start..start + length]);
            u128::from_le_bytes(padded)
        }
    };
    Some((word & FIRST_BYTES[length]) | ((length as u128) << 120))
}

/// For each length the mask of that many bytes.
const FIRST_BYTES: [u128; LONGEST_INLINE + 1] = {
    let mut masks = [0; LONGEST_INLINE + 1];
    let mut length = 1;
    while length <= LONGEST_INLINE {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// Asks for the cache line of a slot that will be read soon.
#[inline(always)]
pub fn prefetch<T>(slot: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64 processor; a hint reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(slot).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slot;
}

/// The halves of the product folded together: each bit depends on every bit of both factors.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

// Digits of pi: nothing up the sleeve.
const PI: [u64; 3] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0];

#[inline(always)]
pub fn hash_of_short(key: u128) -> u64 {
    fold(key as u64 ^ PI[0], (key >> 64) as u64 ^ PI[1])
}

pub fn hash_of_long(pretoken: &[u8]) -> u64 {
    let (chunks, rest) = pretoken.as_chunks::<16>();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let mut hash = pretoken.len() as u64 ^ PI[2];
    for chunk in chunks.iter().chain([&last]) {
        let word = u128::from_le_bytes(*chunk);
        hash = fold(word as u64 ^ PI[0] ^ hash, (word >> 64) as u64 ^ PI[1]);
    }
    hash
}

fn hash_of(slot: &Slot) -> u64 {
    if slot.key & LONG == LONG { slot.key as u64 } else { hash_of_short(slot.key) }
}
