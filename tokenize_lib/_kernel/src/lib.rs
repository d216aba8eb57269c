//! The hot loops of tokenbeam. The modules beside `bindings` know nothing of Python and are tested
//! alone; `bindings` is the thin layer that takes Arrow in, releases the GIL, and gives Arrow back.

pub mod alphabet;
#[cfg(feature = "extension-module")]
mod bindings;
pub mod byte_pair_model;
pub mod byte_strings;
pub mod count;
pub mod drain;
pub mod encode;
pub mod error;
pub mod hash;
pub mod jsonl;
pub mod lines;
pub mod long_counts;
pub mod merge_table;
pub mod nfc;
pub mod normalize;
pub mod pairs;
pub mod plain_json;
pub mod pretokenize;
pub mod records;
pub mod scanners;
pub mod segments;
pub mod sorted_runs;
pub mod special_tokens;
pub mod text_sizes;
pub mod threshold;
pub mod token_counter;
pub mod token_encoder;
pub mod train;
pub mod trie;
pub mod unicode;
pub mod window_rules;
pub mod windows;

#[cfg(feature = "extension-module")]
use pyo3::prelude::*;

/// The module `tokenize_lib._native`. Each binding file registers its own functions and classes.
#[cfg(feature = "extension-module")]
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    bindings::register(module)
}
