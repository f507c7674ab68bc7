//! Named tuples.

use std::mem;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// Makes an object of a tuple class as its `_make` does, without running Python code.
///
/// It is what `tuple.__new__(class, fields)` does, without looking that up each time.
pub(crate) fn named_tuple<'py>(
    class: &Bound<'py, PyType>,
    fields: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let arguments = PyTuple::new(py, [fields])?;
    // SAFETY: `tuple` is a live type; the slot of a built-in type may be asked for since Python 3.10.
    let slot = unsafe { ffi::PyType_GetSlot(&raw mut ffi::PyTuple_Type, ffi::Py_tp_new) };
    // SAFETY: a slot of this number holds a function of this type, or nothing, which is null as the
    // `None` of the option is.
    let new = unsafe { mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(slot) };
    let new = new.ok_or_else(|| PyErr::fetch(py))?;
    // SAFETY: the class and the arguments are alive during the call, and a class that is no tuple
    // is refused.
    let made = unsafe { new(class.as_type_ptr(), arguments.as_ptr(), ptr::null_mut()) };
    // SAFETY: it is null with an error set, or a new reference.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}
