//! What is asked about plain texts.

use std::ops::Not as _;
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
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

/// Whether a text is all ASCII, as `str.isascii` says it of what a subclass holds too.
///
/// The method's own function is called: a call through Python's protocol takes twenty times as long.
pub(crate) fn is_ascii(text: &Bound<'_, PyString>) -> PyResult<bool> {
    static METHOD: PyOnceLock<AsciiMethod> = PyOnceLock::new();
    let py = text.py();
    let method = METHOD.get_or_try_init(py, || AsciiMethod::find(py))?;
    // SAFETY: this is the function of a method of `str` without arguments, and is called as the
    // interpreter calls it: with a live text, and null for the arguments that there are none of.
    let answer = unsafe { (method.function)(text.as_ptr(), ptr::null_mut()) };
    // SAFETY: it is null with an error set, or a new reference.
    unsafe { Bound::from_owned_ptr_or_err(py, answer) }?.is_truthy()
}

/// The method `isascii` of `str`, kept alive together with its function.
struct AsciiMethod {
    function: ffi::PyCFunction,
    _bound: Py<PyAny>,
}

impl AsciiMethod {
    fn find(py: Python<'_>) -> PyResult<Self> {
        let bound = intern!(py, "").getattr(intern!(py, "isascii"))?;
        // SAFETY: the object is alive, and only its type is looked at.
        let is_builtin = unsafe { ffi::PyCFunction_Check(bound.as_ptr()) } != 0;
        // SAFETY: these are asked of a built-in function only.
        let (flags, function) = unsafe {
            if is_builtin {
                let flags = ffi::PyCFunction_GetFlags(bound.as_ptr());
                (flags, ffi::PyCFunction_GetFunction(bound.as_ptr()))
            } else {
                (0, None)
            }
        };
        match function {
            Some(function) if flags == ffi::METH_NOARGS => Ok(Self {
                function,
                _bound: bound.unbind(),
            }),
            _ => Err(PyTypeError::new_err("str.isascii is no plain method")),
        }
    }
}

/// The first character of a text; `None` if it is empty.
pub(crate) fn first_char(text: &Bound<'_, PyString>) -> PyResult<Option<u32>> {
    let is_empty = text.code_point_len()? == 0;
    // SAFETY: it is a live text for as long as it is borrowed, and it has a first character.
    Ok(is_empty
        .not()
        .then(|| unsafe { ffi::PyUnicode_ReadChar(text.as_ptr(), 0) }))
}
