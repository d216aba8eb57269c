//! Byte-pair encoding of pretokens, exactly as tiktoken does it with ranks and Hugging Face with merges.
//!
//! Both replace the pair of neighbours of the lowest rank, the leftmost of equal ones, until no pair
//! has a rank. With merges a pair's rank is its place in their list. With ranks it is the id of the
//! token that both make together, if there is one; and then one pair a token is enough: while the
//! pair stands, no merge has crossed the ends of its bytes, and the merges within them were the same
//! as if nothing stood around. So the bytes of each token, merged until two symbols are left, give
//! the only pair that ever becomes that token.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::byte_strings::ByteStrings;
use crate::error::{KernelError, Result};
use crate::hash::{PairMap, pair_key};

/// A byte that no symbol stands for; Hugging Face leaves it out.
pub const NO_SYMBOL: u32 = u32::MAX;

/// No merge of a pair. A merge is its rank above the id of the token that it makes.
const NO_MERGE: u64 = u64::MAX;

/// Up to here a scan for the lowest rank beats the heap.
const SHORT: usize = 48;

pub struct BytePairModel {
    tokens: ByteStrings,
    byte_ids: [u32; 256],
    merges: PairMap<u64>,
    /// A pretoken that is a token is that token, whatever its merges would give.
    whole_pretokens: bool,
}

impl BytePairModel {
    /// By ranks: the id of a token is its rank.
    pub fn from_ranks(tokens: ByteStrings, byte_ids: [u32; 256]) -> Result<Self> {
        let mut model = Self { tokens, byte_ids, merges: PairMap::default(), whole_pretokens: true };
        model.check_ids(byte_ids.iter().copied())?;
        let mut by_length: Vec<u32> =
            (0..model.tokens.len() as u32).filter(|&id| model.tokens.get(id).len() > 1).collect();
        by_length.sort_by_key(|&id| model.tokens.get(id).len());
        model.merges.reserve(by_length.len());
        let mut scratch = Scratch::default();
        for id in by_length {
            // Merges of all shorter tokens are there.
            model.symbols_of(model.tokens.get(id), &mut scratch.symbols);
            model.merge(&mut scratch, 2);
            if let [left, right] = scratch.symbols[..] {
                model.merges.entry(pair_key(left, right)).or_insert(merge_of(id, id));
            }
        }
        Ok(model)
    }

    /// By merges (left, right, new), from the lowest rank to the highest; of equal pairs the last counts.
    pub fn from_merges(
        tokens: ByteStrings,
        merges: impl ExactSizeIterator<Item = (u32, u32, u32)>,
        byte_ids: [u32; 256],
        whole_pretokens: bool,
    ) -> Result<Self> {
        let mut model = Self { tokens, byte_ids, merges: PairMap::default(), whole_pretokens };
        model.check_ids(byte_ids.iter().copied().filter(|&id| id != NO_SYMBOL))?;
        model.merges.reserve(merges.len());
        for (rank, (left, right, new)) in (0..).zip(merges) {
            model.check_ids([left, right, new])?;
            model.merges.insert(pair_key(left, right), merge_of(rank, new));
        }
        Ok(model)
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
        if self.whole_pretokens
            && let Some(id) = self.tokens.id_of(pretoken)
        {
            ids.push(id);
            return;
        }
        self.symbols_of(pretoken, &mut scratch.symbols);
        self.merge(scratch, 1);
        ids.extend_from_slice(&scratch.symbols);
    }

    /// How many tokens a pretoken is.
    pub fn count(&self, pretoken: &[u8], scratch: &mut Scratch) -> usize {
        if self.whole_pretokens && self.tokens.id_of(pretoken).is_some() {
            return 1;
        }
        self.symbols_of(pretoken, &mut scratch.symbols);
        self.merge(scratch, 1);
        scratch.symbols.len()
    }

    fn symbols_of(&self, bytes: &[u8], symbols: &mut Vec<u32>) {
        symbols.clear();
        symbols.extend(bytes.iter().map(|&byte| self.byte_ids[usize::from(byte)]).filter(|&id| id != NO_SYMBOL));
    }

    #[inline]
    fn merge_of_pair(&self, left: u32, right: u32) -> u64 {
        self.merges.get(&pair_key(left, right)).copied().unwrap_or(NO_MERGE)
    }

    /// Merges the symbols until `enough` are left, or no pair has a merge.
    fn merge(&self, scratch: &mut Scratch, enough: usize) {
        if scratch.symbols.len() <= SHORT {
            self.merge_short(scratch, enough);
        } else {
            self.merge_long(scratch, enough);
        }
    }

