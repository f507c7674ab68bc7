//! What is asked about plain texts.

use std::ops::Range;
use std::ptr;
use std::slice;

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use super::ascii::{ascii_at, known_ascii};

/// Ids of providers are shorter; their bytes are compared without a call for each pair.
const MOST_CHARS_OF_AN_ID: ffi::Py_ssize_t = 64;

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
    // SAFETY: the caller vouches for both.
    if let (Some(ascii), Some(other)) = unsafe { (ascii_at(py, text), ascii_at(py, other)) } {
        return ascii == other;
    }
    // SAFETY: the caller vouches for both. The length tells most texts apart.
    let length_chars = unsafe { ffi::PyUnicode_GetLength(text) };
    // SAFETY: as above.
    if length_chars != unsafe { ffi::PyUnicode_GetLength(other) } {
        return false;
    }
    if length_chars <= MOST_CHARS_OF_AN_ID {
        // SAFETY: as above.
        if let (Some(bytes), Some(other_bytes)) = unsafe { (utf8(py, text), utf8(py, other)) } {
            return bytes == other_bytes;
        }
    }
    // SAFETY: the caller vouches for both.
    let order = unsafe { ffi::PyUnicode_Compare(text, other) };
    // -1 stands for an error too; none may be left behind.
    if order == -1 {
        drop(PyErr::take(py));
    }
    order == 0
}

/// An ASCII text of our own, which host's texts are compared with.
pub(super) struct Name {
    text: Py<PyString>,
    bytes: &'static [u8],
}

impl Name {
    pub(super) fn new(py: Python<'_>, name: &'static str) -> Self {
        Self {
            text: PyString::intern(py, name).unbind(),
            bytes: name.as_bytes(),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            text: self.text.clone_ref(py),
            bytes: self.bytes,
        }
    }

    /// Whether a plain text is this name. That of a decoded body is never the same object.
    ///
    /// # Safety
    ///
    /// `text` is a live object whose type is exactly `str`.
    #[inline]
    pub(super) unsafe fn is(&self, py: Python<'_>, text: *mut ffi::PyObject) -> bool {
        if text == self.text.as_ptr() {
            return true;
        }
        // SAFETY: the caller vouches for the text.
        if let Some(ascii) = unsafe { ascii_at(py, text) } {
            return ascii == self.bytes;
        }
        // SAFETY: the caller vouches for the text.
        let length_chars = unsafe { ffi::PyUnicode_GetLength(text) };
        // A longer text is not asked for its bytes, which may be made for it and stay in it.
        if usize::try_from(length_chars) != Ok(self.bytes.len()) {
            return false;
        }
        // SAFETY: the caller vouches for the text, which is not dropped before the end.
        unsafe { utf8(py, text) }.is_some_and(|bytes| bytes == self.bytes)
    }
}

/// The bytes of a plain text in UTF-8; `None` if it holds a lone surrogate or memory is short.
///
/// They are made if the text is not ASCII, and stay in it: so this is for short texts.
///
/// # Safety
///
/// `text` is a live object whose type is exactly `str`, for as long as the bytes are used.
#[inline]
unsafe fn utf8<'a>(py: Python<'_>, text: *mut ffi::PyObject) -> Option<&'a [u8]> {
    let mut size_bytes = 0;
    // SAFETY: the caller vouches for the text; the size is written to a place that is alive.
    let bytes = unsafe { ffi::PyUnicode_AsUTF8AndSize(text, &raw mut size_bytes) };
    if bytes.is_null() {
        drop(PyErr::take(py));
        return None;
    }
    let size_bytes = usize::try_from(size_bytes).ok()?;
    // SAFETY: these are the text's own bytes, so many, and they live as long as it does.
    Some(unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size_bytes) })
}

/// Whether a text is all ASCII, as `str.isascii` says it of what a subclass holds too.
///
/// The method's own function is called: a call through Python's protocol takes twenty times as long.
#[inline]
pub(crate) fn is_ascii(text: &Bound<'_, PyString>) -> PyResult<bool> {
    if known_ascii(text).is_some() {
        return Ok(true);
    }
    is_ascii_by_method(text)
}

fn is_ascii_by_method(text: &Bound<'_, PyString>) -> PyResult<bool> {
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

/// Appends to a text, in place where nobody else holds it.
pub(crate) fn append<'py>(
    text: Bound<'py, PyString>,
    end: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyString>> {
    let py = text.py();
    let mut joined = text.into_ptr();
    // SAFETY: both are live texts. The reference to the first one is given away, and what stands
    // in its place is a new one, or null with an error set.
    let joined = unsafe {
        ffi::PyUnicode_Append(&raw mut joined, end.as_ptr());
        Bound::from_owned_ptr_or_err(py, joined)
    };
    Ok(joined?.cast_into()?)
}

/// Some characters of a text, as a plain one.
///
/// A slice made with `PySlice::new` would leave its numbers behind: `PyO3` keeps their references.
pub(crate) fn part<'py>(
    text: &Bound<'py, PyString>,
    range: Range<usize>,
) -> PyResult<Bound<'py, PyString>> {
    let (start, end) = (range.start.try_into()?, range.end.try_into()?);
    // SAFETY: it is a live text; positions behind its end stand for that.
    let part = unsafe { ffi::PyUnicode_Substring(text.as_ptr(), start, end) };
    // SAFETY: it is null with an error set, or a new reference.
    let part = unsafe { Bound::from_owned_ptr_or_err(text.py(), part) }?;
    Ok(part.cast_into()?)
}

/// Characters of a text, as `len` counts those of the `str` that a subclass is too.
#[inline]
pub(crate) fn length_chars(text: &Bound<'_, PyString>) -> PyResult<usize> {
    match known_ascii(text) {
        Some(ascii) => Ok(ascii.len()),
        None => text.code_point_len(),
    }
}

/// The first character of a text; `None` if it is empty.
pub(crate) fn first_char(text: &Bound<'_, PyString>) -> PyResult<Option<u32>> {
    // SAFETY: it is a live text for as long as it is borrowed; that it has such a character is
    // checked, and what is no character stands for an error.
    let first = unsafe { ffi::PyUnicode_ReadChar(text.as_ptr(), 0) };
    if first != ffi::Py_UCS4::MAX {
        return Ok(Some(first));
    }
    let error = PyErr::fetch(text.py());
    if error.is_instance_of::<PyIndexError>(text.py()) {
        return Ok(None);
    }
    Err(error)
}
