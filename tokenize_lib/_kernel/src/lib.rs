//! The hot loops of tokenbeam. The modules beside `bindings` know nothing of Python and are tested
//! alone; `bindings` is the thin layer that takes Arrow in, releases the GIL, and gives Arrow back.

mod bindings;
pub mod error;
pub mod jsonl;
pub mod lines;
pub mod records;

use pyo3::prelude::*;

/// The module `tokenize_lib._native`. Each binding file registers its own functions and classes.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    bindings::register(module)
}