    fn merge_short(&self, scratch: &mut Scratch, enough: usize) {
        let Scratch { symbols, merges, .. } = scratch;
        merges.clear();
        merges.extend(symbols.windows(2).map(|pair| self.merge_of_pair(pair[0], pair[1])));
        while symbols.len() > enough
            && let Some((at, &merge)) = merges.iter().enumerate().min_by_key(|&(_, &merge)| merge)
            && merge != NO_MERGE
        {
            symbols[at] = merge as u32;
            symbols.remove(at + 1);
            merges.remove(at);
            if at > 0 {
                merges[at - 1] = self.merge_of_pair(symbols[at - 1], symbols[at]);
            }
            if at < merges.len() {
                merges[at] = self.merge_of_pair(symbols[at], symbols[at + 1]);
            }
        }
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
        let possible = pairs.map(|(at, pair)| Reverse((self.merge_of_pair(pair[0], pair[1]), at)));
        heap.extend(possible.filter(|&Reverse((merge, _))| merge != NO_MERGE));
        let mut left_over = length;
        while left_over > enough
            && let Some(Reverse((merge, at))) = heap.pop()
        {
            let right = next[at];
            // Stale if either side was merged since.
            if symbols[at] == NO_SYMBOL || right >= length || self.merge_of_pair(symbols[at], symbols[right]) != merge {
                continue;
            }
            left_over -= 1;
            symbols[at] = merge as u32;
            symbols[right] = NO_SYMBOL;
            let after = next[right];
            next[at] = after;
            if after < length {
                previous[after] = at;
                let merge = self.merge_of_pair(symbols[at], symbols[after]);
                if merge != NO_MERGE {
                    heap.push(Reverse((merge, at)));
                }
            }
            let before = previous[at];
            if before < length {
                let merge = self.merge_of_pair(symbols[before], symbols[at]);
                if merge != NO_MERGE {
                    heap.push(Reverse((merge, before)));
                }
            }
        }
        symbols.retain(|&symbol| symbol != NO_SYMBOL);
    }
}

fn merge_of(rank: u32, new: u32) -> u64 {
    (u64::from(rank) << 32) | u64::from(new)
}

/// Buffers that are used again and again.
#[derive(Default)]
pub struct Scratch {
    symbols: Vec<u32>,
    merges: Vec<u64>,
    next: Vec<usize>,
    previous: Vec<usize>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of bytes and these strings, ids in this order.
    fn ranks(strings: &[&str]) -> BytePairModel {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let tokens: Vec<&[u8]> =
            bytes.iter().map(|byte| &byte[..]).chain(strings.iter().map(|s| s.as_bytes())).collect();
        let tokens = ByteStrings::new(tokens.into_iter().map(Some)).unwrap();
        BytePairModel::from_ranks(tokens, std::array::from_fn(|byte| byte as u32)).unwrap()
    }

    fn encoded(model: &BytePairModel, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut scratch = Scratch::default();
        model.encode(text.as_bytes(), &mut scratch, &mut ids);
        assert_eq!(model.count(text.as_bytes(), &mut scratch), ids.len());
        ids
    }

    /// tiktoken's rule, word for word.
    fn naive(model: &BytePairModel, text: &str) -> Vec<u32> {
        if let Some(id) = model.tokens.id_of(text.as_bytes()) {
            return vec![id];
        }
        let mut parts: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let join = |left: &[u8], right: &[u8]| [left, right].concat();
        loop {
            let pairs = parts.windows(2).enumerate();
            let ranked = pairs.filter_map(|(at, pair)| Some((model.tokens.id_of(&join(pair[0], pair[1]))?, at)));
            let Some((id, at)) = ranked.min() else {
                return parts.iter().map(|part| model.tokens.id_of(part).unwrap()).collect();
            };
            parts[at] = model.tokens.get(id);
            parts.remove(at + 1);
        }
    }

    #[test]
    fn a_token_no_merge_leads_to_is_still_a_whole_pretoken() {
        let model = ranks(&["bc", "abcd", "ab"]);
        assert_eq!(encoded(&model, "abcd"), [257]);
        assert_eq!(encoded(&model, "xabcd"), [b'x'.into(), b'a'.into(), 256, b'd'.into()]);
    }

    #[test]
    fn short_and_long_pretokens_merge_as_tiktoken_does() {
        let model = ranks(&["aa", "ab", "ba", "aab", "aaaa", "bab", "abab", "baba", "aabab", "ababab", "bb", "aaa"]);
        let mut state = 1_u64;
        for length in 0..300 {
            let text: String = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if state >> 62 == 0 { 'b' } else { 'a' }
                })
                .collect();
            assert_eq!(encoded(&model, &text), naive(&model, &text), "{text}");
        }
    }

    #[test]
    fn merges_go_by_their_place_in_the_list() {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let tokens = || bytes.iter().map(|byte| &byte[..]).chain([&b"ab"[..], b"bc", b"abc"]).collect::<Vec<_>>();
        let model = |merges: &[(u32, u32, u32)], whole| {
            let tokens = ByteStrings::new(tokens().into_iter().map(Some)).unwrap();
            let byte_ids = std::array::from_fn(|byte| if byte == usize::from(b'-') { NO_SYMBOL } else { byte as u32 });
            BytePairModel::from_merges(tokens, merges.iter().copied(), byte_ids, whole).unwrap()
        };
        let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
        assert_eq!(encoded(&model(&[(b, c, 257), (a, b, 256)], false), "abc"), [a, 257]);
        assert_eq!(encoded(&model(&[(a, b, 256), (b, c, 257)], false), "abc"), [256, c]);
        assert_eq!(encoded(&model(&[(a, b, 256)], true), "abc"), [258]);
        // A byte without a symbol is left out, and its neighbours meet.
        assert_eq!(encoded(&model(&[(a, b, 256)], false), "a-b"), [256]);
    }
}
