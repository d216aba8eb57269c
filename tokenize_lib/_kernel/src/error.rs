//! The one error type of the kernel; `bindings` maps each variant to one Python exception.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum KernelError {
    /// A count passed 2^63 - 1. Becomes `OverflowError`.
    #[error("a count of {0} passed 2^63 - 1; counts are 64-bit integers")]
    Overflow(&'static str),
    /// A pattern or an option that cannot be run. Becomes `ValueError`.
    #[error("{0}")]
    Value(String),
    /// An Arrow array of another type than the function takes. Becomes `TypeError`.
    #[error("expected {expected}, got {found}")]
    Type { expected: &'static str, found: String },
}

pub type Result<T> = std::result::Result<T, KernelError>;
