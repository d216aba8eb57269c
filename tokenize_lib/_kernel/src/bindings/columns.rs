//! Typed columns of a record batch.

use arrow_array::{
    Array, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeListArray, RecordBatch, UInt32Array,
};

use crate::error::{KernelError, Result};
use crate::segments::{NOWHERE, Place, Segment};

/// The array as `T`, or an error that says what it is instead.
pub fn typed<'a, T: Array + 'static>(array: &'a dyn Array, expected: &'static str) -> Result<&'a T> {
    let wrong = |found: String| KernelError::Type { expected, found };
    if array.null_count() > 0 {
        return Err(wrong(format!("{} with {} nulls", array.data_type(), array.null_count())));
    }
    array.as_any().downcast_ref::<T>().ok_or_else(|| wrong(array.data_type().to_string()))
}

/// The column `name` as `T`.
pub fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str, expected: &'static str) -> Result<&'a T> {
    let found = || {
        format!(
            "a batch with the columns {:?}",
            batch.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>()
        )
    };
    let array = batch.column_by_name(name).ok_or_else(|| KernelError::Type { expected, found: found() })?;
    typed(array, expected)
}

/// `first_seen` as places; `NOWHERE` where the batch has no such column.
pub struct Places<'a>(Option<&'a FixedSizeBinaryArray>);

impl<'a> Places<'a> {
    pub fn of(batch: &'a RecordBatch) -> Result<Self> {
        if batch.column_by_name("first_seen").is_none() {
            return Ok(Self(None));
        }
        let places: &FixedSizeBinaryArray = column(batch, "first_seen", "first_seen: fixed_size_binary(16)")?;
        if places.value_length() != 16 {
            return Err(KernelError::Type {
                expected: "first_seen: fixed_size_binary(16)",
                found: places.data_type().to_string(),
            });
        }
        Ok(Self(Some(places)))
    }

    pub fn get(&self, row: usize) -> Place {
        let Some(places) = self.0 else { return NOWHERE };
        let mut bytes = [0; 16];
        bytes.copy_from_slice(places.value(row));
        Place::from_be_bytes(bytes)
    }
}

/// Rows of symbols with their counts and places: an encoded pretoken table, or segments.
pub struct SymbolRows<'a> {
    offsets: &'a [i64],
    values: &'a [u32],
    counts: &'a [i64],
    places: Places<'a>,
}

impl<'a> SymbolRows<'a> {
    pub fn of(batch: &'a RecordBatch) -> Result<Self> {
        let lists: &LargeListArray = column(batch, "symbols", "symbols: large_list<uint32>")?;
        let values: &UInt32Array = typed(lists.values().as_ref(), "symbols: large_list<uint32>")?;
        let counts: &Int64Array = column(batch, "count", "count: int64")?;
        Ok(Self {
            offsets: lists.value_offsets(),
            values: values.values(),
            counts: counts.values(),
            places: Places::of(batch)?,
        })
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn get(&self, row: usize) -> Segment<'a> {
        Segment {
            symbols: &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize],
            count: self.counts[row],
            place: self.places.get(row),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Segment<'a>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// `pretoken` and its count.
pub fn pretokens(batch: &RecordBatch) -> Result<(&LargeBinaryArray, &[i64])> {
    let pretokens = column(batch, "pretoken", "pretoken: large_binary")?;
    let counts: &Int64Array = column(batch, "count", "count: int64")?;
    Ok((pretokens, counts.values()))
}
