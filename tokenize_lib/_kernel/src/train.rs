//! Incremental BPE on a round's segments: makes merges for as long as the best count reaches the threshold.
//!
//! All segments lie in one array of slots, a `BARRIER` between them. A token lies in the slots of the
//! round-start symbols it was merged from; its id stands in its first and its last slot, so the next
//! token starts `width` slots on and the previous token's id is one slot back. By the "one derivation"
//! lemma (docs/threshold-rounds.md) every occurrence of a token has the same width, so a table of widths
//! by id is all that is needed to walk, and a merge touches three slots.
//!
//! Each pair that can still be merged knows its count and the slots where it was made, ascending. The
//! slots go stale as their neighbours merge and are checked when used. A pair's count never grows after
//! the merge that made it, so a pair that is under the threshold then is forgotten.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use crate::alphabet::BARRIER;
use crate::error::{KernelError, Result};
use crate::hash::{PairMap, pair_key, pair_of};
use crate::pairs::PAIR_COUNT;
use crate::segments::Segment;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest (left id, right id).
    Ids,
    /// The pair that stands first in the corpus.
    FirstSeen,
}

/// What bounds and steers one round of merging.
pub struct Rules {
    /// Merge while the best count is at least this.
    pub threshold: i64,
    pub max_merges: usize,
    pub tie_break: TieBreak,
    /// A merged token may not be longer than this, in the unit of `lengths`.
    pub max_token_length: u32,
    /// The length of each token so far, by id; the next merge gets the id `lengths.len()`.
    pub lengths: Vec<u32>,
    /// Where forms of characters have marks: the strings of the tokens so far, none of which may be made again.
    pub strings: Option<Strings>,
}

/// The strings of all tokens, and the prefix that a continuing token loses when something is put before it.
pub struct Strings {
    pub tokens: Vec<Box<[u8]>>,
    pub taken: HashSet<Box<[u8]>>,
    pub continuing_prefix: Vec<u8>,
}

impl Strings {
    pub fn new(tokens: Vec<Box<[u8]>>, continuing_prefix: Vec<u8>) -> Self {
        let taken = tokens.iter().cloned().collect();
        Self {
            tokens,
            taken,
            continuing_prefix,
        }
    }

    fn joined(&self, left: u32, right: u32) -> Box<[u8]> {
        let right = &*self.tokens[right as usize];
        let right = right
            .strip_prefix(&*self.continuing_prefix)
            .unwrap_or(right);
        [&*self.tokens[left as usize], right].concat().into()
    }

    /// Takes the merged string, unless some token has it.
    fn take(&mut self, left: u32, right: u32) -> bool {
        let joined = self.joined(left, right);
        let fresh = self.taken.insert(joined.clone());
        if fresh {
            self.tokens.push(joined);
        }
        fresh
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    /// The pair's count, overlapping places each counted.
    pub count: i64,
    /// In how many places of the corpus it was merged: under `count` only where places overlapped.
    pub replaced: i64,
}

/// A pair's count and its slots: `lists[list][from..to]`, all before `from` known to be stale.
struct Pair {
    count: i64,
    list: u32,
    from: u32,
    to: u32,
}

/// Count, then what decides a tie, then the pair. The greatest is merged next.
type Candidate = (i64, Reverse<u32>, Reverse<u64>);

pub struct Trainer {
    rules: Rules,
    slots: Vec<u32>,
    /// Where the count of the segments changes: (first slot, count), ascending.
    weights: Vec<(u32, i64)>,
    widths: Vec<u32>,
    pairs: PairMap<Pair>,
    lists: Vec<Vec<u32>>,
    candidates: BinaryHeap<Candidate>,
    left: Neighbours,
    right: Neighbours,
}

/// What stands on one side of the places of one merge: by neighbour, the summed count and the slots.
#[derive(Default)]
struct Neighbours {
    counts: Vec<i64>,       // by id
    places: Vec<u32>,       // by id: how many slots; then where its next slot goes
    touched: Vec<u32>,      // ids with places
    slots: Vec<(u32, u32)>, // (id, slot) in the order met
}

impl Neighbours {
    fn grow(&mut self, ids: usize) {
        self.counts.resize(ids, 0);
        self.places.resize(ids, 0);
    }

