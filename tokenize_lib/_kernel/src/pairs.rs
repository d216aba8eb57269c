//! Counts of adjacent pairs.

use crate::alphabet::BARRIER;
use crate::error::{KernelError, Result};
use crate::hash::{PairMap, mix, pair_key, pair_of, partition_of};

pub const PAIR_COUNT: KernelError = KernelError::Overflow("a pair");

/// Ids under this are counted in a plain table: the bytes and the first merges make most of a corpus' pairs.
const DENSE: u32 = 512;

/// Pair -> count over all pretokens seen. Positions may overlap: `aaa` holds (a, a) twice.
#[derive(Default)]
pub struct PairTable {
    dense: Vec<i64>, // by left * DENSE + right; empty until a pair of such ids comes
    dense_pairs: usize,
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
        let (left, right) = pair_of(key);
        let total = if left < DENSE && right < DENSE {
            if self.dense.is_empty() {
                self.dense.resize((DENSE * DENSE) as usize, 0);
            }
            let total = &mut self.dense[(left * DENSE + right) as usize];
            self.dense_pairs += usize::from(*total == 0);
            total
        } else {
            self.counts.entry(key).or_insert(0)
        };
        *total = total.checked_add(count).ok_or(PAIR_COUNT)?;
        Ok(())
    }

    /// Distinct pairs.
    pub fn len(&self) -> usize {
        self.counts.len() + self.dense_pairs
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that grow with the pairs; the plain table is there from the start.
    pub fn nbytes(&self) -> usize {
        self.counts.allocation_size()
    }

    /// Empties the table into `partitions` lists of (key, count), by the hash of the pair.
    pub fn drain(&mut self, partitions: usize) -> Vec<Vec<(u64, i64)>> {
        let Self { dense, counts, .. } = std::mem::take(self);
        let dense = dense.into_iter().enumerate().filter(|&(_, count)| count > 0);
        let dense = dense.map(|(at, count)| (pair_key(at as u32 / DENSE, at as u32 % DENSE), count));
        let mut parts: Vec<Vec<(u64, i64)>> = (0..partitions).map(|_| Vec::new()).collect();
        for (key, count) in dense.chain(counts) {
            parts[partition_of(mix(key), partitions)].push((key, count));
        }
        parts
    }
}
