//! The texts of one result.

use std::slice;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::raw;

/// The texts of all-text content, with the objects that hold them.
pub(crate) enum Texts<'py> {
    /// A plain string, perhaps of the only text block.
    Plain(Bound<'py, PyString>),
    /// A string of a subclass, or that of the only text block.
    /// Any others; apart, because there are few of them.
    Odd(Box<OddTexts<'py>>),
}

/// Texts of several blocks or of subclasses: as the host holds them, which identifies the text from
/// call to call, and as plain texts.
pub(crate) struct OddTexts<'py> {
    objects: Vec<Bound<'py, PyAny>>,
    parts: Vec<Bound<'py, PyString>>,
}

impl<'py> Texts<'py> {
    pub(crate) fn one(object: Bound<'py, PyAny>, part: Bound<'py, PyString>) -> Self {
        if object.is(&part) {
            Self::Plain(part)
        } else {
            Self::many(vec![object], vec![part])
        }
    }

    pub(crate) fn none() -> Self {
        Self::many(Vec::new(), Vec::new())
    }

    fn many(objects: Vec<Bound<'py, PyAny>>, parts: Vec<Bound<'py, PyString>>) -> Self {
        Self::Odd(Box::new(OddTexts { objects, parts }))
    }

    /// These and one more.
    pub(crate) fn with(self, object: Bound<'py, PyAny>, part: Bound<'py, PyString>) -> Self {
        match self {
            Self::Odd(texts) if texts.parts.is_empty() => Self::one(object, part),
            Self::Odd(mut texts) => {
                texts.objects.push(object);
                texts.parts.push(part);
                Self::Odd(texts)
            }
            Self::Plain(first) => {
                Self::many(vec![first.clone().into_any(), object], vec![first, part])
            }
        }
    }

    pub(crate) fn parts(&self) -> &[Bound<'py, PyString>] {
        match self {
            Self::Plain(part) => slice::from_ref(part),
            Self::Odd(texts) => &texts.parts,
        }
    }

    /// What identifies the text: its objects as the host holds them.
    pub(crate) fn objects(&self) -> &[Bound<'py, PyAny>] {
        match self {
            Self::Plain(part) => slice::from_ref(part.as_any()),
            Self::Odd(texts) => &texts.objects,
        }
    }

    /// Characters of all of them.
    pub(crate) fn size_chars(&self) -> PyResult<u64> {
        let mut size_chars = 0_u64;
        for part in self.parts() {
            size_chars = size_chars.saturating_add(raw::length_chars(part)? as u64);
        }
        Ok(size_chars)
    }

    /// The parts as a Python tuple.
    pub(crate) fn to_tuple(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.parts())
    }
}
