//! Byte-pair encoding of pretokens, exactly as tiktoken does it with ranks and Hugging Face with merges.
//!
//! Both replace the pair of neighbours of the lowest rank, the leftmost of equal ones, until no pair
//! has a rank. With merges a pair's rank is its place in their list. With ranks it is the id of the
//! token that both make together, if there is one; and then one pair a token is enough: while the
//! pair stands, no merge has crossed the ends of its bytes, and the merges within them were the same
//! as if nothing stood around. So the bytes of each token, merged until two symbols are left, give
//! the only pair that ever becomes that token.
//!
//! Short pretokens are merged so. Long ones need no merging: a sequence of tokens is what merging
//! gives if each token is what its own bytes merge to, and if each two neighbours stay as they are
//! when their bytes are merged: the first merge across an end of a token would come in those two
//! alone as well. So a text is read from left to right, the longest token first, and a shorter one,
//! or another before it, where two neighbours would not stay (after the `bpe` crate of rust-gems).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::byte_strings::ByteStrings;
use crate::error::{KernelError, Result};
use crate::hash::{mix, pair_key};
use crate::merge_table::{MergeTable, NO_MERGE};
use crate::trie::Trie;

/// A byte that no symbol stands for; Hugging Face leaves it out.
pub const NO_SYMBOL: u32 = u32::MAX;

/// Up to here a scan for the lowest rank beats the heap, and up to `FEW` it beats reading from left to right.
const SHORT: usize = 32;
const FEW: usize = 20;

/// The last merge of those that make a token of its bytes, the only one that ever makes it.
#[derive(Clone, Copy, Default)]
struct Made {
    /// One more than the rank; 0 where nothing makes the token: it is a byte, or no merges lead to it.
    time: u32,
    left: u32,
    right: u32,
}

pub struct BytePairModel {
    tokens: ByteStrings,
    byte_ids: [u32; 256],
    drops_bytes: bool,
    merges: MergeTable,
    /// How each token is made.
    made: Vec<Made>,
    /// The tokens that merges make. None where reading from left to right would not do.
    trie: Option<Trie>,
    /// Tokens that no merges make of their bytes.
    has_unmade: bool,
    /// A pretoken that is a token is that token, whatever its merges would give.
    whole_pretokens: bool,
}

impl BytePairModel {
    /// By ranks: the id of a token is its rank.
    pub fn from_ranks(tokens: ByteStrings, byte_ids: [u32; 256]) -> Result<Self> {
        let merges = MergeTable::new(tokens.len(), tokens.len(), Vec::new())?;
        let mut model = Self::new(tokens, merges, byte_ids, true);
        model.check_ids(byte_ids.iter().copied())?;
        let mut scratch = Scratch::default();
        for id in model.ids_by_length() {
            // Merges of all shorter tokens are there.
            if let Some((left, right)) = model.last_two(id, &mut scratch) {
                if model.merges.rank(left, right) == NO_MERGE {
                    model.insert(left, right, id);
                }
                model.set_made(id, left, right);
            }
        }
        model.build_trie();
        Ok(model)
    }

    /// By merges (left, right, new), from the lowest rank to the highest; of equal pairs the last counts.
    pub fn from_merges(
        tokens: ByteStrings,
        merges: impl ExactSizeIterator<Item = (u32, u32, u32)>,
        byte_ids: [u32; 256],
        whole_pretokens: bool,
    ) -> Result<Self> {
        let merges: Vec<_> = merges.collect();
        let table = MergeTable::new(merges.len(), tokens.len(), merges.iter().map(|&(.., new)| new).collect())?;
        let mut model = Self::new(tokens, table, byte_ids, whole_pretokens);
        model.check_ids(byte_ids.iter().copied().filter(|&id| id != NO_SYMBOL))?;
        let mut are_joined = true;
        for (rank, (left, right, new)) in (0..).zip(merges) {
            model.check_ids([left, right, new])?;
            model.insert(left, right, rank);
            let [left, right, new] = [left, right, new].map(|id| model.tokens.get(id));
            are_joined &= new.strip_prefix(left) == Some(right);
        }
        if are_joined && !model.drops_bytes {
            let mut scratch = Scratch::default();
            for id in model.ids_by_length() {
                if let Some((left, right)) = model.last_two(id, &mut scratch) {
                    model.set_made(id, left, right);
                }
            }
            model.build_trie();
        }
        Ok(model)
    }

