//! The classes of `toolbudget._core.pure` of which results are made.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use pyo3::{PyTypeInfo as _, intern};
use toolbudget_core::Fingerprint;

/// Looked up once: a class is asked for as often as there are results.
pub(crate) struct Classes {
    pub(crate) adoption: Py<PyType>,
    pub(crate) candidate: Py<PyType>,
    pub(crate) change: Py<PyType>,
    pub(crate) choice: Py<PyType>,
    pub(crate) counter: Py<PyType>,
    pub(crate) fingerprint: Py<PyType>,
    pub(crate) fresh: Py<PyType>,
    pub(crate) group: Py<PyType>,
    pub(crate) group_totals: Py<PyType>,
    pub(crate) key: Py<PyType>,
    pub(crate) plan: Py<PyType>,
    pub(crate) prepared: Py<PyType>,
    pub(crate) survey: Py<PyType>,
    tuple_new: Py<PyAny>,
}

impl Classes {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || Self::import(py))
    }

    fn import(py: Python<'_>) -> PyResult<Self> {
        let pure = py.import("toolbudget._core.pure")?;
        let class = |name: &str| PyResult::Ok(pure.getattr(name)?.cast_into::<PyType>()?.unbind());
        let group = py.import("toolbudget._core.pure.group")?.getattr("Group")?;
        let counter = py.import("collections")?.getattr("Counter")?;
        let tuple_new = PyTuple::type_object(py).getattr(intern!(py, "__new__"))?;
        Ok(Self {
            adoption: class("Adoption")?,
            candidate: class("Candidate")?,
            change: class("Change")?,
            choice: class("Choice")?,
            counter: counter.cast_into::<PyType>()?.unbind(),
            fingerprint: class("Fingerprint")?,
            fresh: class("Fresh")?,
            group: group.cast_into::<PyType>()?.unbind(),
            group_totals: class("GroupTotals")?,
            key: class("Key")?,
            plan: class("Plan")?,
            prepared: class("Prepared")?,
            survey: class("Survey")?,
            tuple_new: tuple_new.unbind(),
        })
    }

    /// Makes a named tuple of its fields as its `_make` does, without running Python code.
    pub(crate) fn named_tuple<'py>(
        &self,
        class: &Py<PyType>,
        fields: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = fields.py();
        self.tuple_new.bind(py).call1((class.bind(py), fields))
    }

    /// Makes a `Fingerprint`.
    pub(crate) fn new_fingerprint<'py>(
        &self,
        py: Python<'py>,
        fingerprint: Fingerprint,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = (fingerprint.size_chars, fingerprint.hash.to_string());
        self.named_tuple(&self.fingerprint, &fields.into_pyobject(py)?)
    }
}

/// Calls a class.
pub(crate) fn make<'py>(
    class: &Py<PyType>,
    arguments: impl PyCallArgs<'py>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    class.bind(py).call1(arguments)
}
