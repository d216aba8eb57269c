//! The hot loop of counting: how many tokens a text is, with the counts of pretokens seen before.
//!
//! A pretoken of at most 15 bytes lies in a table slot of 16 bytes together with its count. Pretokens
//! are looked up in batches, in passes without a branch that depends on the text: first their keys
//! and the slots where they may be, which are asked for at once; then all are compared. The few that
//! were not there, and those too long for a slot, are then looked up one by one. Both tables have a
//! largest size, at which they are emptied: what is frequent comes back at once.

use std::ops::Range;

use crate::byte_pair_model::{BytePairModel, Scratch};
use crate::count::{LONGEST_INLINE, hash_of_long, hash_of_short, prefetch, short_key};
use crate::error::Result;
use crate::long_counts::LongCounts;
use crate::pretokenize::Pretokenizer;

const BATCH: usize = 128;
const FIRST_SLOTS: usize = 1 << 12;
/// 16 MiB.
const MOST_SLOTS: usize = 1 << 20;

/// Above its bytes a slot has the pretoken's length, 4 bits, and above that its count, 4 bits: a
/// pretoken is as many tokens as it has bytes at most.
const COUNT_SHIFT: u32 = 124;

/// Counts tokens, with tables of its own: one thread at a time, and always with the same model.
pub struct TokenCounter {
    /// A power of two of slots, zero where free, and a last one that is zero always: there a
    /// pretoken that is not looked up in this table has no tokens.
    slots: Vec<u128>,
    taken: usize,
    long_counts: LongCounts,
    batch: Box<Batch>,
    scratch: Scratch,
}

struct Batch {
    length: usize,
    ranges: [Range<usize>; BATCH],
    keys: [u128; BATCH],
    homes: [usize; BATCH],
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self {
            slots: vec![0; FIRST_SLOTS + 1],
            taken: 0,
            long_counts: LongCounts::default(),
            batch: Box::new(Batch {
                length: 0,
                ranges: std::array::from_fn(|_| 0..0),
                keys: [0; BATCH],
                homes: [0; BATCH],
            }),
            scratch: Scratch::default(),
        }
    }
}

impl TokenCounter {
    /// The tokens of a section of a text.
    pub fn count(&mut self, model: &BytePairModel, pretokenizer: &Pretokenizer, section: &str) -> Result<u64> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.count_with_avx2(model, pretokenizer, section) };
        }
        self.count_section(model, pretokenizer, section)
    }

    /// The same, compiled for processors of the last ten years.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn count_with_avx2(&mut self, model: &BytePairModel, pretokenizer: &Pretokenizer, section: &str) -> Result<u64> {
        self.count_section(model, pretokenizer, section)
    }

    #[inline(always)]
    fn count_section(&mut self, model: &BytePairModel, pretokenizer: &Pretokenizer, section: &str) -> Result<u64> {
        let bytes = section.as_bytes();
        let mut tokens = 0;
        self.batch.length = 0;
        pretokenizer.for_each_pretoken(section, |range| {
            self.batch.ranges[self.batch.length % BATCH] = range;
            self.batch.length += 1;
            if self.batch.length == BATCH {
                tokens += self.count_batch(model, bytes);
                self.batch.length = 0;
            }
        })?;
        Ok(tokens + self.count_batch(model, bytes))
    }

    #[inline(never)]
    fn count_batch(&mut self, model: &BytePairModel, bytes: &[u8]) -> u64 {
        let Batch { length, ranges, keys, homes } = &mut *self.batch;
        let length = (*length).min(BATCH);
        let always_free = self.slots.len() - 1;
        let mut long = [0; BATCH];
        let mut long_ones = 0;
        for at in 0..length {
            let range = &ranges[at];
            let is_long = range.len() > LONGEST_INLINE;
            long[long_ones % BATCH] = at;
            long_ones += usize::from(is_long);
            let key = short_key(bytes, range.start, range.len().min(LONGEST_INLINE)).unwrap_or_default();
            let home = hash_of_short(key) as usize & (always_free - 1);
            keys[at] = if is_long { 0 } else { key };
            homes[at] = if is_long { always_free } else { home };
            prefetch(&self.slots[homes[at]]);
        }
        let mut absent = [0; BATCH];
        let mut absences = 0;
        let mut tokens = 0;
        for at in 0..length {
            let slot = self.slots[homes[at]];
            let is_here = is_same(slot, keys[at]);
            tokens += if is_here { (slot >> COUNT_SHIFT) as u64 } else { 0 };
            absent[absences % BATCH] = at;
            absences += usize::from(!is_here);
        }
        for &at in &absent[..absences] {
            let (key, pretoken) = (self.batch.keys[at], &bytes[self.batch.ranges[at].clone()]);
            tokens += self.count_absent(model, key, pretoken);
        }
        if long_ones > 0 {
            tokens += self.count_long(model, bytes, &long[..long_ones]);
        }
        tokens
    }

    /// The tokens of a short pretoken that is not in the first slot it may be in. It is there after.
    fn count_absent(&mut self, model: &BytePairModel, key: u128, pretoken: &[u8]) -> u64 {
        let mask = self.slots.len() - 2;
        let home = hash_of_short(key) as usize & mask;
        let mut at = home;
        while self.slots[at] != 0 {
            if is_same(self.slots[at], key) {
                // Between its place and the other's no slot is free: both are still found.
                self.slots.swap(at, home);
                return (self.slots[home] >> COUNT_SHIFT) as u64;
            }
            at = (at + 1) & mask;
        }
        let tokens = model.count(pretoken, &mut self.scratch);
        self.slots[at] = key | (tokens as u128) << COUNT_SHIFT;
        self.slots.swap(at, home);
        self.taken += 1;
        if self.taken * 4 > self.slots.len() * 3 {
            self.make_room();
        }
        tokens as u64
    }

    #[cold]
    fn make_room(&mut self) {
        if self.slots.len() > MOST_SLOTS {
            self.slots.fill(0);
            self.taken = 0;
            return;
        }
        let length = (self.slots.len() - 1) * 2;
        for slot in std::mem::replace(&mut self.slots, vec![0; length + 1]).into_iter().filter(|&slot| slot != 0) {
            let mut at = hash_of_short(slot << 4 >> 4) as usize & (length - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (length - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// The tokens of these pretokens of the batch.
    #[inline(never)]
    fn count_long(&mut self, model: &BytePairModel, bytes: &[u8], long: &[usize]) -> u64 {
        let mut hashes = [0; BATCH];
        for (hash, &at) in hashes.iter_mut().zip(long) {
            let pretoken = &bytes[self.batch.ranges[at].clone()];
            if LongCounts::keeps(pretoken) {
                *hash = hash_of_long(pretoken);
                self.long_counts.prefetch(*hash);
            }
        }
        let mut tokens = 0;
        for (&hash, &at) in hashes.iter().zip(long) {
            let pretoken = &bytes[self.batch.ranges[at].clone()];
            let scratch = &mut self.scratch;
            tokens += if LongCounts::keeps(pretoken) {
                self.long_counts.get_or_insert_with(hash, pretoken, || model.count(pretoken, scratch))
            } else {
                model.count(pretoken, scratch)
            } as u64;
        }
        tokens
    }
}

/// Whether a slot has this key, whatever its count.
#[inline(always)]
fn is_same(slot: u128, key: u128) -> bool {
    (slot ^ key) << (u128::BITS - COUNT_SHIFT) == 0
}
