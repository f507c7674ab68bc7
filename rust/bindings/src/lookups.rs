//! What is asked of Python's side, found while modules can be imported.
//!
//! At the end of a process they no longer can, and a host may ask a session something even then.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::classes::Classes;

/// One name of one module.
pub(crate) struct Lookup {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Lookup {
    const fn new(module: &'static str, name: &'static str) -> Self {
        Self {
            module,
            name,
            found: PyOnceLock::new(),
        }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.found.import(py, self.module, self.name)
    }
}

const ABSTRACT: &str = "collections.abc";
const ERRORS: &str = "toolbudget.errors";

pub(crate) static MAPPING: Lookup = Lookup::new(ABSTRACT, "Mapping");
pub(crate) static SEQUENCE: Lookup = Lookup::new(ABSTRACT, "Sequence");
pub(crate) static KEYS_VIEW: Lookup = Lookup::new(ABSTRACT, "KeysView");
pub(crate) static VALUES_VIEW: Lookup = Lookup::new(ABSTRACT, "ValuesView");
pub(crate) static ITEMS_VIEW: Lookup = Lookup::new(ABSTRACT, "ItemsView");
pub(crate) static TOOL_BUDGET_ERROR: Lookup = Lookup::new(ERRORS, "ToolBudgetError");
pub(crate) static INVALID_MESSAGE_ERROR: Lookup = Lookup::new(ERRORS, "InvalidMessageError");
pub(crate) static COLUMNS: Lookup = Lookup::new("toolbudget._core.pure", "Columns");
pub(crate) static DECODE_JSON_CONTENT: Lookup =
    Lookup::new("toolbudget._core.pure.body", "decode_json_content");
pub(crate) static EXCESS: Lookup = Lookup::new("toolbudget._core.pure.choose", "excess");
pub(crate) static TOTALS_OVER: Lookup = Lookup::new("toolbudget._core.pure.choose", "totals_over");
pub(crate) static READ_KEY: Lookup =
    Lookup::new("toolbudget._core.pure.decision_table", "read_key");
pub(crate) static READ_REPLACEMENT: Lookup =
    Lookup::new("toolbudget._core.pure.decision_table", "read_replacement");
pub(crate) static KEPT_JSON: Lookup = Lookup::new("toolbudget._core.pure.kept_json", "kept_json");

/// Finds everything, as the module is loaded.
pub(crate) fn find_all(py: Python<'_>) -> PyResult<()> {
    let all = [
        &MAPPING,
        &SEQUENCE,
        &KEYS_VIEW,
        &VALUES_VIEW,
        &ITEMS_VIEW,
        &TOOL_BUDGET_ERROR,
        &INVALID_MESSAGE_ERROR,
        &COLUMNS,
        &DECODE_JSON_CONTENT,
        &EXCESS,
        &TOTALS_OVER,
        &READ_KEY,
        &READ_REPLACEMENT,
        &KEPT_JSON,
    ];
    for lookup in all {
        lookup.get(py)?;
    }
    // PyO3 imports a function for this at the first time.
    let _ = PyList::empty(py).try_iter()?.size_hint();
    Classes::get(py).map(drop)
}
