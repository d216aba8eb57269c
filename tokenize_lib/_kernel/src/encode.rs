//! Applies merges to symbols: the lowest rank first, equal ranks from left to right.
//!
//! Applying the merges of round k to symbols that hold all earlier merges gives what applying all
//! merges to the start symbols gives, as ranks only grow: no earlier merge can become possible
//! again (a merged pair never comes back, docs/threshold-rounds.md).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::alphabet::BARRIER;
use crate::hash::{PairMap, pair_key};

/// Up to here a plain scan for the lowest rank beats the heap (quadratic, but in one cache line or few).
const SHORT: usize = 48;
const NONE: u32 = u32::MAX;

/// An ordered list of merges. Ids of merged tokens are consecutive, so a rank and an id are one number.
pub struct Merges {
    new_ids: PairMap<u32>,
}

impl Merges {
    /// `pairs[k]` makes the token `first_id + k`.
    pub fn new(pairs: impl ExactSizeIterator<Item = (u32, u32)>, first_id: u32) -> Self {
        let mut new_ids = PairMap::with_capacity_and_hasher(pairs.len(), Default::default());
        for (id, (left, right)) in (first_id..).zip(pairs) {
            new_ids.entry(pair_key(left, right)).or_insert(id);
        }
        Self { new_ids }
    }

    #[inline]
    fn get(&self, left: u32, right: u32) -> u32 {
        self.new_ids.get(&pair_key(left, right)).copied().unwrap_or(NONE)
    }

    /// Merges `symbols` in place and keeps its first part that is left.
    pub fn apply(&self, symbols: &mut Vec<u32>, scratch: &mut Scratch) {
        if symbols.len() < 2 || self.new_ids.is_empty() {
            return;
        }
        if symbols.len() <= SHORT { self.apply_short(symbols, scratch) } else { self.apply_long(symbols, scratch) }
    }

    fn apply_short(&self, symbols: &mut Vec<u32>, scratch: &mut Scratch) {
        let made = &mut scratch.made; // made[i]: what the pair at i merges into
        made.clear();
        made.extend(symbols.windows(2).map(|pair| self.get(pair[0], pair[1])));
        loop {
            let Some((at, &id)) = made.iter().enumerate().min_by_key(|&(_, &id)| id) else {
                return;
            };
            if id == NONE {
                return;
            }
            symbols[at] = id;
            symbols.remove(at + 1);
            made.remove(at);
            if at > 0 {
                made[at - 1] = self.get(symbols[at - 1], id);
            }
            if at < made.len() {
                made[at] = self.get(id, symbols[at + 1]);
            }
        }
    }

    /// O(n log n): a heap of possible merges over a linked list of symbols.
    fn apply_long(&self, symbols: &mut Vec<u32>, scratch: &mut Scratch) {
        let len = symbols.len();
        let Scratch { next, previous, heap, .. } = scratch;
        next.clear();
        next.extend(1..=len as u64);
        previous.clear();
        previous.extend((0..len as u64).map(|at| at.wrapping_sub(1)));
        heap.clear();
        heap.extend(symbols.windows(2).enumerate().filter_map(|(at, pair)| {
            let id = self.get(pair[0], pair[1]);
            (id != NONE).then_some(Reverse((id, at as u64)))
        }));
        while let Some(Reverse((id, at))) = heap.pop() {
            let left = at as usize;
            let right = next[left] as usize;
            // Stale when either side was merged since: a pair makes one id only, so comparing ids is enough.
            if symbols[left] == BARRIER || right >= len || self.get(symbols[left], symbols[right]) != id {
                continue;
            }
            let after = next[right];
            symbols[left] = id;
            symbols[right] = BARRIER;
            next[left] = after;
            if (after as usize) < len {
                previous[after as usize] = at;
                let id = self.get(id, symbols[after as usize]);
                if id != NONE {
                    heap.push(Reverse((id, at)));
                }
            }
            let before = previous[left];
            if before != u64::MAX {
                let id = self.get(symbols[before as usize], id);
                if id != NONE {
                    heap.push(Reverse((id, before)));
                }
            }
        }
        let mut kept = 0;
        let mut at = 0;
        while at < len {
            symbols[kept] = symbols[at];
            kept += 1;
            at = next[at] as usize;
        }
        symbols.truncate(kept);
    }
}

/// Buffers that `apply` uses again and again.
#[derive(Default)]
pub struct Scratch {
    made: Vec<u32>,
    next: Vec<u64>,
    previous: Vec<u64>,
    heap: BinaryHeap<Reverse<(u32, u64)>>,
}
