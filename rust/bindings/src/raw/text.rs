//! What is asked about plain texts.

use std::ops::Not as _;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Compares two texts whose type is exactly `str`; no Python code takes part in it.
pub(crate) fn is_same_text(text: &Bound<'_, PyString>, other: &Bound<'_, PyString>) -> bool {
    // SAFETY: both are live texts for as long as they are borrowed.
    unsafe { is_same(text.py(), text.as_ptr(), other.as_ptr()) }
}

/// Compares two plain texts.
///
/// # Safety
///
/// Both are live objects whose type is exactly `str`.
pub(super) unsafe fn is_same(
    py: Python<'_>,
    text: *mut ffi::PyObject,
    other: *mut ffi::PyObject,
) -> bool {
    if text == other {
        return true;
    }
    // SAFETY: the caller vouches for both. The length tells most texts apart.
    let (length, other_length) = unsafe {
        (
            ffi::PyUnicode_GetLength(text),
            ffi::PyUnicode_GetLength(other),
        )
    };
    if length != other_length {
        return false;
    }
    // SAFETY: the caller vouches for both.
    let order = unsafe { ffi::PyUnicode_Compare(text, other) };
    // -1 stands for an error too; none may be left behind.
    if order == -1 {
        drop(PyErr::take(py));
    }
    order == 0
}

/// The first character of a text; `None` if it is empty.
pub(crate) fn first_char(text: &Bound<'_, PyString>) -> PyResult<Option<u32>> {
    let is_empty = text.code_point_len()? == 0;
    // SAFETY: it is a live text for as long as it is borrowed, and it has a first character.
    Ok(is_empty
        .not()
        .then(|| unsafe { ffi::PyUnicode_ReadChar(text.as_ptr(), 0) }))
}
