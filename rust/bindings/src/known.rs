//! What was decided before a call.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use toolbudget_core::{Decision, Fingerprint, Recorded};

use crate::classes::Classes;
use crate::decision_table::DecisionTable;
use crate::raw;
use crate::text::{PyText, ascii_bytes};

/// A replacement that was recorded: the very object.
#[derive(Clone)]
pub(crate) struct PyReplacement<'py> {
    text: Bound<'py, PyString>,
    size_chars: u64,
}

impl<'py> PyReplacement<'py> {
    pub(crate) fn new(text: Bound<'py, PyAny>) -> PyResult<Self> {
        let text = text.cast_into::<PyString>()?;
        let size_chars = text.code_point_len()? as u64;
        Ok(Self { text, size_chars })
    }

    pub(crate) const fn known(text: Bound<'py, PyString>, size_chars: u64) -> Self {
        Self { text, size_chars }
    }

    pub(crate) const fn as_object(&self) -> &Bound<'py, PyString> {
        &self.text
    }

    /// Takes up again what [`detach`](Self::detach) gave.
    pub(crate) fn attach(py: Python<'py>, text: &Py<PyString>, size_chars: u64) -> Self {
        Self {
            text: text.bind(py).clone(),
            size_chars,
        }
    }

    /// The text and its size, to be kept beyond this call.
    pub(crate) fn detach(&self) -> (Py<PyString>, u64) {
        (self.text.clone().unbind(), self.size_chars)
    }
}

impl Recorded for PyReplacement<'_> {
    fn size_chars(&self) -> u64 {
        self.size_chars
    }
}

/// `Known`, read where it is needed.
pub(crate) struct Known<'py> {
    decisions: Decisions<'py>,
    replacements: Table<'py>,
    unapplied: Table<'py>,
    pub(crate) fingerprints: Bound<'py, PyAny>,
    pub(crate) epoch: Bound<'py, PyAny>,
    /// Whether the messages are a part of a conversation.
    pub(crate) is_part: bool,
}

impl<'py> Known<'py> {
    pub(crate) fn read(known: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = known.py();
        Ok(Self {
            decisions: Decisions::of(known.getattr(intern!(py, "decisions"))?),
            replacements: Table(known.getattr(intern!(py, "replacements"))?),
            unapplied: Table(known.getattr(intern!(py, "unapplied"))?),
            fingerprints: known.getattr(intern!(py, "fingerprints"))?,
            epoch: known.getattr(intern!(py, "epoch"))?,
            is_part: known.getattr(intern!(py, "is_part"))?.is_truthy()?,
        })
    }

    /// Whether nothing was decided or recorded, and nothing more need be asked.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_undecided() && self.replacements.is_empty() && self.unapplied.is_empty()
    }

    /// Whether nothing was decided at all.
    pub(crate) fn is_undecided(&self) -> bool {
        match &self.decisions {
            Decisions::Own(table) => table.get().is_empty(),
            Decisions::Other(table) => table.is_empty(),
        }
    }

    /// The decision about an id and a fingerprint, which is asked for if the id has any.
    pub(crate) fn decision(
        &self,
        classes: &Classes,
        tool_use_id: &PyText<'py>,
        fingerprint: impl FnOnce() -> PyResult<Fingerprint>,
    ) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        let table = match &self.decisions {
            Decisions::Own(table) if table.get().has(tool_use_id) => {
                return table.get().find(tool_use_id, fingerprint()?);
            }
            Decisions::Own(_) => return Ok(None),
            Decisions::Other(table) => table,
        };
        let Some(by_fingerprint) = table.get(tool_use_id.as_object())? else {
            return Ok(None);
        };
        let fingerprint = fingerprint()?;
        let found = if let Some(found) = the_only(&by_fingerprint, classes, fingerprint)? {
            found
        } else {
            let key = classes.new_fingerprint(by_fingerprint.py(), fingerprint)?;
            Table(by_fingerprint).get(key)?
        };
        match found {
            None => Ok(None),
            Some(decision) if decision.is_none() => Ok(Some(Decision::Kept)),
            Some(text) => PyReplacement::new(text).map(Decision::Replaced).map(Some),
        }
    }

    /// All replacements that were made, by their length, if that is a plain dict.
    pub(crate) fn all_replacements(&self) -> Option<&Bound<'py, PyDict>> {
        self.replacements.0.cast_exact().ok()
    }

    /// Whether anything was decided about an id, so that its text is worth hashing.
    pub(crate) fn has_decisions(&self, tool_use_id: &PyText<'py>) -> PyResult<bool> {
        match &self.decisions {
            Decisions::Own(table) => Ok(table.get().has(tool_use_id)),
            Decisions::Other(table) => Ok(table.get(tool_use_id.as_object())?.is_some()),
        }
    }

    /// What another program recorded about an id.
    pub(crate) fn unapplied(
        &self,
        tool_use_id: &PyText<'py>,
    ) -> PyResult<Option<PyReplacement<'py>>> {
        let text = self.unapplied.get(tool_use_id.as_object())?;
        text.map(PyReplacement::new).transpose()
    }

    /// The replacements of one length that were made, as something that contains them.
    pub(crate) fn replacements(&self, size_chars: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.replacements.get(size_chars)
    }
}