    fn new(tokens: ByteStrings, merges: MergeTable, byte_ids: [u32; 256], whole_pretokens: bool) -> Self {
        let made = vec![Made::default(); tokens.len()];
        let drops_bytes = byte_ids.contains(&NO_SYMBOL);
        Self { tokens, byte_ids, drops_bytes, merges, made, trie: None, has_unmade: true, whole_pretokens }
    }

    fn insert(&mut self, left: u32, right: u32, rank: u32) {
        self.merges.insert(left, right, rank);
        if let (&[left_byte], &[right_byte]) = (self.tokens.get(left), self.tokens.get(right))
            && [left_byte, right_byte].map(|byte| self.byte_ids[usize::from(byte)]) == [left, right]
        {
            self.merges.insert_bytes(left_byte, right_byte, rank);
        }
    }

    /// The tokens of more than one byte, the shortest first.
    fn ids_by_length(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..self.tokens.len() as u32).filter(|&id| self.tokens.get(id).len() > 1).collect();
        ids.sort_by_key(|&id| self.tokens.get(id).len());
        ids
    }

    /// What a token's bytes are merged to just before they are one symbol.
    fn last_two(&self, id: u32, scratch: &mut Scratch) -> Option<(u32, u32)> {
        self.merge(self.tokens.get(id), scratch, 2);
        match scratch.symbols[..] {
            [left, right] => Some((left, right)),
            _ => None,
        }
    }

    /// Notes that a token is made of these two, if the pair makes it and not another of the same bytes.
    fn set_made(&mut self, id: u32, left: u32, right: u32) {
        let rank = self.merges.rank(left, right);
        if rank != NO_MERGE && self.merges.made(rank) == id {
            self.made[id as usize] = Made { time: rank + 1, left, right };
        }
    }

    /// Reading from left to right needs merges in the order of their ranks: none is made possible by one that ranks
    /// behind it.
    fn build_trie(&mut self) {
        let is_byte = |id: u32| self.tokens.get(id).first().is_some_and(|&byte| self.byte_ids[usize::from(byte)] == id);
        let time = |id: u32| self.made[id as usize].time;
        let is_late = |made: &Made| made.time == 0 || made.time > time(made.left).max(time(made.right));
        if !self.made.iter().all(is_late) {
            return;
        }
        let ids = (0..self.tokens.len() as u32).filter(|&id| !self.tokens.get(id).is_empty());
        let (made, unmade): (Vec<u32>, Vec<u32>) = ids.partition(|&id| time(id) > 0 || is_byte(id));
        self.has_unmade = !unmade.is_empty();
        self.trie = Some(Trie::new(made.into_iter().map(|id| (self.tokens.get(id), id)).collect(), self.tokens.len()));
    }

    fn check_ids(&self, ids: impl IntoIterator<Item = u32>) -> Result<()> {
        match ids.into_iter().find(|&id| id as usize >= self.tokens.len()) {
            Some(id) => Err(KernelError::Value(format!(
                "the id {id} is used, but the vocabulary has {} tokens",
                self.tokens.len()
            ))),
            None => Ok(()),
        }
    }

    /// Appends the ids of a pretoken.
    pub fn encode(&self, pretoken: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) {
        match self.whole(pretoken) {
            Some(id) => ids.push(id),
            None => ids.extend_from_slice(self.merged(pretoken, scratch)),
        }
    }

    /// How many tokens a pretoken is.
    pub fn count(&self, pretoken: &[u8], scratch: &mut Scratch) -> usize {
        match self.whole(pretoken) {
            Some(_) => 1,
            None => self.merged(pretoken, scratch).len(),
        }
    }

    /// The id of a pretoken that is a token, where merges might not give it.
    #[inline]
    fn whole(&self, pretoken: &[u8]) -> Option<u32> {
        if self.whole_pretokens && self.has_unmade { self.tokens.id_of(pretoken) } else { None }
    }

    /// What the bytes of a pretoken are merged to.
    fn merged<'s>(&self, pretoken: &[u8], scratch: &'s mut Scratch) -> &'s [u32] {
        match &self.trie {
            Some(trie) if pretoken.len() > FEW => self.read(trie, pretoken, scratch),
            _ => self.merge(pretoken, scratch, 1),
        }
        &scratch.symbols
    }

    /// Reads the tokens from left to right.
    ///
    /// The tokens read so far are what the bytes before `start` are merged to, and there is one such sequence only: a
    /// place where no token can follow is dead, however it is come to. So each place is left behind once at most.
    fn read(&self, trie: &Trie, pretoken: &[u8], scratch: &mut Scratch) {
        let Scratch { symbols, dead, stable, .. } = scratch;
        symbols.clear();
        dead.clear();
        let mut start = 0;
        let mut next = trie.longest(pretoken);
        while start < pretoken.len() {
            let before = symbols.last().copied();
            let mut token = next;
            while let Some(id) = token {
                let end = start + self.tokens.get(id).len();
                if !is_dead(dead, end) && before.is_none_or(|before| self.is_stable(before, id, stable)) {
                    symbols.push(id);
                    start = end;
                    next = trie.longest(&pretoken[start..]);
                    break;
                }
                token = trie.shorter(id);
            }
            if token.is_none() {
                let Some(before) = symbols.pop() else {
                    return; // Never: the first symbol of what merging gives is always left to be read.
                };
                dead.resize(dead.len().max(start / 64 + 1), 0);
                dead[start / 64] |= 1 << (start % 64);
                start -= self.tokens.get(before).len();
                next = Some(before);
            }
        }
    }

    /// Whether two tokens stay as they are if their bytes are merged.
    #[inline]
    fn is_stable(&self, left: u32, right: u32, known: &mut StablePairs) -> bool {
        let slot = known.slot(left, right);
        // Bit 63 is free: ids have 21 bits.
        let key = pair_key(left, right) << 1 | 1;
        if *slot | 1 << 63 != key | 1 << 63 {
            *slot = key & !(1 << 63) | u64::from(self.would_stay(left, right)) << 63;
        }
        *slot >> 63 == 1
    }

    /// Goes back through the merges that made the two symbols at the border, the latest first: at no time may the
    /// two that stand there have a merge that ranks before the one that ends that time.
    fn would_stay(&self, mut left: u32, mut right: u32) -> bool {
        let mut end = u64::MAX;
        loop {
            let rank = self.merges.rank_if_any(left, right);
            if rank != NO_MERGE && u64::from(rank) + 1 < end {
                return false;
            }
            let (made_left, made_right) = (self.made[left as usize], self.made[right as usize]);
            if made_left.time > made_right.time {
                // Of equal ranks the left one comes first.
                end = u64::from(made_left.time);
                left = made_left.right;
            } else if made_right.time > 0 {
                end = u64::from(made_right.time) + 1;
                right = made_right.left;
            } else {
                return true;
            }
        }
    }

    fn symbols_of(&self, bytes: &[u8], symbols: &mut Vec<u32>) {
        symbols.clear();
        symbols.extend(bytes.iter().map(|&byte| self.byte_ids[usize::from(byte)]).filter(|&id| id != NO_SYMBOL));
    }

    /// Merges the bytes until `enough` symbols are left, or no pair has a merge.
    fn merge(&self, bytes: &[u8], scratch: &mut Scratch, enough: usize) {
        if bytes.len() > SHORT || self.drops_bytes {
            self.symbols_of(bytes, &mut scratch.symbols);
            self.merge_long(scratch, enough);
        } else {
            self.merge_short(bytes, &mut scratch.symbols, enough);
        }
    }

    /// Scans for the lowest rank. A place is where a symbol begins; `SHORT` is beyond all.
    fn merge_short(&self, bytes: &[u8], symbols: &mut Vec<u32>, enough: usize) {
        let mut ids = [NO_SYMBOL; SHORT];
        let mut ranks = [NO_MERGE; SHORT]; // of the pair that begins at each place
        let mut next = [0_u8; SHORT];
        let mut previous = [SHORT as u8; SHORT];
        for (at, &byte) in bytes.iter().enumerate() {
            ids[at] = self.byte_ids[usize::from(byte)];
            next[at] = at as u8 + 1;
            if at > 0 {
                previous[at] = at as u8 - 1;
                ranks[at - 1] = self.merges.rank_of_bytes(bytes[at - 1], byte);
            }
        }
        for _ in enough..bytes.len() {
            let (mut at, mut lowest) = (0, NO_MERGE);
            for (place, &rank) in ranks[..bytes.len()].iter().enumerate() {
                (at, lowest) = if rank < lowest { (place, rank) } else { (at, lowest) };
            }
            if lowest == NO_MERGE {
                break;
            }
            let right = usize::from(next[at]);
            let after = usize::from(next[right]);
            let before = usize::from(previous[at]);
            ids[at] = self.merges.made(lowest);
            ids[right] = NO_SYMBOL;
            ranks[right] = NO_MERGE;
            next[at] = after as u8;
            ranks[at] = NO_MERGE;
            if after < bytes.len() {
                previous[after] = at as u8;
                ranks[at] = self.merges.rank(ids[at], ids[after]);
            }
            if before < SHORT {
                ranks[before] = self.merges.rank(ids[before], ids[at]);
            }
        }
        symbols.clear();
        symbols.extend(ids[..bytes.len()].iter().filter(|&&id| id != NO_SYMBOL));
    }

    /// O(n log n): a heap of possible merges over a linked list of symbols.
    fn merge_long(&self, scratch: &mut Scratch, enough: usize) {
        let Scratch { symbols, next, previous, heap, .. } = scratch;
        let length = symbols.len();
        next.clear();
        next.extend(1..=length);
        previous.clear();
        previous.extend((0..length).map(|at| at.wrapping_sub(1)));
        heap.clear();
        let pairs = symbols.windows(2).enumerate();
        let possible = pairs.map(|(at, pair)| Reverse((self.merges.rank(pair[0], pair[1]), at)));
        heap.extend(possible.filter(|&Reverse((rank, _))| rank != NO_MERGE));
        let mut left_over = length;
        while left_over > enough
            && let Some(Reverse((rank, at))) = heap.pop()
        {
            let right = next[at];
            // Stale if either side was merged since.
            if symbols[at] == NO_SYMBOL || right >= length || self.merges.rank(symbols[at], symbols[right]) != rank {
                continue;
            }
            left_over -= 1;
            symbols[at] = self.merges.made(rank);
            symbols[right] = NO_SYMBOL;
            let after = next[right];
            next[at] = after;
            let mut changed = [None; 2];
            if after < length {
                previous[after] = at;
                changed[0] = Some((at, after));
            }
            if previous[at] < length {
                changed[1] = Some((previous[at], at));
            }
            for (left, right) in changed.into_iter().flatten() {
                let rank = self.merges.rank(symbols[left], symbols[right]);
                if rank != NO_MERGE {
                    heap.push(Reverse((rank, left)));
                }
            }
        }
        symbols.retain(|&symbol| symbol != NO_SYMBOL);
    }
}

#[inline]
fn is_dead(dead: &[u64], place: usize) -> bool {
    dead.get(place / 64).is_some_and(|places| places >> (place % 64) & 1 == 1)
}

/// Pairs of tokens of which it is known whether they stay as they are; later ones take the places of earlier ones.
struct StablePairs(Box<[u64]>);

impl Default for StablePairs {
    fn default() -> Self {
        Self(vec![0; 1 << Self::BITS].into_boxed_slice())
    }
}

impl StablePairs {
    /// 256 KiB.
    const BITS: u32 = 15;

    #[inline]
    fn slot(&mut self, left: u32, right: u32) -> &mut u64 {
        &mut self.0[(mix(pair_key(left, right)) >> (u64::BITS - Self::BITS)) as usize]
    }
}

/// Buffers that are used again and again, always for the same model.
#[derive(Default)]
pub struct Scratch {
    symbols: Vec<u32>,
    /// A bit set of places.
    dead: Vec<u64>,
    stable: StablePairs,
    next: Vec<usize>,
    previous: Vec<usize>,
    heap: BinaryHeap<Reverse<(u32, usize)>>,
}

#[cfg(test)]
mod tests;
