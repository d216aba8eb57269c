//! Incremental BPE on a round's segments: makes merges for as long as the best count reaches the threshold.
//!
//! All segments lie in one array of slots, a `BARRIER` between them. A token lies in the slots of the
//! round-start symbols it was merged from; its id stands in its first and its last slot, so the next
//! token starts `width` slots on and the previous token's id is one slot back. By the "one derivation"
//! lemma (docs/threshold-rounds.md) every occurrence of a token has the same width, so a table of widths
//! by id is all that is needed to walk, and a merge touches three slots.
//!
//! A pair's count never grows after the merge that made it (or the start of the round). So a candidate
//! is entered once, with its count and the slots where it stands then, and nothing is taken from it when
//! merges around it eat its places: what it counts by now is found when it comes to the top, by looking
//! at its slots. Most candidates never come to the top, and cost nothing more. Only where there are many
//! slots to look at, the count is kept as merges take from it.

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

impl Rules {
    /// Whether a pair of that count may be merged.
    #[inline]
    fn allow(&self, key: u64, count: i64) -> bool {
        let (left, right) = pair_of(key);
        let length = |id: u32| u64::from(self.lengths[id as usize]);
        count >= self.threshold && length(left) + length(right) <= u64::from(self.max_token_length)
    }
}

/// The strings of all tokens, and the prefix that a continuing token loses when something is put before it.
pub struct Strings {
    tokens: Vec<Box<[u8]>>,
    taken: HashSet<Box<[u8]>>,
    continuing_prefix: Vec<u8>,
}

impl Strings {
    pub fn new(tokens: Vec<Box<[u8]>>, continuing_prefix: Vec<u8>) -> Self {
        let taken = tokens.iter().cloned().collect();
        Self { tokens, taken, continuing_prefix }
    }

    fn joined(&self, left: u32, right: u32) -> Box<[u8]> {
        let right = &*self.tokens[right as usize];
        let right = right.strip_prefix(&*self.continuing_prefix).unwrap_or(right);
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

/// A pair that may be merged: its count when last looked at, and its slots then, in `lists[list][from..to]`.
///
/// The greatest is merged next: the highest count, then what decides a tie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    count: i64,
    /// The first of its slots for ties by first place, else 0.
    first: Reverse<u32>,
    key: Reverse<u64>,
    list: u32,
    from: u32,
    to: u32,
}

/// The candidates: a heap of those that count `floor` or more, the others unordered.
struct Candidates {
    heap: BinaryHeap<Candidate>,
    cold: Vec<Candidate>,
    floor: i64,
}

impl Candidates {
    fn new() -> Self {
        Self { heap: BinaryHeap::new(), cold: Vec::new(), floor: i64::MAX }
    }

    fn push(&mut self, candidate: Candidate) {
        if candidate.count >= self.floor {
            self.heap.push(candidate);
        } else {
            self.cold.push(candidate);
        }
    }

    /// The greatest candidate, taken out.
    fn pop(&mut self) -> Option<Candidate> {
        const STEP: i64 = 4; // so that few candidates wait in the heap, and few times all are gone through
        if self.heap.is_empty() {
            let greatest = self.cold.iter().map(|candidate| candidate.count).max()?;
            self.floor = greatest / STEP;
            self.heap.extend(self.cold.extract_if(.., |candidate| candidate.count >= self.floor));
        }
        self.heap.pop()
    }
}

const NONE: u32 = u32::MAX;

/// Places of one pair: their summed count, and how many they are; then, where the next of them is put in a list.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    places: u32,
}

impl Sum {
    fn add(&mut self, count: i64) -> Result<()> {
        self.count = self.count.checked_add(count).ok_or(PAIR_COUNT)?;
        self.places += 1;
        Ok(())
    }

    #[inline]
    fn put(&mut self, list: &mut [u32], slot: u32) {
        if self.places != NONE {
            list[self.places as usize] = slot;
            self.places += 1;
        }
    }
}

