//! Sorted runs of pretoken tables become one: equal pretokens meet, their counts are summed.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, RecordBatch};

use crate::drain::{PLACE_BYTES, TableBuilder, prefix, schema};
use crate::error::{KernelError, Result};

/// The columns of one run's current batch.
struct Head {
    pretokens: LargeBinaryArray,
    counts: Int64Array,
    first_seen: Option<FixedSizeBinaryArray>,
}

impl Head {
    fn new(batch: &RecordBatch) -> Result<Self> {
        let with_first_seen = batch.num_columns() == 3;
        let expected = schema(with_first_seen);
        let same_fields = batch
            .schema_ref()
            .fields()
            .iter()
            .zip(expected.fields())
            .all(|(found, wanted)| found.name() == wanted.name() && found.data_type() == wanted.data_type());
        if batch.num_columns() < 2 || batch.num_columns() > 3 || !same_fields {
            return Err(KernelError::Type {
                expected: "a pretoken table: pretoken large_binary, count int64 and perhaps first_seen fixed_size_binary(16)",
                found: format!("{:?}", batch.schema_ref().fields()),
            });
        }
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return Err(KernelError::Value("a null in a pretoken table".to_owned()));
        }
        Ok(Self {
            pretokens: batch.column(0).as_binary::<i64>().clone(),
            counts: batch.column(1).as_primitive::<Int64Type>().clone(),
            first_seen: with_first_seen.then(|| batch.column(2).as_fixed_size_binary().clone()),
        })
    }

    fn first_seen(&self, row: usize) -> Option<[u8; PLACE_BYTES as usize]> {
        let places = self.first_seen.as_ref()?;
        places.value(row).try_into().ok()
    }
}

/// The row at which a run stands; ordered by its pretoken.
struct Cursor<'h> {
    prefix: u64,
    pretoken: &'h [u8],
    run: usize,
    row: usize,
}

impl<'h> Cursor<'h> {
    fn at(heads: &'h [Head], run: usize, row: usize) -> Option<Self> {
        let pretokens = &heads[run].pretokens;
        let pretoken = (row < pretokens.len()).then(|| pretokens.value(row))?;
        Some(Self { prefix: prefix(pretoken), pretoken, run, row })
    }
}

impl Ord for Cursor<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.pretoken.cmp(other.pretoken))
    }
}

impl PartialOrd for Cursor<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cursor<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cursor<'_> {}

/// Merges the current batches of sorted runs until a batch runs empty that is not its run's last.
///
/// Returns the merged rows and how many rows of each batch are in them. A pretoken stands once in
/// a run at most, so when the last row of a batch has been merged, with the equal rows of the
/// others, its run holds no more of that pretoken.
pub fn merge_sorted(batches: &[RecordBatch], last: &[bool]) -> Result<(RecordBatch, Vec<usize>)> {
    if batches.len() != last.len() {
        return Err(KernelError::Value(format!(
            "{} batches but {} flags: each batch has one that says whether it is its run's last",
            batches.len(),
            last.len()
        )));
    }
    let heads = batches.iter().map(Head::new).collect::<Result<Vec<_>>>()?;
    let with_first_seen = heads.iter().any(|head| head.first_seen.is_some());
    if heads.iter().any(|head| head.first_seen.is_some() != with_first_seen) {
        return Err(KernelError::Value("some runs have first_seen, some have not".to_owned()));
    }
    let mut consumed = vec![0; heads.len()];
    let rows = heads.iter().map(|head| head.pretokens.len()).max().unwrap_or(0);
    let mut merged = TableBuilder::new(with_first_seen, rows, 0);
    let mut starved = heads.iter().zip(last).any(|(head, last)| head.pretokens.is_empty() && !last);
    let mut cursors: BinaryHeap<_> =
        (0..heads.len()).filter_map(|run| Cursor::at(&heads, run, 0)).map(Reverse).collect();
    while !starved && let Some(Reverse(least)) = cursors.peek() {
        let pretoken = least.pretoken;
        let mut count = 0_i64;
        let mut first_seen: Option<[u8; 16]> = None;
        while let Some(mut top) = cursors.peek_mut()
            && top.0.pretoken == pretoken
        {
            let Cursor { run, row, .. } = top.0;
            let head = &heads[run];
            count = count.checked_add(head.counts.value(row)).ok_or(KernelError::Overflow("a pretoken"))?;
            first_seen = match (first_seen, head.first_seen(row)) {
                (Some(known), Some(place)) => Some(known.min(place)),
                (known, place) => known.or(place),
            };
            consumed[run] = row + 1;
            match Cursor::at(&heads, run, row + 1) {
                Some(next) if next.pretoken <= pretoken => {
                    return Err(KernelError::Value(format!(
                        "run {run} is not sorted: row {} is not after row {row}",
                        row + 1
                    )));
                }
                Some(next) => top.0 = next,
                None => {
                    starved |= !last[run];
                    std::collections::binary_heap::PeekMut::pop(top);
                }
            }
        }
        merged.push(pretoken, count, first_seen.as_ref())?;
    }
    Ok((merged.finish()?, consumed))
}
