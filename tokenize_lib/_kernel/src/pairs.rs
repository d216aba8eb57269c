//! Counts of adjacent pairs.

use crate::alphabet::BARRIER;
use crate::error::{KernelError, Result};
use crate::hash::{PairMap, mix, pair_key, partition_of};

pub const PAIR_COUNT: KernelError = KernelError::Overflow("a pair");

/// Pair -> count over all pretokens seen. Positions may overlap: `aaa` holds (a, a) twice.
#[derive(Default)]
pub struct PairTable {
    counts: PairMap<i64>,
}

impl PairTable {
    pub fn add_symbols(&mut self, symbols: &[u32], count: i64) -> Result<()> {
        for pair in symbols.windows(2) {
            if pair[0] != BARRIER && pair[1] != BARRIER {
                self.add(pair_key(pair[0], pair[1]), count)?;
            }
        }
        Ok(())
    }

    #[inline]
    pub fn add(&mut self, key: u64, count: i64) -> Result<()> {
        let total = self.counts.entry(key).or_insert(0);
        *total = total.checked_add(count).ok_or(PAIR_COUNT)?;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn nbytes(&self) -> usize {
        self.counts.allocation_size()
    }

    /// Empties the table into `partitions` lists of (key, count), by the hash of the pair.
    pub fn drain(&mut self, partitions: usize) -> Vec<Vec<(u64, i64)>> {
        let mut parts: Vec<Vec<(u64, i64)>> = (0..partitions).map(|_| Vec::new()).collect();
        for (key, count) in std::mem::take(&mut self.counts) {
            parts[partition_of(mix(key), partitions)].push((key, count));
        }
        parts
    }
}
