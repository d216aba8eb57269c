//! Python's view of the kernel: one file a subject, each with its own `register`.

mod byte_pair_model;
mod columns;
mod count;
mod pretokenize;
mod records;
mod rounds;
mod text_sizes;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::KernelError;

impl From<KernelError> for PyErr {
    fn from(error: KernelError) -> Self {
        let text = error.to_string();
        match error {
            KernelError::Overflow(_) => PyOverflowError::new_err(text),
            KernelError::Value(_) => PyValueError::new_err(text),
            KernelError::Type { .. } => PyTypeError::new_err(text),
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    pretokenize::register(module)?;
    count::register(module)?;
    records::register(module)?;
    rounds::register(module)?;
    byte_pair_model::register(module)?;
    text_sizes::register(module)
}