    #[inline]
    fn add(&mut self, id: u32, slot: u32, count: i64) -> Result<()> {
        let at = id as usize;
        if self.places[at] == 0 {
            self.touched.push(id);
        }
        self.places[at] += 1;
        self.counts[at] = self.counts[at].checked_add(count).ok_or(PAIR_COUNT)?;
        self.slots.push((id, slot));
        Ok(())
    }

    fn clear(&mut self) {
        for id in self.touched.drain(..) {
            self.counts[id as usize] = 0;
            self.places[id as usize] = 0;
        }
        self.slots.clear();
    }
}

impl Trainer {
    /// `segments` must be ordered: by falling count for ties by ids (any order is right, this one is
    /// quick), by place for ties by first place. `slots`: their symbols and one more for each.
    pub fn new<'a>(
        segments: impl Iterator<Item = Segment<'a>>,
        slots: usize,
        rules: Rules,
    ) -> Result<Self> {
        let mut slots = Vec::with_capacity(slots + 1);
        let mut weights: Vec<(u32, i64)> = Vec::new();
        slots.push(BARRIER);
        for segment in segments {
            if weights
                .last()
                .is_none_or(|&(_, count)| count != segment.count)
            {
                weights.push((slots.len() as u32, segment.count));
            }
            slots.extend_from_slice(segment.symbols);
            slots.push(BARRIER);
            if slots.len() >= u32::MAX as usize {
                return Err(KernelError::Value(
                    "a round's segments hold over 2^32 symbols: give less --memory, so that the threshold is higher".into(),
                ));
            }
        }
        let ids = rules.lengths.len();
        let mut trainer = Self {
            rules,
            slots,
            weights,
            widths: vec![1; ids],
            pairs: PairMap::default(),
            lists: Vec::new(),
            candidates: BinaryHeap::new(),
            left: Neighbours::default(),
            right: Neighbours::default(),
        };
        trainer.index_pairs()?;
        Ok(trainer)
    }

    /// Counts the pairs of all segments and lists their slots.
    fn index_pairs(&mut self) -> Result<()> {
        let mut weight = Weights::new(&self.weights);
        for (slot, pair) in (0u32..).zip(self.slots.windows(2)) {
            if pair[0] == BARRIER || pair[1] == BARRIER {
                continue;
            }
            let entry = self
                .pairs
                .entry(pair_key(pair[0], pair[1]))
                .or_insert(Pair {
                    count: 0,
                    list: 0,
                    from: 0,
                    to: 0,
                });
            entry.count = entry.count.checked_add(weight.at(slot)).ok_or(PAIR_COUNT)?;
            entry.to += 1;
        }
        let Self { pairs, rules, .. } = self;
        pairs.retain(|&key, pair| pair.count >= rules.threshold && fits(rules, key));
        let mut total = 0;
        for pair in self.pairs.values_mut() {
            let places = pair.to;
            (pair.from, pair.to) = (total, total);
            total += places;
        }
        let mut list = vec![0; total as usize];
        for (slot, pair) in (0u32..).zip(self.slots.windows(2)) {
            // (BARRIER, x) and (x, BARRIER) are never in the map.
            if let Some(pair) = self.pairs.get_mut(&pair_key(pair[0], pair[1])) {
                list[pair.to as usize] = slot;
                pair.to += 1;
            }
        }
        self.lists.push(list);
        let first_seen = self.rules.tie_break == TieBreak::FirstSeen;
        self.candidates = self
            .pairs
            .iter()
            .map(|(&key, pair)| {
                let first = if first_seen {
                    self.lists[0][pair.from as usize]
                } else {
                    0
                };
                (pair.count, Reverse(first), Reverse(key))
            })
            .collect();
        Ok(())
    }

