//! `BytePairModel` and `SpecialTokens`: counting and encoding of texts.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, LargeListArray, RecordBatch, UInt32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use super::columns::column;
use super::pretokenize::{PyPretokenizer, document, large_binary};
use crate::byte_pair_model::{BytePairModel, NO_SYMBOL};
use crate::byte_strings::ByteStrings;
use crate::error::{KernelError, Result};
use crate::pretokenize::Pretokenizer;
use crate::special_tokens::SpecialTokens;
use crate::token_counter::TokenCounter;
use crate::token_encoder::TokenEncoder;

/// Texts that are one token each. They are found in the text as given (leftmost, then longest) and cut out before
/// anything is normalized.
///
/// Args:
///     texts: The special tokens.
///     ids: The id of each.
///
/// Raises:
///     ValueError: A text is empty, or there are more texts than ids, or fewer.
#[pyclass(name = "SpecialTokens", module = "tokenize_lib._native", frozen)]
struct PySpecialTokens(SpecialTokens);

#[pymethods]
impl PySpecialTokens {
    #[new]
    fn new(texts: Vec<String>, ids: Vec<u32>) -> PyResult<Self> {
        Ok(Self(SpecialTokens::new(&texts, ids)?))
    }
}

/// Byte-pair encoding, exactly as tiktoken does it with ranks and Hugging Face with merges. Immutable; any number of
/// threads may use it at once.
///
/// Args:
///     tokens: ``large_binary``, the bytes of each id; null where there is no such id.
///     merges: ``left``, ``right``, ``new``: ``uint32``, in the order of their ranks. None: by tiktoken's rule neighbours
///         merge if their bytes together are a token, the lowest id first.
///     byte_ids: ``uint32``, the id of each of the 256 bytes; null with merges alone: the byte is left out.
///     whole_pretokens: A pretoken that is a token is that token, whatever its merges (with ranks always so).
///
/// Raises:
///     TypeError: An array is of another type.
///     ValueError: Not 256 byte ids, or an id that the vocabulary has not.
#[pyclass(name = "BytePairModel", module = "tokenize_lib._native", frozen)]
struct PyBytePairModel {
    model: BytePairModel,
    counters: Pool<TokenCounter>,
    encoders: Pool<TokenEncoder>,
}

/// What calls leave for later ones; never more than there were calls at once.
#[derive(Default)]
struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, used: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(used);
    }
}

#[pymethods]
impl PyBytePairModel {
    #[new]
    #[pyo3(signature = (tokens, merges, *, byte_ids, whole_pretokens))]
    fn new(
        py: Python<'_>,
        tokens: PyArray,
        merges: Option<PyRecordBatch>,
        byte_ids: PyArray,
        whole_pretokens: bool,
    ) -> PyResult<Self> {
        let merges = merges.map(PyRecordBatch::into_inner);
        let model = py.detach(|| model(&tokens, merges.as_ref(), &byte_ids, whole_pretokens))?;
        Ok(Self { model, counters: Pool::default(), encoders: Pool::default() })
    }

    /// Count the tokens of texts.
    ///
    /// Args:
    ///     pretokenizer: How texts are cut.
    ///     texts: ``large_binary`` of valid UTF-8, without nulls.
    ///     special: Texts that are one token each; None: all is text.
    ///
    /// Returns:
    ///     ``int64``, the tokens of each text.
    ///
    /// Raises:
    ///     TypeError: The array is of another type.
    ///     ValueError: A null, invalid UTF-8, or a pattern that gives up on a text.
    #[pyo3(signature = (pretokenizer, texts, special = None))]
    fn count(
        &self,
        py: Python<'_>,
        pretokenizer: &PyPretokenizer,
        texts: PyArray,
        special: Option<&PySpecialTokens>,
    ) -> PyResult<Py<PyAny>> {
        let special = special.map(|special| &special.0);
        let counts = py.detach(|| self.count_texts(&pretokenizer.inner, large_binary(&texts)?, special))?;
        Ok(PyArray::from_array_ref(counts).to_pyarrow(py)?.unbind())
    }

    /// Encode texts.
    ///
    /// Args:
    ///     pretokenizer: How texts are cut.
    ///     texts: ``large_binary`` of valid UTF-8, without nulls.
    ///     special: Texts that are one token each; None: all is text.
    ///
    /// Returns:
    ///     ``large_list<uint32>``, the token ids of each text.
    ///
    /// Raises:
    ///     TypeError: The array is of another type.
    ///     ValueError: A null, invalid UTF-8, or a pattern that gives up on a text.
    #[pyo3(signature = (pretokenizer, texts, special = None))]
    fn encode(
        &self,
        py: Python<'_>,
        pretokenizer: &PyPretokenizer,
        texts: PyArray,
        special: Option<&PySpecialTokens>,
    ) -> PyResult<Py<PyAny>> {
        let special = special.map(|special| &special.0);
        let lists = py.detach(|| self.encode_texts(&pretokenizer.inner, large_binary(&texts)?, special))?;
        Ok(PyArray::from_array_ref(lists).to_pyarrow(py)?.unbind())
    }
}

