//! Preview styles: parts of a Python text, read where the core asks for them.

use std::collections::TryReserveError;
use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use toolbudget_core::{Preview, Source};

use crate::{error, number, text};

/// A text that is read in place if it is ASCII, else in encoded parts.
enum Parts<'a, 'py> {
    Ascii(&'a [u8]),
    Wide {
        text: &'a Bound<'py, PyString>,
        length_chars: usize,
    },
}

enum Part<'a, 'py> {
    Ascii(&'a [u8]),
    Encoded(Bound<'py, PyBytes>),
}

impl AsRef<[u8]> for Part<'_, '_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Ascii(bytes) => bytes,
            Self::Encoded(bytes) => bytes.as_bytes(),
        }
    }
}

/// Why a part cannot be read, as Python is told.
struct Unreadable(PyErr);

impl From<TryReserveError> for Unreadable {
    fn from(problem: TryReserveError) -> Self {
        Self(error::out_of_memory(problem))
    }
}

impl<'py> Source for Parts<'_, 'py> {
    type Bytes<'b>
        = Part<'b, 'py>
    where
        Self: 'b;
    type Error = Unreadable;

    fn length_chars(&self) -> usize {
        match self {
            Self::Ascii(bytes) => bytes.len(),
            Self::Wide { length_chars, .. } => *length_chars,
        }
    }

    fn read(&self, range: Range<usize>) -> Result<Part<'_, 'py>, Unreadable> {
        match self {
            Self::Ascii(bytes) => Ok(Part::Ascii(&bytes[range])),
            Self::Wide { text, .. } => {
                let part = text::encoded_part(text, range).map_err(Unreadable)?;
                Ok(Part::Encoded(part))
            }
        }
    }
}

/// Shows the beginning and the end of `text`.
pub(crate) fn head_tail_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::head_tail_preview)
}

/// Shows what a JSON text is made of.
pub(crate) fn json_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::json_preview)
}

/// Shows the lines of `text` that matter most.
pub(crate) fn salient_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::salient_preview)
}

fn show<'a, 'py>(
    text: &'a Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
    style: impl FnOnce(&Parts<'a, 'py>, usize) -> Result<Preview, Unreadable>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    let max_bytes = number::saturating_i128(max_bytes)?;
    if max_bytes < 0 {
        return Ok((PyString::new(text.py(), ""), true));
    }
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let parts = match text::ascii_bytes(text)? {
        Some(bytes) => Parts::Ascii(bytes),
        None => Parts::Wide {
            text,
            length_chars: text.code_point_len()?,
        },
    };
    let preview = style(&parts, max_bytes).map_err(|Unreadable(problem)| problem)?;
    let shown = PyString::from_bytes(text.py(), preview.text.as_bytes())?;
    Ok((shown, preview.has_more))
}
