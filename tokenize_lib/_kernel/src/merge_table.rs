//! The merges of a model, looked up by pair.

use crate::error::{KernelError, Result};
use crate::hash::{mix, pair_key};

/// No merge of a pair: a rank behind all others.
pub const NO_MERGE: u32 = u32::MAX;

const ID_BITS: u32 = 21;
const RANK_BITS: u32 = 22;
const FREE: u64 = u64::MAX;

/// Each pair with its rank in a slot of 8 bytes, and the token that each rank makes.
pub struct MergeTable {
    /// From the top: left and right id, 21 bits each, and the rank.
    slots: Box<[u64]>,
    taken: usize,
    /// By hash, a bit of each pair: most pairs that have no merge are told by it alone.
    possible: Box<[u64]>,
    /// The rank of each pair of bytes.
    of_bytes: Box<[u32]>,
    /// What each rank makes; empty if a rank is the id of the token it makes.
    made: Vec<u32>,
}

impl MergeTable {
    const POSSIBLE_BITS: u32 = 21;

    /// For about so many merges, of ids below `ids`; `made` may be empty, see there.
    pub fn new(merges: usize, ids: usize, made: Vec<u32>) -> Result<Self> {
        if ids > 1 << ID_BITS || merges >= 1 << RANK_BITS {
            return Err(KernelError::Value(format!(
                "{ids} tokens and {merges} merges; a vocabulary has at most {} and {}",
                1 << ID_BITS,
                (1 << RANK_BITS) - 1
            )));
        }
        Ok(Self {
            slots: vec![FREE; (merges * 2).next_power_of_two().max(64)].into_boxed_slice(),
            taken: 0,
            possible: vec![0; 1 << (Self::POSSIBLE_BITS - 6)].into_boxed_slice(),
            of_bytes: vec![NO_MERGE; 1 << 16].into_boxed_slice(),
            made,
        })
    }

    /// Where the pair is, or is to be.
    #[inline(always)]
    fn slot(&self, left: u32, right: u32) -> usize {
        let pair = pair_bits(left, right);
        let mask = self.slots.len() - 1;
        let mut at = (mix(pair_key(left, right)) >> 20) as usize & mask;
        while self.slots[at] != FREE && self.slots[at] ^ pair >= 1 << RANK_BITS {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline(always)]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        match self.slots[self.slot(left, right)] {
            FREE => NO_MERGE,
            slot => slot as u32 & ((1 << RANK_BITS) - 1),
        }
    }

    /// The same, faster where there is none.
    #[inline(always)]
    pub fn rank_if_any(&self, left: u32, right: u32) -> u32 {
        let bit = possible_bit(left, right);
        if self.possible[bit / 64] >> (bit % 64) & 1 == 0 { NO_MERGE } else { self.rank(left, right) }
    }

    #[inline(always)]
    pub fn rank_of_bytes(&self, left: u8, right: u8) -> u32 {
        self.of_bytes[usize::from(left) << 8 | usize::from(right)]
    }

    /// The token that a rank makes.
    #[inline(always)]
    pub fn made(&self, rank: u32) -> u32 {
        if self.made.is_empty() { rank } else { self.made[rank as usize] }
    }

    /// Of a pair that has a rank already the later one counts.
    pub fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let at = self.slot(left, right);
        self.taken += usize::from(self.slots[at] == FREE);
        debug_assert!(self.taken < self.slots.len());
        self.slots[at] = pair_bits(left, right) | u64::from(rank);
        let bit = possible_bit(left, right);
        self.possible[bit / 64] |= 1 << (bit % 64);
    }

    pub fn insert_bytes(&mut self, left: u8, right: u8, rank: u32) {
        self.of_bytes[usize::from(left) << 8 | usize::from(right)] = rank;
    }
}

#[inline(always)]
fn pair_bits(left: u32, right: u32) -> u64 {
    u64::from(left) << (ID_BITS + RANK_BITS) | u64::from(right) << RANK_BITS
}

#[inline(always)]
fn possible_bit(left: u32, right: u32) -> usize {
    (mix(pair_key(left, right)) >> (u64::BITS - MergeTable::POSSIBLE_BITS)) as usize
}
