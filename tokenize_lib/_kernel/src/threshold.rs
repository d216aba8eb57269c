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

/// The segment table that a threshold gives on a quarter of the sample, a half, and all of it. They show
/// how the table grows with the rows: distinct counts grow ever slower than what they count.
pub struct Sizes {
    /// Segments of all of it before equal ones are summed.
    pub instances: usize,
    /// Distinct segments.
    pub segments: [usize; 3],
    /// Symbols in them.
    pub symbols: [usize; 3],
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

    /// Cuts a quarter of the rows, another, and the other half. Which rows those are does not depend on their order.
    pub fn sizes(&self, threshold: i64) -> Result<Sizes> {
        let mut table = SegmentTable::default();
        let mut sizes = Sizes { instances: 0, segments: [0; 3], symbols: [0; 3] };
        for (step, quarters) in [0..1, 1..2, 2..4].into_iter().enumerate() {
            sizes.instances += self.cut(threshold, |quarter| quarters.contains(&quarter), &mut table)?;
            sizes.segments[step] = table.list.len();
            sizes.symbols[step] = table.list.symbol_count();
        }
        Ok(sizes)
    }

    fn cut(&self, threshold: i64, wanted: impl Fn(u64) -> bool, table: &mut SegmentTable) -> Result<usize> {
        let is_live = |&left: &u32, &right: &u32| {
            self.counts.get(&pair_key(left, right)).is_some_and(|&count| count >= threshold)
        };
        let (mut start, mut instances) = (0, 0);
        for &end in &self.ends {
            let symbols = &self.symbols[start..end];
            start = end;
            if !wanted(hash_symbols(symbols) >> 62) {
                continue;
            }
            for run in symbols.chunk_by(is_live).filter(|run| run.len() > 1) {
                table.add(Segment { symbols: run, count: 1, place: NOWHERE })?;
                instances += 1;
            }
        }
        Ok(instances)
    }
}
