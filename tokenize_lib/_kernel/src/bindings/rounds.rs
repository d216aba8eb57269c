//! `Alphabet`, `Merges`, `PairCounter`, `ThresholdSample`, `SegmentCounter`, `train_segments`: a merge round.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeListArray, RecordBatch, UInt8Array, UInt32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};
use std::collections::HashMap;

use super::columns::{Places, SymbolRows, column, pretokens, typed};
use crate::alphabet::{Alphabet, FormRule, for_each_form};
use crate::encode::{Merges, Scratch};
use crate::error::{KernelError, Result};
use crate::hash::{pair_key, pair_of};
use crate::pairs::PairTable;
use crate::segments::{Live, LivePairs, Segment, SegmentList, SegmentTable};
use crate::threshold::{Sample, Sizes};
use crate::train::{Merge, Rules, Strings, TieBreak, Trainer};

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|error| KernelError::Value(error.to_string()))
}

fn to_python<'py>(py: Python<'py>, batch: RecordBatch) -> PyResult<Bound<'py, PyAny>> {
    PyRecordBatch::new(batch).into_pyarrow(py)
}

fn all_to_python<'py>(py: Python<'py>, batches: Vec<RecordBatch>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    batches.into_iter().map(|batch| to_python(py, batch)).collect()
}

/// Segments as rows of symbols: symbols large_list<uint32>, count int64, and first_seen where they have places.
fn segment_batch(list: SegmentList, with_places: bool) -> Result<RecordBatch> {
    let SegmentList { symbols, ends, counts, places } = list;
    let item = Arc::new(Field::new("item", DataType::UInt32, false));
    let offsets = std::iter::once(0).chain(ends.iter().map(|&end| end as i64)).collect::<Vec<_>>();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let symbols = LargeListArray::new(item, offsets, Arc::new(UInt32Array::from(symbols)), None);
    let mut columns: Vec<(&str, ArrayRef)> =
        vec![("symbols", Arc::new(symbols)), ("count", Arc::new(Int64Array::from(counts)))];
    if with_places {
        let mut builder = FixedSizeBinaryBuilder::with_capacity(places.len(), 16);
        for place in places {
            builder.append_value(place.to_be_bytes()).map_err(|error| KernelError::Value(error.to_string()))?;
        }
        columns.push(("first_seen", Arc::new(builder.finish())));
    }
    batch(columns)
}

fn has_places(batch: &RecordBatch) -> bool {
    batch.column_by_name("first_seen").is_some()
}

/// The start alphabet. Made by `Alphabet.bytes` or `Alphabet.characters`.
#[pyclass(name = "Alphabet", module = "tokenize_lib._native", frozen)]
struct PyAlphabet(Alphabet);

#[pymethods]
impl PyAlphabet {
    /// `ids`: uint32, the id of each of the 256 bytes.
    #[staticmethod]
    fn bytes(ids: PyArray) -> PyResult<Self> {
        let ids: &UInt32Array = typed(ids.array().as_ref(), "uint32")?;
        let ids: [u32; 256] = (&**ids.values())
            .try_into()
            .map_err(|_| KernelError::Value(format!("an alphabet of bytes needs 256 ids, got {}", ids.len())))?;
        Ok(Self(Alphabet::Bytes(Box::new(ids))))
    }

    /// `characters`: uint32 code points, `forms`: uint8, one id each from `first_id` on. `mark`: the id of the mark
    /// that follows the last character, if it is a symbol of its own.
    #[staticmethod]
    #[pyo3(signature = (characters, forms, first_id, *, continuing, last, mark = None))]
    fn characters(
        characters: PyArray,
        forms: PyArray,
        first_id: u32,
        continuing: bool,
        last: bool,
        mark: Option<u32>,
    ) -> PyResult<Self> {
        let characters: &UInt32Array = typed(characters.array().as_ref(), "uint32")?;
        let forms: &UInt8Array = typed(forms.array().as_ref(), "uint8")?;
        let mut ids = HashMap::new();
        for ((&code_point, &form), id) in characters.values().iter().zip(forms.values()).zip(first_id..) {
            let character = char::from_u32(code_point)
                .ok_or_else(|| KernelError::Value(format!("U+{code_point:04X} is not a character")))?;
            ids.insert((character, form), id);
        }
        Ok(Self(Alphabet::Characters { ids, forms: FormRule { continuing, last }, mark }))
    }