/// Gives every pair that is wanted its share of one list; `NONE` to the others. Returns the length of the list.
fn share_out(sums: &mut [Sum], wanted: impl Fn(usize, Sum) -> bool) -> usize {
    let mut total = 0;
    for (number, sum) in sums.iter_mut().enumerate() {
        if wanted(number, *sum) {
            total += std::mem::replace(&mut sum.places, total);
        } else {
            sum.places = NONE;
        }
    }
    total as usize
}

/// What stands on one side of the places of one merge, by neighbour.
#[derive(Default)]
struct Neighbours {
    numbers: Vec<u32>, // by id; `NONE` for what is no neighbour
    ids: Vec<u32>,
    sums: Vec<Sum>,
    slots: Vec<(u32, u32)>, // (number, slot) in the order met
}

impl Neighbours {
    #[inline]
    fn add(&mut self, id: u32, slot: u32, count: i64) -> Result<()> {
        let number = &mut self.numbers[id as usize];
        if *number == NONE {
            *number = self.ids.len() as u32;
            self.ids.push(id);
            self.sums.push(Sum::default());
        }
        self.slots.push((*number, slot));
        self.sums[*number as usize].add(count)
    }

    fn by_id(&self) -> impl Iterator<Item = (u32, Sum)> {
        self.ids.iter().copied().zip(self.sums.iter().copied())
    }

    fn clear(&mut self) {
        for id in self.ids.drain(..) {
            self.numbers[id as usize] = NONE;
        }
        self.sums.clear();
        self.slots.clear();
    }
}

pub struct Trainer {
    rules: Rules,
    slots: Vec<u32>,
    /// Where the count of the segments changes: (first slot, count), ascending.
    weights: Vec<(u32, i64)>,
    widths: Vec<u32>,
    /// Slots of pairs, ascending within a pair.
    lists: Vec<Vec<u32>>,
    candidates: Candidates,
    /// The counts of the candidates with `MANY` slots or more.
    kept_counts: PairMap<i64>,
    left: Neighbours,
    right: Neighbours,
}

/// From here on, looking up a pair at every merge beside it is quicker than looking at its slots.
const MANY: u32 = 4096;

