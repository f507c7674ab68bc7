//! Python numbers of any size as the core's.

use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use toolbudget_core::Limit;

/// Reads how many bytes there is room for: none below zero, the most if it is too large a number.
pub(crate) fn room_bytes(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let wanted = saturating_i128(value)?.max(0);
    Ok(usize::try_from(wanted).unwrap_or(usize::MAX))
}

/// Reads the sizes of items.
pub(crate) fn sizes(sizes: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    sizes.try_iter()?.map(|size| size?.extract()).collect()
}

/// Reads a limit: a whole number stays exact, a float is rounded down.
pub(crate) fn limit(value: &Bound<'_, PyAny>) -> PyResult<Limit> {
    if value.is_instance_of::<PyInt>() {
        saturating_i128(value).map(Limit::from)
    } else {
        value.extract::<f64>().map(Limit::from)
    }
}

/// Reads a whole number; one that is too far from zero becomes the farthest one.
pub(crate) fn saturating_i128(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    if let Ok(small) = value.extract::<i64>() {
        return Ok(small.into());
    }
    value.extract().or_else(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(value.py()) {
            return Err(error);
        }
        Ok(if value.gt(0)? { i128::MAX } else { i128::MIN })
    })
}

/// A whole number as Python's.
pub(crate) fn to_python(py: Python<'_>, value: i128) -> PyResult<Bound<'_, PyAny>> {
    match i64::try_from(value) {
        Ok(small) => Ok(PyInt::new(py, small).into_any()),
        Err(_) => value.into_bound_py_any(py),
    }
}
