//! The totals of a plan's groups: objects of Python for those only that are looked at.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use toolbudget_core::Totals;

use crate::classes::Classes;
use crate::guard::guarded;
use crate::items::position;
use crate::{number, options};

/// A sequence of `GroupTotals`; the same object each time that a group is asked for.
#[pyclass(frozen, sequence, module = "toolbudget._core._native")]
pub(crate) struct TotalsOfGroups {
    totals: Vec<Totals>,
    /// Objects may have been changed since they were made, so that they are what holds.
    objects: Mutex<HashMap<usize, Py<PyAny>>>,
}

#[pymethods]
impl TotalsOfGroups {
    fn __len__(&self) -> usize {
        self.totals.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || self.object(py, position(index, self.totals.len())?))
    }
}

impl TotalsOfGroups {
    /// The totals of no group: always the same, since nobody can change it.
    pub(crate) fn empty(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
        static EMPTY: PyOnceLock<Py<TotalsOfGroups>> = PyOnceLock::new();
        let empty = EMPTY.get_or_try_init(py, || Py::new(py, Self::new(Vec::new())))?;
        Ok(empty.bind(py).clone())
    }

    pub(crate) fn new(totals: Vec<Totals>) -> Self {
        Self {
            totals,
            objects: Mutex::default(),
        }
    }

    pub(crate) fn object<'py>(&self, py: Python<'py>, group: usize) -> PyResult<Bound<'py, PyAny>> {
        if let Some(object) = self.known(py, group) {
            return Ok(object);
        }
        let totals = self.totals[group];
        let [frozen, standing, fresh, gained] =
            [totals.frozen, totals.standing, totals.fresh, totals.gained];
        let values = [
            number::to_python(py, frozen)?,
            number::to_python(py, standing)?,
            number::to_python(py, fresh)?,
            number::to_python(py, gained)?,
        ];
        let made = Classes::get(py)?.group_totals.make(py, values)?;
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(objects
            .entry(group)
            .or_insert_with(|| made.unbind())
            .bind(py)
            .clone())
    }

    fn known<'py>(&self, py: Python<'py>, group: usize) -> Option<Bound<'py, PyAny>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(&group).map(|object| object.bind(py).clone())
    }
}

/// The totals that are over a limit, of a sequence of this core's.
pub(crate) fn over<'py>(
    totals: &Bound<'py, TotalsOfGroups>,
    limit: &Bound<'py, PyAny>,
    accounting: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let py = totals.py();
    let found = PyList::empty(py);
    let whole_limit = number::limit(limit)?;
    let way = options::read_accounting(accounting)?;
    for (group, plain) in totals.get().totals.iter().enumerate() {
        if let Some(object) = totals.get().known(py, group) {
            let visible = object.call_method1("visible", (accounting,))?;
            if visible.gt(limit)? {
                found.append(object)?;
            }
        } else if whole_limit.is_exceeded_by(plain.visible(way)) {
            found.append(totals.get().object(py, group)?)?;
        }
    }
    Ok(found)
}