    /// The pretoken table as rows of start symbols.
    fn encode<'py>(&self, py: Python<'py>, table: PyRecordBatch) -> PyResult<Bound<'py, PyAny>> {
        let table = table.into_inner();
        let rows = py.detach(|| -> Result<RecordBatch> {
            let (texts, counts) = pretokens(&table)?;
            let places = Places::of(&table)?;
            let mut rows = SegmentList::default();
            rows.symbols.reserve(texts.value_data().len());
            for (row, (text, &count)) in texts.iter().zip(counts).enumerate() {
                self.0.encode_into(text.unwrap_or_default(), &mut rows.symbols)?;
                rows.close(count, places.get(row));
            }
            segment_batch(rows, has_places(&table))
        })?;
        to_python(py, rows)
    }
}

/// How often each form of a character stands in a pretoken table: character uint32, form uint8, count int64.
#[pyfunction]
#[pyo3(signature = (table, *, continuing, last))]
fn character_forms<'py>(
    py: Python<'py>,
    table: PyRecordBatch,
    continuing: bool,
    last: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let table = table.into_inner();
    let forms = py.detach(|| -> Result<RecordBatch> {
        let (texts, counts) = pretokens(&table)?;
        let mut forms: HashMap<(char, u8), i64> = HashMap::new();
        let mut total = Ok(());
        for (text, &count) in texts.iter().zip(counts) {
            for_each_form(text.unwrap_or_default(), FormRule { continuing, last }, |character, form| {
                let entry = forms.entry((character, form)).or_insert(0);
                match entry.checked_add(count) {
                    Some(sum) => *entry = sum,
                    None => total = Err(KernelError::Overflow("a character")),
                }
            })?;
        }
        total?;
        let mut forms: Vec<_> = forms.into_iter().collect();
        forms.sort_unstable();
        batch(vec![
            (
                "character",
                Arc::new(UInt32Array::from_iter_values(forms.iter().map(|&((character, _), _)| character as u32))),
            ),
            ("form", Arc::new(UInt8Array::from_iter_values(forms.iter().map(|&((_, form), _)| form)))),
            ("count", Arc::new(Int64Array::from_iter_values(forms.iter().map(|&(_, count)| count)))),
        ])
    })?;
    to_python(py, forms)
}

fn pair_columns(batch: &RecordBatch) -> Result<(&[u32], &[u32])> {
    let left: &UInt32Array = column(batch, "left", "left: uint32")?;
    let right: &UInt32Array = column(batch, "right", "right: uint32")?;
    Ok((left.values(), right.values()))
}

/// Merges to apply: a batch with left and right (uint32); the k-th makes the id `first_id + k`.
#[pyclass(name = "Merges", module = "tokenize_lib._native", frozen)]
struct PyMerges(Merges);

#[pymethods]
impl PyMerges {
    #[new]
    fn new(merges: PyRecordBatch, first_id: u32) -> PyResult<Self> {
        let merges = merges.into_inner();
        let (left, right) = pair_columns(&merges)?;
        Ok(Self(Merges::new(left.iter().copied().zip(right.iter().copied()), first_id)))
    }

