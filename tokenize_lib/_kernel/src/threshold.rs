//! What a threshold would cost, seen on a sample of the encoded pretoken table.

use std::collections::BTreeMap;

use crate::alphabet::BARRIER;
use crate::error::Result;
use crate::hash::{PairMap, hash_symbols, pair_key};
use crate::segments::{NOWHERE, Segment, SegmentTable};

/// Sampled rows, the true counts of the pairs in them, and how many pairs of the whole have each count.
#[derive(Default)]
pub struct Sample {
    symbols: Vec<u32>,
    ends: Vec<usize>,
    counts: PairMap<i64>,
    pairs_by_count: BTreeMap<i64, usize>,
}

/// The segment table that a threshold gives on the sample and on half of it. The two show how
/// the table grows with the rows: distinct counts grow slower than what they count.
pub struct Sizes {
    /// Segments before equal ones are summed.
    pub instances: usize,
    pub half_segments: usize,
    pub half_symbols: usize,
    pub segments: usize,
    pub symbols: usize,
}

impl Sample {
    pub fn add(&mut self, symbols: &[u32]) {
        for pair in symbols.windows(2) {
            if pair[0] != BARRIER && pair[1] != BARRIER {
                self.counts.insert(pair_key(pair[0], pair[1]), 0);
            }
        }
        self.symbols.extend_from_slice(symbols);
        self.ends.push(self.symbols.len());
    }

    pub fn add_pair(&mut self, key: u64, count: i64) {
        *self.pairs_by_count.entry(count).or_insert(0) += 1;
        if let Some(known) = self.counts.get_mut(&key) {
            *known = count;
        }
    }

    pub fn best(&self) -> i64 {
        self.pairs_by_count.last_key_value().map_or(0, |(&count, _)| count)
    }

    pub fn distinct_pairs(&self) -> usize {
        self.pairs_by_count.values().sum()
    }

    pub fn live_pairs(&self, threshold: i64) -> usize {
        self.pairs_by_count.range(threshold..).map(|(_, pairs)| pairs).sum()
    }

    /// Cuts one half of the rows, then the other too. The halves do not depend on the order of the rows.
    pub fn sizes(&self, threshold: i64) -> Result<Sizes> {
        let mut table = SegmentTable::default();
        let mut instances = self.cut(0, threshold, &mut table)?;
        let (half_segments, half_symbols) = (table.list.len(), table.list.symbol_count());
        instances += self.cut(1, threshold, &mut table)?;
        Ok(Sizes {
            instances,
            half_segments,
            half_symbols,
            segments: table.list.len(),
            symbols: table.list.symbol_count(),
        })
    }

    fn cut(&self, half: u64, threshold: i64, table: &mut SegmentTable) -> Result<usize> {
        let mut instances = 0;
        let mut start = 0;
        for &end in &self.ends {
            let symbols = &self.symbols[start..end];
            start = end;
            if hash_symbols(symbols) >> 63 != half {
                continue;
            }
            let is_live =
                |pair: &[u32]| self.counts.get(&pair_key(pair[0], pair[1])).is_some_and(|&count| count >= threshold);
            for run in symbols.chunk_by(|&left, &right| is_live(&[left, right])) {
                if run.len() > 1 {
                    instances += 1;
                    table.add(Segment { symbols: run, count: 1, place: NOWHERE })?;
                }
            }
        }
        Ok(instances)
    }
}
