//! From the counting table to sorted Arrow batches, one for each hash partition.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int64Builder, LargeBinaryBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use xxhash_rust::xxh3::xxh3_64;

use crate::count::{Counted, PretokenCounts};
use crate::error::{KernelError, Result};

/// Bytes of a place of first occurrence.
pub const PLACE_BYTES: i32 = 16;

/// `pretoken: large_binary, count: int64[, first_seen: fixed_size_binary(16)]`
pub fn schema(with_first_seen: bool) -> SchemaRef {
    let mut fields =
        vec![Field::new("pretoken", DataType::LargeBinary, false), Field::new("count", DataType::Int64, false)];
    if with_first_seen {
        fields.push(Field::new("first_seen", DataType::FixedSizeBinary(PLACE_BYTES), false));
    }
    Arc::new(Schema::new(fields))
}

/// The partition of a pretoken: its XXH3 hash (64 bits, seed 0) modulo the number of partitions.
/// Files depend on it: it stays as it is.
pub fn partition_of(pretoken: &[u8], partitions: usize) -> usize {
    (xxh3_64(pretoken) % partitions as u64) as usize
}

/// One batch for each partition, sorted by the bytes of the pretokens.
pub fn sorted_partitions(
    counts: &PretokenCounts,
    partitions: usize,
    with_first_seen: bool,
) -> Result<Vec<RecordBatch>> {
    if partitions == 0 {
        return Err(KernelError::Value("0 partitions: there must be at least one".to_owned()));
    }
    let mut rows: Vec<Vec<Row<'_>>> = Vec::new();
    rows.resize_with(partitions, Vec::new);
    for counted in counts.counted() {
        rows[partition_of(counted.pretoken(), partitions)].push(Row::new(counted));
    }
    rows.into_iter()
        .map(|mut rows| {
            rows.sort_unstable_by(Row::compare);
            batch(&rows, with_first_seen)
        })
        .collect()
}

struct Row<'t> {
    /// The first eight bytes, which decide most comparisons.
    prefix: u64,
    counted: Counted<'t>,
}

impl<'t> Row<'t> {
    fn new(counted: Counted<'t>) -> Self {
        Self { prefix: prefix(counted.pretoken()), counted }
    }

    fn compare(left: &Self, right: &Self) -> std::cmp::Ordering {
        left.prefix.cmp(&right.prefix).then_with(|| left.counted.pretoken().cmp(right.counted.pretoken()))
    }
}

/// The first eight bytes as a number, zeros for those that are missing: in the order of the bytes,
/// but equal also for strings that differ later or in zeros at their end.
#[inline]
pub fn prefix(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(padded)
        }
    }
}

fn batch(rows: &[Row<'_>], with_first_seen: bool) -> Result<RecordBatch> {
    let bytes = rows.iter().map(|row| row.counted.pretoken().len()).sum();
    let mut table = TableBuilder::new(with_first_seen, rows.len(), bytes);
    for Row { counted, .. } in rows {
        let place = counted.place.to_be_bytes();
        table.push(counted.pretoken(), counted.count, with_first_seen.then_some(&place))?;
    }
    table.finish()
}

/// A pretoken table under way.
pub struct TableBuilder {
    pretokens: LargeBinaryBuilder,
    counts: Int64Builder,
    first_seen: Option<FixedSizeBinaryBuilder>,
}

impl TableBuilder {
    pub fn new(with_first_seen: bool, rows: usize, bytes: usize) -> Self {
        Self {
            pretokens: LargeBinaryBuilder::with_capacity(rows, bytes),
            counts: Int64Builder::with_capacity(rows),
            first_seen: with_first_seen.then(|| FixedSizeBinaryBuilder::with_capacity(rows, PLACE_BYTES)),
        }
    }

    pub fn push(&mut self, pretoken: &[u8], count: i64, first_seen: Option<&[u8; 16]>) -> Result<()> {
        self.pretokens.append_value(pretoken);
        self.counts.append_value(count);
        if let (Some(column), Some(place)) = (&mut self.first_seen, first_seen) {
            column.append_value(place).map_err(arrow_error)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<RecordBatch> {
        let schema = schema(self.first_seen.is_some());
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.pretokens.finish()), Arc::new(self.counts.finish())];
        columns.extend(self.first_seen.map(|mut places| Arc::new(places.finish()) as ArrayRef));
        RecordBatch::try_new(schema, columns).map_err(arrow_error)
    }
}

fn arrow_error(error: arrow_schema::ArrowError) -> KernelError {
    KernelError::Value(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_the_published_hash() {
        // Values of the reference implementation (xxhsum -H3).
        for (pretoken, hash) in [("a", 0xE6C6_32B6_1E96_4E1F_u64), ("abc", 0x78AF_5F94_892F_3950)] {
            assert_eq!(xxh3_64(pretoken.as_bytes()), hash);
            assert_eq!(partition_of(pretoken.as_bytes(), 16), (hash % 16) as usize);
        }
    }
}