    /// Rows of symbols with the merges applied. With `drop_single`, rows that became one symbol are left out.
    #[pyo3(signature = (rows, *, drop_single = false))]
    fn apply<'py>(&self, py: Python<'py>, rows: PyRecordBatch, drop_single: bool) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows.into_inner();
        let merged = py.detach(|| -> Result<RecordBatch> {
            let mut merged = SegmentList::default();
            let (mut symbols, mut scratch) = (Vec::new(), Scratch::default());
            for row in SymbolRows::of(&rows)?.iter() {
                symbols.clear();
                symbols.extend_from_slice(row.symbols);
                self.0.apply(&mut symbols, &mut scratch);
                if symbols.len() > 1 || !drop_single {
                    merged.push(Segment { symbols: &symbols, ..row });
                }
            }
            segment_batch(merged, has_places(&rows))
        })?;
        to_python(py, merged)
    }
}

fn pair_batch(pairs: &[(u64, i64)]) -> Result<RecordBatch> {
    batch(vec![
        ("left", Arc::new(UInt32Array::from_iter_values(pairs.iter().map(|&(key, _)| pair_of(key).0)))),
        ("right", Arc::new(UInt32Array::from_iter_values(pairs.iter().map(|&(key, _)| pair_of(key).1)))),
        ("count", Arc::new(Int64Array::from_iter_values(pairs.iter().map(|&(_, count)| count)))),
    ])
}

fn counted_pairs(batch: &RecordBatch) -> Result<impl Iterator<Item = (u64, i64)> + '_> {
    let (left, right) = pair_columns(batch)?;
    let counts: &Int64Array = column(batch, "count", "count: int64")?;
    Ok(left.iter().zip(right).zip(counts.values()).map(|((&left, &right), &count)| (pair_key(left, right), count)))
}

/// Counts of adjacent pairs; positions may overlap.
#[pyclass(name = "PairCounter", module = "tokenize_lib._native")]
#[derive(Default)]
struct PyPairCounter(PairTable);

#[pymethods]
impl PyPairCounter {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Counts the pairs of rows of symbols.
    fn add(&mut self, py: Python<'_>, rows: PyRecordBatch) -> PyResult<()> {
        let rows = rows.into_inner();
        let table = &mut self.0;
        Ok(py.detach(|| SymbolRows::of(&rows)?.iter().try_for_each(|row| table.add_symbols(row.symbols, row.count)))?)
    }

    /// Adds partial counts: left, right (uint32), count (int64).
    fn add_pairs(&mut self, py: Python<'_>, pairs: PyRecordBatch) -> PyResult<()> {
        let pairs = pairs.into_inner();
        let table = &mut self.0;
        Ok(py.detach(|| counted_pairs(&pairs)?.try_for_each(|(key, count)| table.add(key, count)))?)
    }

    #[getter]
    fn distinct(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Empties the counter: a batch (left, right, count) a partition, by the pair's hash.
    fn drain<'py>(&mut self, py: Python<'py>, partitions: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let table = &mut self.0;
        let parts =
            py.detach(|| table.drain(partitions).iter().map(|pairs| pair_batch(pairs)).collect::<Result<Vec<_>>>())?;
        all_to_python(py, parts)
    }
}

/// A sample of the encoded pretoken table, to see what a threshold would cost.
#[pyclass(name = "ThresholdSample", module = "tokenize_lib._native")]
struct PyThresholdSample(Sample);

#[pymethods]
impl PyThresholdSample {
    /// `rows`: the sampled rows of symbols.
    #[new]
    fn new(py: Python<'_>, rows: Vec<PyRecordBatch>) -> PyResult<Self> {
        let rows: Vec<_> = rows.into_iter().map(PyRecordBatch::into_inner).collect();
        Ok(Self(py.detach(|| -> Result<Sample> {
            let mut sample = Sample::default();
            for batch in &rows {
                SymbolRows::of(batch)?.iter().for_each(|row| sample.add(row.symbols));
            }
            Ok(sample)
        })?))
    }

    /// Takes the true counts of all pairs, in any number of batches (left, right, count).
    fn add_pairs(&mut self, py: Python<'_>, pairs: PyRecordBatch) -> PyResult<()> {
        let pairs = pairs.into_inner();
        let sample = &mut self.0;
        Ok(py.detach(|| -> Result<()> {
            counted_pairs(&pairs)?.for_each(|(key, count)| sample.add_pair(key, count));
            Ok(())
        })?)
    }

