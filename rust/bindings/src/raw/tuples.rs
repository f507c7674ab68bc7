//! Named tuples.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// Makes an object of a tuple class as its `_make` does, without running Python code.
///
/// It is what `tuple.__new__(class, fields)` does for a class that allocates as any class does,
/// without another tuple for the arguments.
pub(crate) fn named_tuple<'py>(
    class: &Bound<'py, PyType>,
    fields: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let count = fields.len().cast_signed();
    // SAFETY: the class is alive, and the object gets as much room as it asks for.
    let made = unsafe { ffi::PyType_GenericAlloc(class.as_type_ptr(), count) };
    // SAFETY: it is null with an error set, or a new reference.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    for (place, field) in fields.iter_borrowed().enumerate() {
        let field = field.to_owned().into_ptr();
        // SAFETY: `made` is alive, and nobody else has it. What is no tuple, or has no such item, is
        // refused; the reference is taken over in any case.
        let failed = unsafe { ffi::PyTuple_SetItem(made.as_ptr(), place.cast_signed(), field) };
        if failed != 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(made)
}
