//! Iterating over lists, tuples and what counts as one.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::list::BoundListIterator;
use pyo3::types::tuple::BoundTupleIterator;
use pyo3::types::{PyIterator, PyList, PyString, PyTuple};

/// The items of an iterable; those of a plain list or tuple without an iterator of Python's.
pub(crate) enum Items<'py> {
    List(BoundListIterator<'py>),
    Tuple(BoundTupleIterator<'py>),
    Other(Bound<'py, PyIterator>),
}

impl<'py> Items<'py> {
    pub(crate) fn of(iterable: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = iterable.cast_exact::<PyList>() {
            return Ok(Self::List(list.iter()));
        }
        if let Ok(tuple) = iterable.cast_exact::<PyTuple>() {
            return Ok(Self::Tuple(tuple.iter()));
        }
        iterable.try_iter().map(Self::Other)
    }
}

impl<'py> Iterator for Items<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::List(items) => items.next().map(Ok),
            Self::Tuple(items) => items.next().map(Ok),
            Self::Other(items) => items.next(),
        }
    }
}

/// The place that `index` names among `len` items; as in Python a negative one counts from the end.
pub(crate) fn position(index: isize, len: usize) -> PyResult<usize> {
    let from_start = index.try_into().ok();
    from_start
        .or_else(|| len.checked_sub(index.unsigned_abs()))
        .filter(|&position| position < len)
        .ok_or_else(|| PyIndexError::new_err("list index out of range"))
}

/// Whether `value` counts as a list of blocks.
pub(crate) fn is_list(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        return Ok(true);
    }
    if value.is_exact_instance_of::<PyString>() {
        return Ok(false);
    }
    let py = value.py();
    Ok(value.is_instance(&py.get_type::<PyList>())?
        || value.is_instance(&py.get_type::<PyTuple>())?)
}