    /// The count of the best pair; 0 where there is no pair.
    #[getter]
    fn best(&self) -> i64 {
        self.0.best()
    }

    #[getter]
    fn distinct_pairs(&self) -> usize {
        self.0.distinct_pairs()
    }

    /// How many pairs count at least `threshold`.
    fn live_pairs(&self, threshold: i64) -> usize {
        self.0.live_pairs(threshold)
    }

    /// The segments of the sample with repeats; then the distinct ones, and the symbols in them, of a quarter of the
    /// sample, a half, and all of it.
    fn sizes(&self, py: Python<'_>, threshold: i64) -> PyResult<(usize, [usize; 3], [usize; 3])> {
        let Sizes { instances, segments, symbols } = py.detach(|| self.0.sizes(threshold))?;
        Ok((instances, segments, symbols))
    }
}

/// Segments cut from rows of symbols, equal ones summed if that is asked for.
#[pyclass(name = "SegmentCounter", module = "tokenize_lib._native")]
struct PySegmentCounter {
    live: Live,
    sums: bool,
    table: SegmentTable,
}

#[pymethods]
impl PySegmentCounter {
    /// `live`: the live pairs (left, right), or None: every pair is live.
    #[new]
    #[pyo3(signature = (live = None, *, sums = true))]
    fn new(live: Option<Vec<PyRecordBatch>>, sums: bool) -> PyResult<Self> {
        let live = match live {
            None => Live::Every,
            Some(batches) => {
                let batches: Vec<_> = batches.into_iter().map(PyRecordBatch::into_inner).collect();
                let columns = batches.iter().map(pair_columns).collect::<Result<Vec<_>>>()?;
                let pairs =
                    columns.into_iter().flat_map(|(left, right)| left.iter().copied().zip(right.iter().copied()));
                Live::These(LivePairs::new(pairs))
            }
        };
        Ok(Self { live, sums, table: SegmentTable::default() })
    }

    /// Cuts rows of symbols and sums the segments. `widths` (uint32, by id: the start symbols in a symbol) is
    /// needed where rows have places.
    #[pyo3(signature = (rows, widths = None))]
    fn add(&mut self, py: Python<'_>, rows: PyRecordBatch, widths: Option<PyArray>) -> PyResult<()> {
        let rows = rows.into_inner();
        let widths = widths.map(|widths| widths.into_inner().0);
        let Self { live, sums, table } = self;
        Ok(py.detach(|| -> Result<()> {
            let widths = widths.as_ref().map(|array| typed::<UInt32Array>(array.as_ref(), "uint32")).transpose()?;
            let widths = widths.map(|array| &**array.values());
            SymbolRows::of(&rows)?.iter().try_for_each(|row| {
                live.cut(row, widths, |segment| {
                    if *sums {
                        table.add(segment)?;
                    } else {
                        table.list.push(segment);
                    }
                    Ok(())
                })
            })
        })?)
    }

    #[getter]
    fn segments(&self) -> usize {
        self.table.list.len()
    }

    #[getter]
    fn symbols(&self) -> usize {
        self.table.list.symbol_count()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.table.nbytes()
    }

    /// Empties the counter: rows of symbols, a batch a partition, by the segment's hash.
    fn drain<'py>(&mut self, py: Python<'py>, partitions: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let list = std::mem::take(&mut self.table).list;
        let with_places = list.has_places();
        let parts = py.detach(|| {
            let parts = list.into_partitions(partitions).into_iter();
            parts.map(|part| segment_batch(part, with_places)).collect::<Result<Vec<_>>>()
        })?;
        all_to_python(py, parts)
    }
}

/// The segments of a round, and the trainer on them.
#[pyclass(name = "SegmentList", module = "tokenize_lib._native")]
#[derive(Default)]
struct PySegmentList(SegmentList);

