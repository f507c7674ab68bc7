//! The one mapping to Python's exceptions. They are defined in `toolbudget.errors`.

use std::collections::TryReserveError;

use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use toolbudget_core::json::JsonError;

use crate::lookups::{self, Lookup};
use crate::text;

const SHOWN_VALUE_CHARS: usize = 80;

/// A defect of ours.
pub(crate) fn internal(py: Python<'_>, problem: &str) -> PyErr {
    let message = format!("internal error in the native core: {problem}");
    match class_of(&lookups::TOOL_BUDGET_ERROR, py) {
        Ok(class) => PyErr::from_type(class, (message,)),
        Err(error) => error,
    }
}

/// There is no memory for a text.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is used as a function of map_err"
)]
pub(crate) fn out_of_memory(error: TryReserveError) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

/// A value that can be no message list, or no element of one.
pub(crate) fn invalid_message(problem: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let py = value.py();
    let error = || -> PyResult<PyErr> {
        let message = PyString::new(py, &format!("{problem}: ")).add(shown(value)?)?;
        Ok(PyErr::from_type(invalid_class(py)?, (message.unbind(),)))
    };
    error().unwrap_or_else(|error| error)
}

/// A body that holds no messages.
pub(crate) fn invalid_body(py: Python<'_>, problem: JsonError) -> PyErr {
    match invalid_class(py) {
        Ok(class) => PyErr::from_type(class, (problem.to_string(),)),
        Err(error) => error,
    }
}

/// Whether it is one of those that [`invalid_message`] makes.
pub(crate) fn is_invalid_message(error: &PyErr, py: Python<'_>) -> PyResult<bool> {
    Ok(error.is_instance(py, invalid_class(py)?.as_any()))
}

fn invalid_class(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    class_of(&lookups::INVALID_MESSAGE_ERROR, py)
}

fn class_of<'py>(lookup: &Lookup, py: Python<'py>) -> PyResult<Bound<'py, PyType>> {
    Ok(lookup.get(py)?.cast::<PyType>()?.clone())
}

/// The name of a value's type.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = value.get_type().getattr(intern!(value.py(), "__name__"))?;
    Ok(name.str()?.to_string_lossy().into_owned())
}

/// A value as an error message shows it, cut where it is long.
fn shown<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = value.py();
    let shown = match value.repr() {
        Ok(shown) => shown,
        // A broken `repr` must not hide the real error.
        Err(error) if error.is_instance_of::<PyException>(py) => {
            PyString::new(py, &format!("<{}>", type_name(value)?))
        }
        Err(error) => return Err(error),
    };
    if shown.code_point_len()? <= SHOWN_VALUE_CHARS {
        return Ok(shown);
    }
    let head = text::head(&shown, SHOWN_VALUE_CHARS)?;
    Ok(head.add(intern!(py, "…"))?.cast_into()?)
}
