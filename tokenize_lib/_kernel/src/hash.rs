//! The hashes of the round tables: pairs of symbols and runs of symbols. They decide in which
//! partition of a shuffle a row travels, so they are the same on every machine.

use std::hash::{BuildHasherDefault, Hasher};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 / golden ratio

#[inline]
pub fn mix(value: u64) -> u64 {
    let product = u128::from(value) * u128::from(MULTIPLIER);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of a run of symbols, two symbols a step.
#[inline]
pub fn hash_symbols(symbols: &[u32]) -> u64 {
    let mut state = symbols.len() as u64;
    let (twos, last) = symbols.as_chunks::<2>();
    for &[left, right] in twos {
        state = mix(state ^ pair_key(left, right)).rotate_left(23);
    }
    for &symbol in last {
        state = mix(state ^ u64::from(symbol)).rotate_left(23);
    }
    mix(state)
}

/// A pair as one integer whose order is the order of (left, right).
#[inline]
pub fn pair_key(left: u32, right: u32) -> u64 {
    (u64::from(left) << 32) | u64::from(right)
}

#[inline]
pub fn pair_of(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// Spreads a hash over `partitions` by its high half (the tables use the low bits).
#[inline]
pub fn partition_of(hash: u64, partitions: usize) -> usize {
    (((hash >> 32) * partitions as u64) >> 32) as usize
}

#[derive(Default)]
pub struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

pub type PairMap<V> = hashbrown::HashMap<u64, V, BuildHasherDefault<PairHasher>>;
pub type PairSet = hashbrown::HashSet<u64, BuildHasherDefault<PairHasher>>;
