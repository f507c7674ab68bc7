//! The classes of `toolbudget._core.pure` of which results are made.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use toolbudget_core::Fingerprint;

use crate::raw::{self, SlottedClass};

/// Looked up once: a class is asked for as often as there are results.
pub(crate) struct Classes {
    pub(crate) adoption: Py<PyType>,
    pub(crate) chain: Py<PyType>,
    pub(crate) candidate: SlottedClass<9>,
    pub(crate) change: Py<PyType>,
    pub(crate) choice: SlottedClass<9>,
    pub(crate) counter: SlottedClass<0>,
    pub(crate) fingerprint: Py<PyType>,
    pub(crate) fresh: SlottedClass<1>,
    pub(crate) group: SlottedClass<2>,
    pub(crate) group_totals: SlottedClass<4>,
    pub(crate) key: Py<PyType>,
    pub(crate) outline: Py<PyType>,
    pub(crate) plan: SlottedClass<11>,
    pub(crate) plan_options: Py<PyType>,
    pub(crate) prepared: SlottedClass<4>,
    pub(crate) shown: Py<PyType>,
    pub(crate) sums: Py<PyType>,
    pub(crate) survey: SlottedClass<2>,
}

const CANDIDATE: [&str; 9] = [
    "tool_use_id",
    "content",
    "size",
    "message_index",
    "block_index",
    "tool_name",
    "is_exempt",
    "parts",
    "replacement",
];
const CHOICE: [&str; 9] = [
    "key",
    "occurrences",
    "prepared",
    "path",
    "preview_bytes",
    "replacement",
    "totals",
    "shown",
    "followers",
];
const GROUP_TOTALS: [&str; 4] = ["frozen", "standing", "fresh", "gained"];
const PLAN: [&str; 11] = [
    "choices",
    "kept",
    "adoptions",
    "changes",
    "totals",
    "skipped",
    "candidates",
    "chars_before",
    "chars_gained",
    "fingerprints",
    "redaction_failures",
];

impl Classes {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || Self::import(py))
    }

    fn import(py: Python<'_>) -> PyResult<Self> {
        let pure = py.import("toolbudget._core.pure")?;
        let class = |name: &str| PyResult::Ok(pure.getattr(name)?.cast_into::<PyType>()?);
        let group = py.import("toolbudget._core.pure.group")?.getattr("Group")?;
        let chain = py.import("toolbudget._core.pure.shape")?.getattr("Chain")?;
        let counter = py.import("collections")?.getattr("Counter")?;
        Ok(Self {
            adoption: class("Adoption")?.unbind(),
            chain: chain.cast_into::<PyType>()?.unbind(),
            candidate: SlottedClass::new(class("Candidate")?, CANDIDATE)?,
            change: class("Change")?.unbind(),
            choice: SlottedClass::new(class("Choice")?, CHOICE)?,
            counter: SlottedClass::new(counter.cast_into()?, [])?,
            fingerprint: class("Fingerprint")?.unbind(),
            fresh: SlottedClass::new(class("Fresh")?, ["occurrences"])?,
            group: SlottedClass::new(group.cast_into()?, ["candidates", "is_followed"])?,
            group_totals: SlottedClass::new(class("GroupTotals")?, GROUP_TOTALS)?,
            key: class("Key")?.unbind(),
            outline: class("Outline")?.unbind(),
            plan: SlottedClass::new(class("Plan")?, PLAN)?,
            plan_options: class("PlanOptions")?.unbind(),
            prepared: SlottedClass::new(
                class("Prepared")?,
                ["fresh", "parts", "head", "_size_bytes"],
            )?,
            shown: class("Shown")?.unbind(),
            sums: class("Sums")?.unbind(),
            survey: SlottedClass::new(class("Survey")?, ["groups", "skipped"])?,
        })
    }

    /// Makes a named tuple of its fields as its `_make` does, without running Python code.
    #[expect(clippy::unused_self, reason = "the class is one of these")]
    pub(crate) fn named_tuple<'py>(
        &self,
        class: &Py<PyType>,
        fields: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        raw::named_tuple(class.bind(fields.py()), fields)
    }

    /// Makes a `Fingerprint`.
    pub(crate) fn new_fingerprint<'py>(
        &self,
        py: Python<'py>,
        fingerprint: Fingerprint,
    ) -> PyResult<Bound<'py, PyAny>> {
        let digits = fingerprint.hash.to_hex();
        let digits = PyString::from_bytes(py, &digits)?;
        let fields = (fingerprint.size_chars, digits);
        self.named_tuple(&self.fingerprint, &fields.into_pyobject(py)?)
    }
}