#[pymethods]
impl PySegmentList {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Takes rows of symbols, each a segment; equal ones need not be summed.
    fn add(&mut self, py: Python<'_>, rows: PyRecordBatch) -> PyResult<()> {
        let rows = rows.into_inner();
        let list = &mut self.0;
        Ok(py.detach(|| -> Result<()> {
            SymbolRows::of(&rows)?.iter().for_each(|row| list.push(row));
            Ok(())
        })?)
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// Empties the list and makes the merges of the round: left, right (uint32), count (the pair's), replaced (how
    /// many places it was merged at), int64 both. `tick(merges)` is called about every 0.1 s.
    #[pyo3(signature = (*, threshold, max_merges, first_seen, max_token_length, lengths, strings, continuing_prefix, tick))]
    #[expect(clippy::too_many_arguments, reason = "one call a round, all by name")]
    fn train<'py>(
        &mut self,
        py: Python<'py>,
        threshold: i64,
        max_merges: usize,
        first_seen: bool,
        max_token_length: Option<u32>,
        lengths: PyArray,
        strings: Option<PyArray>,
        continuing_prefix: Vec<u8>,
        tick: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let lengths: &UInt32Array = typed(lengths.array().as_ref(), "uint32")?;
        let strings = strings.map(|strings| -> Result<Strings> {
            let strings: &LargeBinaryArray = typed(strings.array().as_ref(), "large_binary")?;
            Ok(Strings::new(strings.iter().map(|token| token.unwrap_or_default().into()).collect(), continuing_prefix))
        });
        let rules = Rules {
            threshold,
            max_merges,
            tie_break: if first_seen { TieBreak::FirstSeen } else { TieBreak::Ids },
            max_token_length: max_token_length.unwrap_or(u32::MAX),
            lengths: lengths.values().to_vec(),
            strings: strings.transpose()?,
        };
        let tick = tick.unbind();
        let list = std::mem::take(&mut self.0);
        let merges = py.detach(|| -> PyResult<Vec<Merge>> {
            let mut trainer = trainer(list, rules)?;
            let mut last = Instant::now();
            trainer.run(|merges| -> PyResult<()> {
                if last.elapsed() < Duration::from_millis(100) {
                    return Ok(());
                }
                last = Instant::now();
                Python::attach(|py| {
                    py.check_signals()?;
                    tick.call1(py, (merges,)).map(drop)
                })
            })
        })?;
        to_python(py, merge_batch(&merges)?)
    }
}

/// A trainer over the segments, which are let go once it holds their symbols.
fn trainer(list: SegmentList, rules: Rules) -> Result<Trainer> {
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    match rules.tie_break {
        TieBreak::Ids => order.sort_unstable_by_key(|&at| std::cmp::Reverse(list.get(at as usize).count)),
        TieBreak::FirstSeen => order.sort_unstable_by_key(|&at| list.get(at as usize).place),
    }
    Trainer::new(order.iter().map(|&at| list.get(at as usize)), list.symbol_count() + list.len(), rules)
}

fn merge_batch(merges: &[Merge]) -> Result<RecordBatch> {
    batch(vec![
        ("left", Arc::new(UInt32Array::from_iter_values(merges.iter().map(|merge| merge.left)))),
        ("right", Arc::new(UInt32Array::from_iter_values(merges.iter().map(|merge| merge.right)))),
        ("count", Arc::new(Int64Array::from_iter_values(merges.iter().map(|merge| merge.count)))),
        ("replaced", Arc::new(Int64Array::from_iter_values(merges.iter().map(|merge| merge.replaced)))),
    ])
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAlphabet>()?;
    module.add_class::<PyMerges>()?;
    module.add_class::<PyPairCounter>()?;
    module.add_class::<PyThresholdSample>()?;
    module.add_class::<PySegmentCounter>()?;
    module.add_class::<PySegmentList>()?;
    module.add_function(wrap_pyfunction!(character_forms, module)?)
}
