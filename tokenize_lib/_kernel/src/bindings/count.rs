//! Counting pretokens, and merging sorted runs of counts, as Python sees them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, LargeBinaryArray, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use super::pretokenize::{PyPretokenizer, document, large_binary};
use crate::count::{PretokenCounts, document_place};
use crate::drain::sorted_partitions;
use crate::error::{KernelError, Result};
use crate::pretokenize::Pretokenizer;
use crate::sorted_runs;

/// Counts of distinct pretokens. One thread at a time; after an error in ``add`` it is of no use.
///
/// Args:
///     pretokenizer: How texts are cut.
///     first_seen: Whether to keep the place of each pretoken's first occurrence: 16 bytes more for
///         each slot of the table.
#[pyclass(module = "tokenize_lib._native")]
pub struct PretokenCounter {
    pretokenizer: Arc<Pretokenizer>,
    first_seen: bool,
    counts: PretokenCounts,
}

#[pymethods]
impl PretokenCounter {
    #[new]
    fn new(pretokenizer: &PyPretokenizer, first_seen: bool) -> Self {
        Self { pretokenizer: Arc::clone(&pretokenizer.inner), first_seen, counts: PretokenCounts::new(first_seen) }
    }

    /// Count the pretokens of texts.
    ///
    /// Args:
    ///     texts: ``large_binary`` of valid UTF-8, without nulls.
    ///     source: Ordinal of the file they come from, under 2^24; only for ``first_seen``.
    ///     positions: ``int64``, each text's position in its file, taken as unsigned; needed for
    ///         ``first_seen`` alone. Texts may come in any order.
    ///
    /// Returns:
    ///     How many pretokens there were, repeats included.
    ///
    /// Raises:
    ///     TypeError: An array is of another type.
    ///     ValueError: A null, invalid UTF-8, a pattern that gives up on a text, or no positions.
    #[pyo3(signature = (texts, source = 0, positions = None))]
    fn add(&mut self, py: Python<'_>, texts: PyArray, source: u64, positions: Option<PyArray>) -> PyResult<u64> {
        Ok(py.detach(|| {
            let texts = large_binary(&texts)?;
            let positions = positions.as_ref().map(int64).transpose()?;
            self.add_texts(texts, source, positions)
        })?)
    }

    /// Bytes allocated. While the table doubles it takes half as much again.
    #[getter]
    fn nbytes(&self) -> usize {
        self.counts.nbytes()
    }

    /// Number of distinct pretokens.
    #[getter]
    fn distinct(&self) -> usize {
        self.counts.distinct()
    }

    /// Give the counts, and start empty again.
    ///
    /// Returns:
    ///     One batch for each hash partition, sorted by the bytes of the pretoken: ``pretoken:
    ///     large_binary``, ``count: int64`` and, with ``first_seen``, ``first_seen:
    ///     fixed_size_binary(16)``, big-endian: source (24 bits), position (64 bits), byte offset in
    ///     the document as it was cut (40 bits). The partition of a pretoken is its XXH3 hash (64
    ///     bits, seed 0) modulo ``partitions``, now and in all versions to come.
    ///
    /// Raises:
    ///     ValueError: ``partitions`` is 0.
    fn drain<'py>(&mut self, py: Python<'py>, partitions: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batches = py.detach(|| sorted_partitions(&self.counts, partitions, self.first_seen))?;
        self.counts = PretokenCounts::new(self.first_seen);
        batches.into_iter().map(|batch| PyRecordBatch::new(batch).into_pyarrow(py)).collect()
    }
}

impl PretokenCounter {
    fn add_texts(&mut self, texts: &LargeBinaryArray, source: u64, positions: Option<&Int64Array>) -> Result<u64> {
        let positions = match positions {
            _ if !self.first_seen => None,
            Some(positions) if positions.len() == texts.len() && positions.null_count() == 0 => Some(positions),
            _ => {
                return Err(KernelError::Value(
                    "first occurrences are kept: each text needs its position in the source".to_owned(),
                ));
            }
        };
        let mut pretokens = 0;
        for row in 0..texts.len() {
            let position = positions.map_or(0, |positions| positions.value(row) as u64);
            let place = document_place(source, position)?;
            pretokens += self.counts.add(&self.pretokenizer, document(texts, row)?, place)?;
        }
        self.counts.look_up_batch();
        Ok(pretokens)
    }
}

fn int64(positions: &PyArray) -> Result<&Int64Array> {
    positions.array().as_primitive_opt::<Int64Type>().ok_or_else(|| KernelError::Type {
        expected: "positions of type int64",
        found: positions.array().data_type().to_string(),
    })
}

/// Merge sorted runs of counts, batch by batch: equal pretokens become one row.
///
/// Args:
///     heads: The current batch of each run, as ``PretokenCounter.drain`` gives them.
///     last: For each, whether its run ends with it.
///
/// Returns:
///     The merged rows, counts summed and the earliest ``first_seen`` kept, up to where a batch ran
///     empty that is not its run's last (or to the end of all); and how many rows of each batch are
///     in them.
///
/// Raises:
///     OverflowError: A count passes 2^63 - 1.
///     TypeError: A batch is no pretoken table.
///     ValueError: A run is not sorted, or holds a pretoken twice.
#[pyfunction]
fn merge_sorted<'py>(
    py: Python<'py>,
    heads: Vec<PyRecordBatch>,
    last: Vec<bool>,
) -> PyResult<(Bound<'py, PyAny>, Vec<usize>)> {
    let batches: Vec<RecordBatch> = heads.into_iter().map(PyRecordBatch::into_inner).collect();
    let (merged, consumed) = py.detach(|| sorted_runs::merge_sorted(&batches, &last))?;
    Ok((PyRecordBatch::new(merged).into_pyarrow(py)?, consumed))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PretokenCounter>()?;
    module.add_function(wrap_pyfunction!(merge_sorted, module)?)
}
