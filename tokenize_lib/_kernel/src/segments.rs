//! Segments: the maximal runs of a pretoken's symbols in which every adjacent pair is live, summed.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::alphabet::BARRIER;
use crate::error::{KernelError, Result};
use crate::hash::{PairSet, hash_symbols, pair_key, partition_of};

/// Where a pretoken or a segment stands first in the corpus; the order of these is the corpus order.
/// Corpora that do not ask for first places carry `NOWHERE` everywhere.
pub type Place = u128;
pub const NOWHERE: Place = Place::MAX;

/// A sequence of symbols, how often it stands in the corpus, and where first.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    pub symbols: &'a [u32],
    pub count: i64,
    pub place: Place,
}

/// Segments one after the other, in flat arrays.
#[derive(Default)]
pub struct SegmentList {
    pub symbols: Vec<u32>,
    pub ends: Vec<usize>,
    pub counts: Vec<i64>,
    pub places: Vec<Place>, // empty until a segment with a place comes
}

impl SegmentList {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Symbols of all segments together.
    pub fn symbol_count(&self) -> usize {
        self.symbols.len()
    }

    pub fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    pub fn nbytes(&self) -> usize {
        self.symbols.capacity() * size_of::<u32>()
            + self.ends.capacity() * size_of::<usize>()
            + self.counts.capacity() * size_of::<i64>()
            + self.places.capacity() * size_of::<Place>()
    }

    #[inline]
    fn symbols_of(&self, at: usize) -> &[u32] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.symbols[start..self.ends[at]]
    }

    pub fn get(&self, at: usize) -> Segment<'_> {
        let place = self.places.get(at).copied().unwrap_or(NOWHERE);
        Segment { symbols: self.symbols_of(at), count: self.counts[at], place }
    }

    pub fn iter(&self) -> impl Iterator<Item = Segment<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub fn push(&mut self, segment: Segment<'_>) {
        self.symbols.extend_from_slice(segment.symbols);
        self.close(segment.count, segment.place);
    }

    /// Ends a segment whose symbols were appended to `symbols`.
    pub fn close(&mut self, count: i64, place: Place) {
        self.ends.push(self.symbols.len());
        self.counts.push(count);
        if place != NOWHERE {
            self.places.push(place);
        }
    }

    /// Adds the count of a segment equal to the one at `at`, and keeps the earlier place.
    fn add_to(&mut self, at: usize, segment: Segment<'_>) -> Result<()> {
        self.counts[at] = self.counts[at].checked_add(segment.count).ok_or(KernelError::Overflow("a segment"))?;
        if let Some(place) = self.places.get_mut(at) {
            *place = segment.place.min(*place);
        }
        Ok(())
    }

    /// Deals the segments into lists by the hash of their symbols.
    pub fn into_partitions(self, partitions: usize) -> Vec<Self> {
        if partitions == 1 {
            return vec![self];
        }
        let mut parts: Vec<Self> = (0..partitions).map(|_| Self::default()).collect();
        for segment in self.iter() {
            parts[partition_of(hash_symbols(segment.symbols), partitions)].push(segment);
        }
        parts
    }
}

/// Distinct segments in the order met, with summed counts.
#[derive(Default)]
pub struct SegmentTable {
    index: HashTable<u32>,
    pub list: SegmentList,
}

impl SegmentTable {
    pub fn nbytes(&self) -> usize {
        self.index.allocation_size() + self.list.nbytes()
    }

    pub fn add(&mut self, segment: Segment<'_>) -> Result<()> {
        let Self { index, list } = self;
        let found = index.entry(
            hash_symbols(segment.symbols),
            |&at| list.symbols_of(at as usize) == segment.symbols,
            |&at| hash_symbols(list.symbols_of(at as usize)),
        );
        match found {
            Entry::Occupied(entry) => list.add_to(*entry.get() as usize, segment),
            Entry::Vacant(entry) => {
                let at = u32::try_from(list.len())
                    .map_err(|_| KernelError::Value("over 2^32 distinct segments in one table".into()))?;
                entry.insert(at);
                list.push(segment);
                Ok(())
            }
        }
    }
}

/// Which seams are kept.
pub enum Live {
    /// Every pair: nothing is cut but at a barrier.
    Every,
    These(LivePairs),
}

/// A set of pairs, quick to ask for the small ids that most seams are of.
pub struct LivePairs {
    small: Vec<u64>, // a bit for each pair of ids under `SMALL`
    others: PairSet,
}

const SMALL: u32 = 1024;

impl LivePairs {
    pub fn new(pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut small = vec![0; (SMALL * SMALL / 64) as usize];
        let mut others = PairSet::default();
        for (left, right) in pairs {
            if left < SMALL && right < SMALL {
                let bit = left * SMALL + right;
                small[(bit / 64) as usize] |= 1 << (bit % 64);
            } else {
                others.insert(pair_key(left, right));
            }
        }
        Self { small, others }
    }

    #[inline]
    fn holds(&self, left: u32, right: u32) -> bool {
        if left < SMALL && right < SMALL {
            let bit = left * SMALL + right;
            return self.small[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
        }
        self.others.contains(&pair_key(left, right))
    }
}

impl Live {
    #[inline]
    fn holds(&self, left: u32, right: u32) -> bool {
        match self {
            Self::Every => left != BARRIER && right != BARRIER,
            Self::These(pairs) => pairs.holds(left, right),
        }
    }

    /// Calls `each` with every segment of `whole`. `widths[id]` is the number of start symbols in a
    /// symbol: what a segment's place lies behind that of its pretoken; needed where there are places.
    pub fn cut<'a>(
        &self,
        whole: Segment<'a>,
        widths: Option<&[u32]>,
        mut each: impl FnMut(Segment<'a>) -> Result<()>,
    ) -> Result<()> {
        let symbols = whole.symbols;
        let mut start = 0;
        let mut place = whole.place;
        for end in 1..=symbols.len() {
            if end < symbols.len() && self.holds(symbols[end - 1], symbols[end]) {
                continue;
            }
            let run = &symbols[start..end];
            if run.len() > 1 {
                each(Segment { symbols: run, count: whole.count, place })?;
            }
            if let Some(widths) = widths
                && place != NOWHERE
            {
                let width = |&symbol: &u32| widths.get(symbol as usize).map_or(1, |&width| u128::from(width));
                place += run.iter().map(width).sum::<u128>();
            }
            start = end;
        }
        Ok(())
    }
}
