//! Panics as Python exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error;

/// Runs the body of a function that Python calls.
///
/// A panic becomes an ordinary exception. What `PyO3` would make of it is no `Exception`, and would
/// end the worker that the host runs in.
pub(crate) fn guarded<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Nothing outlives a panic half done: a body changes only what it has made itself.
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|payload| Err(error::internal(py, message_of(payload.as_ref()))))
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Panics, so that tests see what becomes of it.
#[pyfunction]
#[pyo3(name = "_panic", signature = (message))]
#[expect(clippy::panic, reason = "that is what it is for")]
pub(crate) fn panic(py: Python<'_>, message: &str) -> PyResult<()> {
    guarded(py, || panic!("{message}"))
}