/// The decision about a fingerprint if there is one of a single other one, or of itself: no object
/// is made to look it up. The outer `None` if it must be looked up.
#[expect(clippy::option_option, reason = "both are said above")]
fn the_only<'py>(
    by_fingerprint: &Bound<'py, PyAny>,
    classes: &Classes,
    fingerprint: Fingerprint,
) -> PyResult<Option<Option<Bound<'py, PyAny>>>> {
    let Ok(dict) = by_fingerprint.cast_exact::<PyDict>() else {
        return Ok(None);
    };
    let mut items = dict.iter();
    let (Some((key, decision)), true) = (items.next(), dict.len() == 1) else {
        return Ok(None);
    };
    let Ok(fields) = key.cast::<PyTuple>() else {
        return Ok(None);
    };
    if !fields.get_type().is(&classes.fingerprint) || fields.len() != 2 {
        return Ok(None);
    }
    let (size, hash) = (fields.get_borrowed_item(0)?, fields.get_borrowed_item(1)?);
    let (Ok(size), Ok(hash)) = (size.cast_exact::<PyInt>(), hash.cast_exact::<PyString>()) else {
        return Ok(None);
    };
    let is_same = size
        .extract::<u64>()
        .is_ok_and(|size| size == fingerprint.size_chars)
        && ascii_bytes(&hash)? == Some(fingerprint.hash.to_hex().as_slice());
    Ok(Some(is_same.then_some(decision)))
}

/// Decisions by id and fingerprint.
enum Decisions<'py> {
    Own(Bound<'py, DecisionTable>),
    Other(Table<'py>),
}

impl<'py> Decisions<'py> {
    fn of(decisions: Bound<'py, PyAny>) -> Self {
        match decisions.cast_exact::<DecisionTable>() {
            Ok(own) => Self::Own(own.clone()),
            Err(_) => Self::Other(Table(decisions)),
        }
    }
}

/// A mapping that is read by key.
struct Table<'py>(Bound<'py, PyAny>);

impl<'py> Table<'py> {
    fn is_empty(&self) -> bool {
        let dict = self.0.cast_exact::<PyDict>();
        dict.is_ok_and(raw::is_empty)
    }

    fn get(&self, key: impl IntoPyObject<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.0.cast_exact::<PyDict>() {
            Ok(dict) if raw::is_empty(dict) => Ok(None),
            Ok(dict) => dict.get_item(key),
            Err(_) => {
                let key = key.into_bound_py_any(self.0.py())?;
                if self.0.contains(&key)? {
                    self.0.get_item(key).map(Some)
                } else {
                    Ok(None)
                }
            }
        }
    }
}
