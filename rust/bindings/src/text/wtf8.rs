//! A whole text as WTF-8, in a call and beyond it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::encode;
use crate::raw::{self, is_ascii};

/// Bytes of a text in WTF-8, borrowed if it is ASCII.
pub(crate) enum Wtf8<'py> {
    Ascii(Bound<'py, PyString>),
    Encoded(Bound<'py, PyBytes>),
}

impl<'py> Wtf8<'py> {
    pub(crate) fn of(text: &Bound<'py, PyString>) -> PyResult<Self> {
        if is_ascii(text)? {
            Ok(Self::Ascii(text.clone()))
        } else {
            encode(text).map(Self::Encoded)
        }
    }

    pub(crate) fn as_bytes(&self) -> PyResult<&[u8]> {
        match self {
            Self::Ascii(text) => match raw::known_ascii(text) {
                Some(ascii) => Ok(ascii),
                None => text.to_str().map(str::as_bytes),
            },
            Self::Encoded(bytes) => Ok(bytes.as_bytes()),
        }
    }
}

/// [`Wtf8`] apart from the call that made it.
pub(crate) enum OwnWtf8 {
    Ascii(Py<PyString>),
    Encoded(Py<PyBytes>),
}

impl OwnWtf8 {
    pub(crate) fn of(text: &Wtf8<'_>) -> Self {
        match text {
            Wtf8::Ascii(text) => Self::Ascii(text.clone().unbind()),
            Wtf8::Encoded(bytes) => Self::Encoded(bytes.clone().unbind()),
        }
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> Wtf8<'py> {
        match self {
            Self::Ascii(text) => Wtf8::Ascii(text.bind(py).clone()),
            Self::Encoded(bytes) => Wtf8::Encoded(bytes.bind(py).clone()),
        }
    }
}