fn model(
    tokens: &PyArray,
    merges: Option<&RecordBatch>,
    byte_ids: &PyArray,
    whole_pretokens: bool,
) -> Result<BytePairModel> {
    let tokens = tokens.array().as_any().downcast_ref::<LargeBinaryArray>().ok_or_else(|| KernelError::Type {
        expected: "tokens of type large_binary",
        found: tokens.array().data_type().to_string(),
    })?;
    let tokens = ByteStrings::new(tokens.iter())?;
    let byte_ids = byte_ids.array().as_any().downcast_ref::<UInt32Array>().ok_or_else(|| KernelError::Type {
        expected: "byte_ids of type uint32",
        found: byte_ids.array().data_type().to_string(),
    })?;
    let byte_ids: Vec<u32> = byte_ids.iter().map(|id| id.unwrap_or(NO_SYMBOL)).collect();
    let byte_ids = byte_ids
        .try_into()
        .map_err(|ids: Vec<u32>| KernelError::Value(format!("there are 256 bytes, but {} byte_ids", ids.len())))?;
    let Some(merges) = merges else {
        return BytePairModel::from_ranks(tokens, byte_ids);
    };
    let [left, right, new] = ["left", "right", "new"]
        .map(|name| column::<UInt32Array>(merges, name, "merges with left, right, new: uint32 without nulls"));
    let (left, right, new) = (left?.values(), right?.values(), new?.values());
    let merges = (0..left.len()).map(|rank| (left[rank], right[rank], new[rank]));
    BytePairModel::from_merges(tokens, merges, byte_ids, whole_pretokens)
}

/// What a text is made of: sections as the rule is to see them, and special tokens.
enum Part<'t> {
    Section(&'t str),
    Special(u32),
}

/// Calls `visit` with each part of a text, from left to right.
fn for_each_part(
    pretokenizer: &Pretokenizer,
    text: &str,
    special: Option<&SpecialTokens>,
    mut visit: impl FnMut(Part<'_>) -> Result<()>,
) -> Result<()> {
    let mut cut = |part: &str, special_id: Option<u32>| {
        pretokenizer.for_each_section(part, |section, _| visit(Part::Section(&section)))?;
        special_id.map_or(Ok(()), |id| visit(Part::Special(id)))
    };
    match special {
        Some(special) => special.for_each_part(text, cut),
        None => cut(text, None),
    }
}

impl PyBytePairModel {
    fn count_texts(
        &self,
        pretokenizer: &Pretokenizer,
        texts: &LargeBinaryArray,
        special: Option<&SpecialTokens>,
    ) -> Result<ArrayRef> {
        let mut counter = self.counters.take();
        let mut counts = Vec::with_capacity(texts.len());
        for row in 0..texts.len() {
            let mut tokens = 0;
            for_each_part(pretokenizer, document(texts, row)?, special, |part| {
                tokens += match part {
                    Part::Section(section) => counter.count(&self.model, pretokenizer, section)?,
                    Part::Special(_) => 1,
                };
                Ok(())
            })?;
            counts.push(tokens as i64);
        }
        self.counters.give_back(counter);
        Ok(Arc::new(Int64Array::from(counts)))
    }

    fn encode_texts(
        &self,
        pretokenizer: &Pretokenizer,
        texts: &LargeBinaryArray,
        special: Option<&SpecialTokens>,
    ) -> Result<ArrayRef> {
        let mut encoder = self.encoders.take();
        let mut ids = Vec::new();
        let mut ends = vec![0];
        for row in 0..texts.len() {
            for_each_part(pretokenizer, document(texts, row)?, special, |part| match part {
                Part::Section(section) => encoder.encode(&self.model, pretokenizer, section, &mut ids),
                Part::Special(id) => {
                    ids.push(id);
                    Ok(())
                }
            })?;
            ends.push(ids.len() as i64);
        }
        self.encoders.give_back(encoder);
        let item = Arc::new(Field::new_list_field(DataType::UInt32, true));
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        Ok(Arc::new(LargeListArray::new(item, ends, Arc::new(UInt32Array::from(ids)), None)))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySpecialTokens>()?;
    module.add_class::<PyBytePairModel>()
}
