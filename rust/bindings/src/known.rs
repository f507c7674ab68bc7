//! What was decided before a call.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use toolbudget_core::{Decision, Fingerprint, Recorded, TextHash};

use crate::text::PyText;
use crate::texts::Texts;

/// A replacement that was recorded: the very object.
#[derive(Clone)]
pub(crate) struct PyReplacement<'py> {
    text: Bound<'py, PyString>,
    size_chars: u64,
}

impl<'py> PyReplacement<'py> {
    fn new(text: Bound<'py, PyAny>) -> PyResult<Self> {
        let text = text.cast_into::<PyString>()?;
        let size_chars = text.code_point_len()? as u64;
        Ok(Self { text, size_chars })
    }

    pub(crate) const fn as_object(&self) -> &Bound<'py, PyString> {
        &self.text
    }
}

impl Recorded for PyReplacement<'_> {
    fn size_chars(&self) -> u64 {
        self.size_chars
    }
}

/// `Known`, read where it is needed.
pub(crate) struct Known<'py> {
    decisions: Table<'py>,
    replacements: Table<'py>,
    unapplied: Table<'py>,
    fingerprints: Table<'py>,
}

impl<'py> Known<'py> {
    pub(crate) fn read(known: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = known.py();
        Ok(Self {
            decisions: Table(known.getattr(intern!(py, "decisions"))?),
            replacements: Table(known.getattr(intern!(py, "replacements"))?),
            unapplied: Table(known.getattr(intern!(py, "unapplied"))?),
            fingerprints: Table(known.getattr(intern!(py, "fingerprints"))?),
        })
    }

    /// The decision about an id and a fingerprint.
    pub(crate) fn decision(
        &self,
        tool_use_id: &PyText<'py>,
        fingerprint: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        let Some(by_fingerprint) = self.decisions.get(tool_use_id.as_object())? else {
            return Ok(None);
        };
        match Table(by_fingerprint).get(fingerprint)? {
            None => Ok(None),
            Some(decision) if decision.is_none() => Ok(Some(Decision::Kept)),
            Some(text) => PyReplacement::new(text).map(Decision::Replaced).map(Some),
        }
    }

    /// Whether anything was decided about an id, so that its text is worth hashing.
    pub(crate) fn has_decisions(&self, tool_use_id: &PyText<'py>) -> PyResult<bool> {
        Ok(self.decisions.get(tool_use_id.as_object())?.is_some())
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

    /// The entry of the call before about a text.
    pub(crate) fn fingerprint(
        &self,
        identity: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.fingerprints.get(identity)
    }
}

/// Reads an entry of the cache: the fingerprint as it was made and as the core has it. `None`
/// unless it is about the very objects that `texts` come from.
pub(crate) fn read_entry<'py>(
    entry: &Bound<'py, PyAny>,
    texts: &Texts<'py>,
) -> PyResult<Option<(Bound<'py, PyAny>, Fingerprint)>> {
    let Ok((objects, object)) = entry.extract::<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)>()
    else {
        return Ok(None);
    };
    if !texts.are_of(&objects) {
        return Ok(None);
    }
    let hash = object.get_item(1)?;
    let Some(hash) = TextHash::from_hex(hash.cast::<PyString>()?.to_str()?) else {
        return Ok(None);
    };
    let size_chars = object.get_item(0)?.extract()?;
    Ok(Some((object.into_any(), Fingerprint { size_chars, hash })))
}

/// A mapping that is read by key.
struct Table<'py>(Bound<'py, PyAny>);

impl<'py> Table<'py> {
    fn get(&self, key: impl IntoPyObject<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.0.cast_exact::<PyDict>() {
            Ok(dict) if dict.is_empty() => Ok(None),
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
