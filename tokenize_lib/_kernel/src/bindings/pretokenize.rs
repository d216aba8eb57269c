//! `Pretokenizer` as Python sees it.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, LargeListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeBinaryArray};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3_arrow::PyArray;

use crate::error::{KernelError, Result};
use crate::pretokenize::Pretokenizer;
use crate::unicode::UNICODE_VERSION;

/// A rule that cuts texts into pretokens, with what comes before it. Immutable, picklable, and safe
/// to share between threads.
///
/// Special tokens are found in the text as given (leftmost, then longest) and cut out; what stands
/// between them is normalized, then lower-cased character by character, then cut, each section by
/// itself.
///
/// Args:
///     spec: A name of ``tokenize_lib.pretokenizers.PRETOKENIZERS``, or ``regex:PATTERN``.
///     special_tokens: Texts to cut out.
///     normalize: ``none``, ``nfc``, ``nfd``, ``nfkc`` or ``nfkd`` (Unicode Standard Annex 15).
///     lowercase: Whether to lower-case.
///
/// Raises:
///     ValueError: No such rule or normalization, a pattern that cannot be run, or an empty special
///         token.
#[pyclass(name = "Pretokenizer", module = "tokenize_lib._native", frozen)]
pub struct PyPretokenizer {
    pub inner: Arc<Pretokenizer>,
    spec: String,
    special_tokens: Vec<String>,
    normalize: String,
    lowercase: bool,
}

#[pymethods]
impl PyPretokenizer {
    #[new]
    #[pyo3(signature = (spec, special_tokens = Vec::new(), normalize = "none".to_owned(), lowercase = false))]
    fn new(spec: String, special_tokens: Vec<String>, normalize: String, lowercase: bool) -> PyResult<Self> {
        let inner = Arc::new(Pretokenizer::new(&spec, &special_tokens, &normalize, lowercase)?);
        Ok(Self { inner, spec, special_tokens, normalize, lowercase })
    }

    /// Whether the rule is a pattern that matches the empty text between any two characters, as ``regex:a*`` does.
    #[getter]
    fn cuts_everywhere(&self) -> bool {
        self.inner.cuts_everywhere()
    }

    /// What pickle needs to make it again.
    fn __getnewargs__(&self) -> (&str, Vec<String>, &str, bool) {
        (&self.spec, self.special_tokens.clone(), &self.normalize, self.lowercase)
    }

    fn __repr__(&self) -> String {
        format!("Pretokenizer({:?})", self.spec)
    }

    /// Give the pretokens of each text, in their order, without the special tokens.
    ///
    /// Args:
    ///     texts: ``large_binary`` of valid UTF-8, without nulls.
    ///
    /// Returns:
    ///     ``large_list<large_binary>``, one list a text.
    ///
    /// Raises:
    ///     TypeError: The array is of another type.
    ///     ValueError: A null, invalid UTF-8, or a pattern that gives up on a text.
    fn split(&self, py: Python<'_>, texts: PyArray) -> PyResult<Py<PyAny>> {
        let lists = py.detach(|| split(&self.inner, large_binary(&texts)?))?;
        Ok(PyArray::from_array_ref(lists).to_pyarrow(py)?.unbind())
    }
}

fn split(pretokenizer: &Pretokenizer, texts: &LargeBinaryArray) -> Result<arrow_array::ArrayRef> {
    let item = Field::new_list_field(DataType::LargeBinary, false);
    let mut lists = LargeListBuilder::new(LargeBinaryBuilder::new()).with_field(item);
    for row in 0..texts.len() {
        pretokenizer.for_each_section(document(texts, row)?, |section, _| {
            pretokenizer.for_each_pretoken(&section, |range| {
                lists.values().append_value(&section.as_bytes()[range]);
            })
        })?;
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// The array's texts: Python casts before it calls.
pub fn large_binary(texts: &PyArray) -> Result<&LargeBinaryArray> {
    texts.array().as_binary_opt::<i64>().ok_or_else(|| KernelError::Type {
        expected: "texts of type large_binary",
        found: texts.array().data_type().to_string(),
    })
}

/// The text of a row.
pub fn document(texts: &LargeBinaryArray, row: usize) -> Result<&str> {
    if texts.is_null(row) {
        return Err(KernelError::Value(format!("text {row} of the array is null")));
    }
    simdutf8::compat::from_utf8(texts.value(row))
        .map_err(|error| KernelError::Value(format!("text {row} of the array is not UTF-8: {error}")))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UNICODE_VERSION", UNICODE_VERSION)?;
    module.add_class::<PyPretokenizer>()
}