impl Trainer {
    /// `segments` must be ordered: by falling count for ties by ids (any order is right, this one is
    /// quick), by place for ties by first place. `slots`: their symbols and one more for each.
    pub fn new<'a>(segments: impl Iterator<Item = Segment<'a>>, slots: usize, rules: Rules) -> Result<Self> {
        if slots >= u32::MAX as usize {
            return Err(KernelError::Value(
                "a round's segments hold over 2^32 symbols: give less --memory, so that the threshold is higher".into(),
            ));
        }
        let mut all = Vec::with_capacity(slots + 1);
        let mut weights: Vec<(u32, i64)> = Vec::new();
        all.push(BARRIER);
        for segment in segments {
            if weights.last().is_none_or(|&(_, count)| count != segment.count) {
                weights.push((all.len() as u32, segment.count));
            }
            all.extend_from_slice(segment.symbols);
            all.push(BARRIER);
        }
        let widths = vec![1; rules.lengths.len()];
        let mut trainer = Self {
            rules,
            slots: all,
            weights,
            widths,
            lists: Vec::new(),
            candidates: Candidates::new(),
            kept_counts: PairMap::default(),
            left: Neighbours::default(),
            right: Neighbours::default(),
        };
        trainer.index_pairs()?;
        Ok(trainer)
    }

    /// Counts the pairs of all segments, lists their slots, and enters them as candidates.
    fn index_pairs(&mut self) -> Result<()> {
        let mut numbers: PairMap<u32> = PairMap::default();
        let mut keys = Vec::new();
        let mut sums: Vec<Sum> = Vec::new();
        let mut number_at = Vec::with_capacity(self.slots.len());
        let mut weight = Weights::new(&self.weights);
        for (slot, pair) in (0u32..).zip(self.slots.windows(2)) {
            if pair[0] == BARRIER || pair[1] == BARRIER {
                number_at.push(NONE);
                continue;
            }
            let key = pair_key(pair[0], pair[1]);
            let number = *numbers.entry(key).or_insert_with(|| {
                keys.push(key);
                sums.push(Sum::default());
                (keys.len() - 1) as u32
            });
            number_at.push(number);
            sums[number as usize].add(weight.at(slot))?;
        }
        let total = share_out(&mut sums, |number, sum| self.rules.allow(keys[number], sum.count));
        let mut list = vec![0; total];
        for (slot, &number) in (0u32..).zip(&number_at) {
            if let Some(sum) = sums.get_mut(number as usize) {
                sum.put(&mut list, slot);
            }
        }
        self.lists.push(list);
        self.enter(keys.into_iter().zip(sums));
        Ok(())
    }

    /// Enters the pairs whose slots are in the newest list, one behind the other.
    fn enter(&mut self, pairs: impl Iterator<Item = (u64, Sum)>) {
        let list = (self.lists.len() - 1) as u32;
        let mut from = 0;
        for (key, Sum { count, places: to }) in pairs.filter(|(_, sum)| sum.places != NONE) {
            if to - from >= MANY {
                self.kept_counts.insert(key, count);
            }
            self.candidates.push(self.candidate(key, count, list, from, to));
            from = to;
        }
    }

    fn candidate(&self, key: u64, count: i64, list: u32, from: u32, to: u32) -> Candidate {
        let first = match self.rules.tie_break {
            TieBreak::Ids => 0,
            TieBreak::FirstSeen => self.lists[list as usize].get(from as usize).copied().unwrap_or(0),
        };
        Candidate { count, first: Reverse(first), key: Reverse(key), list, from, to }
    }

    /// Makes merges until the rules end the round. `tick` is called now and then with the number of
    /// merges made; its error ends the round.
    pub fn run<E: From<KernelError>>(
        &mut self,
        mut tick: impl FnMut(usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Merge>, E> {
        let mut merges = Vec::new();
        while merges.len() < self.rules.max_merges {
            let Some(best) = self.best() else { break };
            let (left, right) = pair_of(best.key.0);
            if self.rules.strings.as_mut().is_some_and(|strings| !strings.take(left, right)) {
                continue;
            }
            let replaced = self.merge(best)?;
            merges.push(Merge { left, right, count: best.count, replaced });
            if merges.len() % 128 == 0 {
                tick(merges.len())?;
            }
        }
        Ok(merges)
    }

    /// The pair to merge next, taken out.
    fn best(&mut self) -> Option<Candidate> {
        while let Some(then) = self.candidates.pop() {
            // Counts only fall and first places only move on: one that is still as it was entered is the greatest.
            match self.look_again(then) {
                Some(now) if (now.count, now.first) == (then.count, then.first) => return Some(now),
                Some(now) => self.candidates.push(now),
                None => drop(self.kept_counts.remove(&then.key.0)),
            }
        }
        None
    }

    /// The candidate as it is by now; none if it is under the threshold.
    fn look_again(&mut self, then: Candidate) -> Option<Candidate> {
        let (a, b) = pair_of(then.key.0);
        let (slots, width) = (&self.slots, self.widths[a as usize]);
        let stands_at = |slot: u32| slots[slot as usize] == a && slots[(slot + width) as usize] == b;
        let list = &mut self.lists[then.list as usize][then.from as usize..then.to as usize];
        let (mut count, mut from, mut to) = (0, then.from, then.to);
        if let Some(&kept) = self.kept_counts.get(&then.key.0) {
            count = kept;
            if self.rules.tie_break == TieBreak::FirstSeen {
                from += list.iter().take_while(|&&slot| !stands_at(slot)).count() as u32;
            }
        } else {
            let mut weight = Weights::new(&self.weights);
            let mut standing = 0;
            for at in 0..list.len() {
                let slot = list[at];
                if stands_at(slot) {
                    count += weight.at(slot); // at most what it was, which was checked
                    list[standing] = slot;
                    standing += 1;
                }
            }
            to = from + standing as u32;
        }
        (count >= self.rules.threshold).then(|| self.candidate(then.key.0, count, then.list, from, to))
    }

    /// Merges the pair everywhere, into the next id. Returns in how many places of the corpus.
    fn merge(&mut self, pair: Candidate) -> Result<i64> {
        let (a, b) = pair_of(pair.key.0);
        let new = self.rules.lengths.len() as u32;
        let (width_a, width_b) = (self.widths[a as usize], self.widths[b as usize]);
        let length = self.rules.lengths[a as usize].saturating_add(self.rules.lengths[b as usize]);
        self.rules.lengths.push(length);
        self.widths.push(width_a + width_b);
        self.left.numbers.resize(new as usize + 1, NONE);
        self.right.numbers.resize(new as usize + 1, NONE);

        self.kept_counts.remove(&pair.key.0);

        let mut replaced = 0;
        let mut weight = Weights::new(&self.weights);
        let slots = &mut self.slots;
        for &slot in &self.lists[pair.list as usize][pair.from as usize..pair.to as usize] {
            let start = slot as usize;
            let middle = start + width_a as usize;
            if slots[start] != a || slots[middle] != b {
                continue; // where places overlap, the first is merged
            }
            let end = middle + width_b as usize;
            let count = weight.at(slot);
            replaced += count; // at most the pair's count
            let (before, after) = (slots[start - 1], slots[end]);
            // The slots between first and last hold old ids; the middle one could pass for a token's first.
            slots[middle] = BARRIER;
            slots[start] = new;
            slots[end - 1] = new;
            if before != BARRIER {
                self.left.add(before, slot - self.widths[before as usize], count)?;
            }
            if after != BARRIER {
                self.right.add(after, slot, count)?;
            }
        }
        let (mut left, mut right) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        self.take_from_neighbours(a, b, new, &left, &mut right);
        self.enter_made(&mut left, |x| pair_key(x, new));
        self.enter_made(&mut right, |y| pair_key(new, y));
        (self.left, self.right) = (left, right);
        Ok(replaced)
    }

    /// Takes from the kept counts what the merge of (a, b) took: each place one (x, a) and one (b, y).
    fn take_from_neighbours(&mut self, a: u32, b: u32, new: u32, left: &Neighbours, right: &mut Neighbours) {
        let mut take = |key: u64, count: i64| {
            if let Some(kept) = self.kept_counts.get_mut(&key) {
                *kept -= count;
            }
        };
        right.by_id().for_each(|(y, sum)| take(pair_key(b, y), sum.count));
        for (x, sum) in left.by_id() {
            if x != new {
                take(pair_key(x, a), sum.count);
            } else {
                // Where the pair stood twice in a row, the first place made a (new, a) that the second took again.
                right.sums[right.numbers[a as usize] as usize].count -= sum.count;
            }
        }
    }

    /// Enters the new pairs of one side as candidates, and empties it.
    fn enter_made(&mut self, side: &mut Neighbours, key_of: impl Fn(u32) -> u64) {
        let Neighbours { ids, sums, slots, .. } = side;
        let total = share_out(sums, |number, sum| self.rules.allow(key_of(ids[number]), sum.count));
        if total > 0 {
            let mut list = vec![0; total];
            for &(number, slot) in &*slots {
                sums[number as usize].put(&mut list, slot);
            }
            self.lists.push(list);
            self.enter(ids.iter().zip(&*sums).map(|(&id, &sum)| (key_of(id), sum)));
        }
        side.clear();
    }
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
