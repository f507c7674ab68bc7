//! Panics as Python exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;

use crate::error;

/// Entries until one panics, for tests; 0 is never. Looking at it costs a call some nanosecond.
static ENTRIES_TO_PANIC: AtomicUsize = AtomicUsize::new(0);

/// Runs the body of a function that Python calls.
///
/// A panic becomes an ordinary exception. What `PyO3` would make of it is no `Exception`, and would
/// end the worker that the host runs in.
pub(crate) fn guarded<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Nothing outlives a panic half done: a body changes only what it has made itself.
    let body = || {
        panic_if_due();
        body()
    };
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

/// Panics where a test asked for it.
#[expect(clippy::panic, reason = "that is what it is for")]
fn panic_if_due() {
    // Entries are counted under the interpreter's lock, so nothing comes in between.
    if ENTRIES_TO_PANIC.load(Ordering::Relaxed) > 0
        && ENTRIES_TO_PANIC.fetch_sub(1, Ordering::Relaxed) == 1
    {
        panic!("asked for by a test");
    }
}

/// Makes one of the next entries panic, whatever function and thread it comes through.
///
/// Gives how many entries an earlier request still had to wait for; 0 takes a request back.
#[pyfunction]
#[pyo3(name = "_panic_after", signature = (entries))]
pub(crate) fn panic_after(entries: usize) -> usize {
    ENTRIES_TO_PANIC.swap(entries, Ordering::Relaxed)
}

/// Panics, so that tests see what becomes of it.
#[pyfunction]
#[pyo3(name = "_panic", signature = (message))]
#[expect(clippy::panic, reason = "that is what it is for")]
pub(crate) fn panic(py: Python<'_>, message: &str) -> PyResult<()> {
    guarded(py, || panic!("{message}"))
}
