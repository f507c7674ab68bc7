//! The texts of one result.

use std::slice;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

/// The texts of all-text content, with the objects that hold them.
pub(crate) enum Texts<'py> {
    /// A string, or the only text block.
    One {
        /// As the host holds it, perhaps of a subclass: it identifies the text from call to call.
        object: Bound<'py, PyAny>,
        /// As a plain text.
        part: Bound<'py, PyString>,
    },
    Many {
        objects: Vec<Bound<'py, PyAny>>,
        parts: Vec<Bound<'py, PyString>>,
    },
}

impl<'py> Texts<'py> {
    pub(crate) const fn one(object: Bound<'py, PyAny>, part: Bound<'py, PyString>) -> Self {
        Self::One { object, part }
    }

    pub(crate) const fn none() -> Self {
        Self::Many {
            objects: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// These and one more.
    pub(crate) fn with(self, object: Bound<'py, PyAny>, part: Bound<'py, PyString>) -> Self {
        match self {
            Self::One {
                object: first_object,
                part: first_part,
            } => Self::Many {
                objects: vec![first_object, object],
                parts: vec![first_part, part],
            },
            Self::Many { parts, .. } if parts.is_empty() => Self::one(object, part),
            Self::Many {
                mut objects,
                mut parts,
            } => {
                objects.push(object);
                parts.push(part);
                Self::Many { objects, parts }
            }
        }
    }

    pub(crate) fn parts(&self) -> &[Bound<'py, PyString>] {
        match self {
            Self::One { part, .. } => slice::from_ref(part),
            Self::Many { parts, .. } => parts,
        }
    }

    fn objects(&self) -> &[Bound<'py, PyAny>] {
        match self {
            Self::One { object, .. } => slice::from_ref(object),
            Self::Many { objects, .. } => objects,
        }
    }

    /// Characters of all of them.
    pub(crate) fn size_chars(&self) -> PyResult<u64> {
        let mut size_chars = 0_u64;
        for part in self.parts() {
            size_chars = size_chars.saturating_add(part.code_point_len()? as u64);
        }
        Ok(size_chars)
    }

    /// The parts as a Python tuple.
    pub(crate) fn to_tuple(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.parts())
    }

    /// The objects as a Python tuple.
    pub(crate) fn to_object_tuple(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.objects())
    }

    /// What identifies the text by its objects: a number, or a tuple of numbers.
    pub(crate) fn identity(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let address = |object: &Bound<'py, PyAny>| PyInt::new(py, object.as_ptr() as usize);
        match self.objects() {
            [object] => Ok(address(object).into_any()),
            objects => Ok(PyTuple::new(py, objects.iter().map(address))?.into_any()),
        }
    }

    /// Whether `objects` holds the very objects that these texts come from.
    pub(crate) fn are_of(&self, objects: &Bound<'_, PyTuple>) -> bool {
        self.objects().len() == objects.len()
            && self
                .objects()
                .iter()
                .zip(objects.iter_borrowed())
                .all(|(one, other)| one.is(other))
    }
}