    /// Makes merges until the rules end the round. `tick` is called now and then with the number of
    /// merges made; its error ends the round.
    pub fn run<E: From<KernelError>>(
        &mut self,
        mut tick: impl FnMut(usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Merge>, E> {
        let mut merges = Vec::new();
        while merges.len() < self.rules.max_merges {
            let Some((key, count)) = self.best() else {
                break;
            };
            let (left, right) = pair_of(key);
            if self
                .rules
                .strings
                .as_mut()
                .is_some_and(|strings| !strings.take(left, right))
            {
                self.pairs.remove(&key);
                continue;
            }
            let replaced = self.merge(key)?;
            merges.push(Merge {
                left,
                right,
                count,
                replaced,
            });
            if merges.len() % 128 == 0 {
                tick(merges.len())?;
            }
        }
        Ok(merges)
    }

    /// The pair to merge next, with its count; it stays in the table.
    fn best(&mut self) -> Option<(u64, i64)> {
        while let Some(mut top) = self.candidates.peek_mut() {
            let (count, Reverse(first), Reverse(key)) = *top;
            // Counts only fall and first places only move on: a candidate that is still as it was
            // pushed is the greatest; another is put back as it is now.
            let now = self
                .pairs
                .get_mut(&key)
                .filter(|pair| pair.count >= self.rules.threshold);
            let now = now.map(|pair| {
                let first = match self.rules.tie_break {
                    TieBreak::Ids => 0,
                    TieBreak::FirstSeen => {
                        first_place(pair, &self.lists, &self.slots, &self.widths, key)
                    }
                };
                (pair.count, first)
            });
            match now {
                None => {
                    std::collections::binary_heap::PeekMut::pop(top);
                    self.pairs.remove(&key);
                }
                Some(now) if now == (count, first) => {
                    std::collections::binary_heap::PeekMut::pop(top);
                    return Some((key, count));
                }
                Some((count, first)) => *top = (count, Reverse(first), Reverse(key)),
            }
        }
        None
    }

    /// Merges the pair everywhere, into the next id. Returns in how many places of the corpus.
    fn merge(&mut self, key: u64) -> Result<i64> {
        let (a, b) = pair_of(key);
        let new = self.rules.lengths.len() as u32;
        let (width_a, width_b) = (self.widths[a as usize], self.widths[b as usize]);
        let length = self.rules.lengths[a as usize].saturating_add(self.rules.lengths[b as usize]);
        self.rules.lengths.push(length);
        self.widths.push(width_a + width_b);
        self.left.grow(new as usize + 1);
        self.right.grow(new as usize + 1);

        let Some(pair) = self.pairs.remove(&key) else {
            return Ok(0);
        };
        let mut replaced = 0;
        let mut weight = Weights::new(&self.weights);
        let slots = &mut self.slots;
        for &slot in &self.lists[pair.list as usize][pair.from as usize..pair.to as usize] {
            let start = slot as usize;
            let middle = start + width_a as usize;
            if slots[start] != a || slots[middle] != b {
                continue;
            }
            let end = middle + width_b as usize;
            let count = weight.at(slot);
            replaced += count; // at most the pair's count, which was checked
            let (before, after) = (slots[start - 1], slots[end]);
            // The slots between first and last hold old ids; the middle one could pass for a token's first.
            slots[middle] = BARRIER;
            slots[start] = new;
            slots[end - 1] = new;
            if before != BARRIER {
                self.left
                    .add(before, slot - self.widths[before as usize], count)?;
            }
            if after != BARRIER {
                self.right.add(after, slot, count)?;
            }
        }
        self.update_pairs(a, b, new);
        Ok(replaced)
    }

    /// Takes what the merge of (a, b) took from the pairs around it, and enters the pairs it made.
    fn update_pairs(&mut self, a: u32, b: u32, new: u32) {
        let (mut left, mut right) = (
            std::mem::take(&mut self.left),
            std::mem::take(&mut self.right),
        );
        // Every place took one (x, a) and made one (x, new), and so on the right. Where the pair stood
        // twice in a row, the first place made a (new, a) that the second took again.
        let undone = left.counts[new as usize];
        for &x in &left.touched {
            let count = left.counts[x as usize];
            if x != new
                && let Some(pair) = self.pairs.get_mut(&pair_key(x, a))
            {
                pair.count -= count;
            }
        }
        for &y in &right.touched {
            if let Some(pair) = self.pairs.get_mut(&pair_key(b, y)) {
                pair.count -= right.counts[y as usize];
            }
        }
        if undone > 0 {
            right.counts[a as usize] -= undone;
        }
        self.enter(&mut left, |x| pair_key(x, new));
        self.enter(&mut right, |y| pair_key(new, y));
        left.clear();
        right.clear();
        (self.left, self.right) = (left, right);
    }

    /// Enters the new pairs of one side that can still be merged, with their slots.
    fn enter(&mut self, side: &mut Neighbours, key_of: impl Fn(u32) -> u64) {
        const DROPPED: u32 = u32::MAX;
        let list = self.lists.len() as u32;
        let mut total = 0;
        for &id in &side.touched {
            let places = &mut side.places[id as usize];
            let key = key_of(id);
            let count = side.counts[id as usize];
            if count < self.rules.threshold || !fits(&self.rules, key) {
                *places = DROPPED;
                continue;
            }
            self.pairs.insert(
                key,
                Pair {
                    count,
                    list,
                    from: total,
                    to: total + *places,
                },
            );
            total += std::mem::replace(places, total);
        }
        if total == 0 {
            return;
        }
        let mut slots = vec![0; total as usize];
        for &(id, slot) in &side.slots {
            let place = &mut side.places[id as usize];
            if *place != DROPPED {
                slots[*place as usize] = slot;
                *place += 1;
            }
        }
        let first_seen = self.rules.tie_break == TieBreak::FirstSeen;
        for &id in &side.touched {
            let end = side.places[id as usize];
            if end != DROPPED {
                let key = key_of(id);
                let pair = &self.pairs[&key];
                let first = if first_seen {
                    slots[pair.from as usize]
                } else {
                    0
                };
                self.candidates
                    .push((pair.count, Reverse(first), Reverse(key)));
            }
        }
        self.lists.push(slots);
    }
}

/// Whether the merged token is short enough.
#[inline]
fn fits(rules: &Rules, key: u64) -> bool {
    let (left, right) = pair_of(key);
    let length = |id: u32| u64::from(rules.lengths[id as usize]);
    length(left) + length(right) <= u64::from(rules.max_token_length)
}

/// The first slot where the pair still stands (in corpus order); moves the pair's list on to it.
fn first_place(
    pair: &mut Pair,
    lists: &[Vec<u32>],
    slots: &[u32],
    widths: &[u32],
    key: u64,
) -> u32 {
    let (a, b) = pair_of(key);
    let width = widths[a as usize];
    while pair.from < pair.to {
        let slot = lists[pair.list as usize][pair.from as usize];
        if slots[slot as usize] == a && slots[(slot + width) as usize] == b {
            return slot;
        }
        pair.from += 1;
    }
    u32::MAX
}

/// The count at a slot, for slots that are asked in ascending order.
struct Weights<'a> {
    left: &'a [(u32, i64)],
}

impl<'a> Weights<'a> {
    fn new(weights: &'a [(u32, i64)]) -> Self {
        Self { left: weights }
    }

    #[inline]
    fn at(&mut self, slot: u32) -> i64 {
        if self.left.get(1).is_some_and(|&(start, _)| start <= slot) {
            self.advance(slot);
        }
        self.left[0].1
    }

    /// Gallops on to the last change at or before `slot`.
    #[cold]
    fn advance(&mut self, slot: u32) {
        let mut step = 1;
        while self.left.get(step).is_some_and(|&(start, _)| start <= slot) {
            self.left = &self.left[step..];
            step *= 2;
        }
        let end = step.min(self.left.len());
        let behind = self.left[..end].partition_point(|&(start, _)| start <= slot);
        self.left = &self.left[behind - 1..];
    }
}
