//! Blocks of text and JSON Lines into documents and bad records.

use arrow_array::{Array, LargeBinaryArray};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use crate::error::KernelError;
use crate::jsonl::{MAX_FIELDS, parse_jsonl};
use crate::lines::{all_fit, parse_lines, screen_texts};
use crate::plain_json::PIECE;
use crate::records::{Marks, RecordRules, Records};

/// Documents, and bad records if there are any.
type Parsed<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// What makes a record bad, and what is mended instead.
#[pyclass(name = "RecordRules", module = "tokenize_lib._native", frozen)]
struct PyRecordRules(RecordRules);

#[pymethods]
impl PyRecordRules {
    #[new]
    #[pyo3(signature = (*, replace, null_as_empty, max_document_bytes))]
    fn new(replace: bool, null_as_empty: bool, max_document_bytes: usize) -> Self {
        Self(RecordRules { replace, null_as_empty, max_document_bytes })
    }
}

/// Of the documents: how many are empty, mended, not NFC.
type MarkCounts = (usize, usize, usize);

fn counts(marks: Marks) -> MarkCounts {
    (marks.empty, marks.mended, marks.not_nfc)
}

fn finish(py: Python<'_>, records: Records) -> PyResult<Parsed<'_>> {
    let (documents, bad) = records.finish().map_err(|error| KernelError::Value(error.to_string()))?;
    let bad = (bad.num_rows() > 0).then(|| PyRecordBatch::new(bad).into_pyarrow(py));
    Ok((PyRecordBatch::new(documents).into_pyarrow(py)?, bad.transpose()?))
}

/// Reads a block of whole lines, a document a line; only `\n` ends a line.
///
/// position: the block's offset in its file. row: the number of its first line.
/// Returns `((documents, bad records or None), lines, (empty, mended, not NFC documents))`: documents are
/// (position: int64, text: large_binary, valid UTF-8), bad records (position: int64, row: int64, reason: string).
/// Mended documents have U+FFFD where they would be bad records otherwise.
#[pyfunction(name = "parse_lines")]
fn py_parse_lines<'py>(
    py: Python<'py>,
    block: &[u8],
    position: i64,
    row: i64,
    rules: &PyRecordRules,
) -> PyResult<(Parsed<'py>, i64, MarkCounts)> {
    let mut records = Records::new(&[], block.len());
    let (count, marks) = py.detach(|| {
        let count = parse_lines(block, position, row, &rules.0, &mut records);
        (count, records.marks())
    });
    Ok((finish(py, records)?, count, counts(marks)))
}

/// Reads a block of whole lines of JSON (RFC 8259), a document an object; blank lines are no records.
///
/// fields: the path of the text, then of the fields to keep; `a.b` is field b of object a. Documents have a large_string
/// column for each kept one, null where a record has none. Otherwise as `parse_lines`.
/// Raises ValueError for no field or more than 64.
#[pyfunction(name = "parse_jsonl")]
fn py_parse_jsonl<'py>(
    py: Python<'py>,
    block: &[u8],
    position: i64,
    row: i64,
    fields: Vec<String>,
    rules: &PyRecordRules,
) -> PyResult<(Parsed<'py>, i64, MarkCounts)> {
    if fields.is_empty() || fields.len() > MAX_FIELDS {
        return Err(
            KernelError::Value(format!("between 1 and {MAX_FIELDS} fields can be read, not {}", fields.len())).into()
        );
    }
    let mut records = Records::new(&fields[1..], block.len() + PIECE);
    let (count, marks) = py.detach(|| {
        let count = parse_jsonl(block, position, row, &fields, &rules.0, &mut records);
        (count, records.marks())
    });
    Ok((finish(py, records)?, count, counts(marks)))
}

/// Checks a large_binary array. Returns `(None, (empty, mended, not NFC documents))` if every value is a document as it
/// stands, else `((documents, bad records), …)` as `parse_lines` does, placed by their index.
///
/// field: the name of the column, for reasons. Raises TypeError for an array of another type.
#[pyfunction(name = "screen_texts")]
fn py_screen_texts<'py>(
    py: Python<'py>,
    texts: PyArray,
    field: &str,
    rules: &PyRecordRules,
) -> PyResult<(Option<Parsed<'py>>, MarkCounts)> {
    let array = texts.array();
    let texts = array
        .as_any()
        .downcast_ref::<LargeBinaryArray>()
        .ok_or_else(|| KernelError::Type { expected: "a large_binary array", found: array.data_type().to_string() })?;
    let mut records = Records::new(&[], 0);
    let (all_fit, marks) = py.detach(|| {
        all_fit(texts, &rules.0).map_or_else(
            || {
                screen_texts(texts, field, &rules.0, &mut records);
                (false, records.marks())
            },
            |marks| (true, marks),
        )
    });
    let screened = if all_fit { None } else { Some(finish(py, records)?) };
    Ok((screened, counts(marks)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyRecordRules>()?;
    module.add_function(wrap_pyfunction!(py_parse_lines, module)?)?;
    module.add_function(wrap_pyfunction!(py_parse_jsonl, module)?)?;
    module.add_function(wrap_pyfunction!(py_screen_texts, module)?)?;
    Ok(())
}
