//! What every parser of a block fills: the documents found in it, and the records that are none.
//! A record is one or the other, never neither: that is how no document is lost silently.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::nfc::count_not_nfc;

/// What makes a record bad, and what is mended instead.
#[derive(Debug, Clone, Copy)]
pub struct RecordRules {
    /// Put U+FFFD for invalid UTF-8 and for lone surrogates.
    pub replace: bool,
    /// Read a null text as an empty one.
    pub null_as_empty: bool,
    /// The longest record that is read.
    pub max_document_bytes: usize,
}

impl RecordRules {
    pub fn too_long(&self) -> String {
        format!("longer than {} bytes", self.max_document_bytes)
    }
}

/// How many documents are of a kind that is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub empty: usize,
    /// Would be bad records, but for the U+FFFD put into them.
    pub mended: usize,
    /// Not in Unicode's composed form, and so another text than their like in it.
    pub not_nfc: usize,
}

/// Documents and bad records, growing in the order of the block.
pub struct Records {
    marks: Marks,
    field_names: Vec<String>,
    positions: Vec<i64>,
    offsets: Vec<i64>,
    text: Vec<u8>,
    fields: Vec<LargeStringBuilder>,
    bad_positions: Vec<i64>,
    bad_rows: Vec<i64>,
    bad_reasons: StringBuilder,
}

impl Records {
    /// `text_bytes`: at most how much text will come, so that it is allocated once.
    pub fn new(field_names: &[String], text_bytes: usize) -> Self {
        Self {
            marks: Marks::default(),
            field_names: field_names.to_vec(),
            positions: Vec::new(),
            offsets: vec![0],
            text: Vec::with_capacity(text_bytes),
            fields: field_names.iter().map(|_| LargeStringBuilder::new()).collect(),
            bad_positions: Vec::new(),
            bad_rows: Vec::new(),
            bad_reasons: StringBuilder::new(),
        }
    }

    #[inline]
    pub fn push_document(&mut self, position: i64, text: &[u8], is_mended: bool) {
        self.text.extend_from_slice(text);
        self.close_document(position, is_mended);
    }

    /// Where the text of the next document is written; `close_document` makes it one, `drop_text` takes it back.
    #[inline]
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    #[inline]
    pub fn close_document(&mut self, position: i64, is_mended: bool) {
        self.marks.empty += usize::from(self.text.len() as i64 == self.last_offset());
        self.marks.mended += usize::from(is_mended);
        self.positions.push(position);
        self.offsets.push(self.text.len() as i64);
    }

    pub fn drop_text(&mut self) {
        self.text.truncate(self.last_offset() as usize);
    }

    fn last_offset(&self) -> i64 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// The fields of the document pushed last, in the order of `field_names`.
    pub fn push_fields<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) {
        for (field, value) in self.fields.iter_mut().zip(values) {
            field.append_option(value);
        }
    }

    pub fn push_bad(&mut self, position: i64, row: i64, reason: &str) {
        self.bad_positions.push(position);
        self.bad_rows.push(row);
        self.bad_reasons.append_value(reason);
    }

    /// What the documents so far are.
    pub fn marks(&self) -> Marks {
        Marks { not_nfc: count_not_nfc(&self.text, &self.offsets), ..self.marks }
    }

    /// `(documents, bad records)`: (position: int64, text: large_binary, then a nullable large_string a field)
    /// and (position: int64, row: int64, reason: string).
    pub fn finish(mut self) -> Result<(RecordBatch, RecordBatch), ArrowError> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let text = LargeBinaryArray::try_new(offsets, Buffer::from_vec(self.text), None)?;
        let mut schema =
            vec![Field::new("position", DataType::Int64, false), Field::new("text", DataType::LargeBinary, false)];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(self.positions)), Arc::new(text)];
        for (name, values) in self.field_names.iter().zip(self.fields.iter_mut()) {
            schema.push(Field::new(name, DataType::LargeUtf8, true));
            columns.push(Arc::new(values.finish()));
        }
        let documents = RecordBatch::try_new(Arc::new(Schema::new(schema)), columns)?;
        let bad_schema = Schema::new(vec![
            Field::new("position", DataType::Int64, false),
            Field::new("row", DataType::Int64, false),
            Field::new("reason", DataType::Utf8, false),
        ]);
        let bad_columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.bad_positions)),
            Arc::new(Int64Array::from(self.bad_rows)),
            Arc::new(self.bad_reasons.finish()),
        ];
        Ok((documents, RecordBatch::try_new(Arc::new(bad_schema), bad_columns)?))
    }
}
