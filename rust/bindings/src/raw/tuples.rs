//! Named tuples.

use std::mem;
use std::ptr;
use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// Makes an object of a tuple class as its `_make` does, without running Python code.
pub(crate) fn named_tuple<'py>(
    class: &Bound<'py, PyType>,
    fields: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    if are_only_items(class.py()) {
        filled(class, fields)
    } else {
        made_by_tuple(class, fields)
    }
}

/// Whether a tuple is nothing but its items: since `CPython` 3.14 it also keeps its hash, which is
/// wrong in one that is made by filling what was allocated.
#[inline]
fn are_only_items(py: Python<'_>) -> bool {
    const HEAD_BYTES: usize = 3 * mem::size_of::<usize>(); // references, class, length
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let size = py.get_type::<PyTuple>().getattr("__basicsize__");
        size.and_then(|size| size.extract::<usize>())
            .is_ok_and(|size| size == HEAD_BYTES)
    })
}

/// It is what `tuple.__new__(class, fields)` does for a class that allocates as any class does,
/// without another tuple for the arguments.
fn filled<'py>(
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

/// It is `tuple.__new__(class, fields)`.
fn made_by_tuple<'py>(
    class: &Bound<'py, PyType>,
    fields: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    // SAFETY: the class is alive.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    if flags & ffi::Py_TPFLAGS_TUPLE_SUBCLASS == 0 {
        return Err(PyTypeError::new_err("no class of tuples"));
    }
    let arguments = PyTuple::new(py, [fields])?;
    // SAFETY: the class of tuples is alive; since Python 3.10 the slot of any type may be asked for.
    let new =
        unsafe { ffi::PyType_GetSlot(py.get_type::<PyTuple>().as_type_ptr(), ffi::Py_tp_new) };
    // SAFETY: a slot of this number holds a function of this type, or nothing, which is null as the
    // `None` of the option is.
    let new = unsafe { mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(new) };
    let new = new.ok_or_else(|| PyTypeError::new_err("tuple has no `__new__`"))?;
    // SAFETY: the class, which is one of tuples, and the arguments are alive.
    let made = unsafe { new(class.as_type_ptr(), arguments.as_ptr(), ptr::null_mut()) };
    // SAFETY: it is null with an error set, or a new reference.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}
