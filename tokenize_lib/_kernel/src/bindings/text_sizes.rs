//! `text_sizes`: bytes, characters and words of texts.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use super::pretokenize::large_binary;
use crate::error::{KernelError, Result};
use crate::text_sizes::TextSizes;

/// Give the sizes of texts.
///
/// Args:
///     texts: ``large_binary`` of valid UTF-8, as readers give it: it is not checked again. Without nulls.
///
/// Returns:
///     ``bytes``, ``characters`` (code points) and ``words`` (as ``str.split()`` parts them), ``int64`` each, a row a text.
///
/// Raises:
///     TypeError: The array is of another type.
///     ValueError: A null.
#[pyfunction]
fn text_sizes(py: Python<'_>, texts: PyArray) -> PyResult<Bound<'_, PyAny>> {
    let sizes = py.detach(|| sizes(large_binary(&texts)?))?;
    PyRecordBatch::new(sizes).into_pyarrow(py)
}

fn sizes(texts: &LargeBinaryArray) -> Result<RecordBatch> {
    let [mut bytes, mut characters, mut words] = [(); 3].map(|()| Vec::with_capacity(texts.len()));
    for row in 0..texts.len() {
        if texts.is_null(row) {
            return Err(KernelError::Value(format!("text {row} of the array is null")));
        }
        let text = texts.value(row);
        let sizes = TextSizes::of(text);
        bytes.push(text.len() as i64);
        characters.push(sizes.characters as i64);
        words.push(sizes.words as i64);
    }
    let column = |values| Arc::new(Int64Array::from(values)) as ArrayRef;
    let columns = [("bytes", column(bytes)), ("characters", column(characters)), ("words", column(words))];
    RecordBatch::try_from_iter(columns).map_err(|error| KernelError::Value(error.to_string()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(text_sizes, module)?)
}
