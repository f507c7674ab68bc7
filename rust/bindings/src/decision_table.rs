//! The table of decisions as Python holds it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyTuple, PyType};
use toolbudget_core::{Decision, Fingerprint};

use crate::classes::Classes;
use crate::decision_reading::{Kept, ReadDecision, decided, read_decisions, read_key};
use crate::decisions::{Decided, Decisions};
use crate::guard::guarded;
use crate::known::PyReplacement;
use crate::lookups::{self, Lookup};
use crate::text::{self, PyText};

/// A mapping from ids to mappings from fingerprints to decisions.
///
/// It is locked for as long as a call works on it. Meanwhile no Python code runs and no object of
/// Python's is made, which could begin a collection: what is read is taken out first.
#[pyclass(frozen, mapping, module = "toolbudget._core._native")]
pub(crate) struct DecisionTable(Mutex<Decisions>);

#[pymethods]
impl DecisionTable {
    #[new]
    #[pyo3(signature = (decisions=None, /))]
    fn new(py: Python<'_>, decisions: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        guarded(py, || {
            let table = Self(Mutex::default());
            if let Some(decisions) = decisions {
                let read = read_decisions(decisions)?;
                table.take_over(read, Vec::new());
            }
            Ok(table)
        })
    }

    #[pyo3(signature = (key, replacement, /))]
    fn decide(&self, key: &Bound<'_, PyAny>, replacement: &Bound<'_, PyAny>) -> PyResult<bool> {
        guarded(key.py(), || {
            let (tool_use_id, mark) = read_key(key)?;
            let decided = decided(mark, replacement)?;
            Ok(self.lock().add(&tool_use_id, decided))
        })
    }

    #[pyo3(signature = (decisions, /, *kept))]
    fn decide_all(&self, decisions: &Bound<'_, PyAny>, kept: &Bound<'_, PyTuple>) -> PyResult<()> {
        let py = decisions.py();
        guarded(py, || {
            let read = read_decisions(decisions)?;
            let kept = kept.iter().map(|keys| Kept::read(&keys));
            let kept = kept.collect::<PyResult<Vec<_>>>()?;
            self.take_over(read, kept);
            Ok(())
        })
    }

    #[pyo3(signature = (entries, /))]
    fn keep_entries(&self, entries: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(entries.py(), || {
            let kept = Kept::read_entries(entries)?;
            self.take_over(Vec::new(), vec![kept]);
            Ok(())
        })
    }

    #[pyo3(signature = (key, replacement, /))]
    fn decide_anew(&self, key: &Bound<'_, PyAny>, replacement: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(key.py(), || {
            let (tool_use_id, mark) = read_key(key)?;
            let decided = decided(mark, replacement)?;
            self.lock().add_anew(&tool_use_id, decided);
            Ok(())
        })
    }

    #[pyo3(signature = (key, /))]
    fn withdraw(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        guarded(key.py(), || {
            let (tool_use_id, mark) = read_key(key)?;
            Ok(self.lock().withdraw(&tool_use_id, &mark))
        })
    }

    #[pyo3(signature = (key, default, /))]
    fn decision<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        guarded(py, || {
            let (tool_use_id, mark) = read_key(key)?;
            let found = self.lock().find(&tool_use_id, &mark).map(|found| {
                let text = found.replacement.as_ref();
                text.map(|text| text.bind(py).clone().into_any())
            });
            Ok(found.unwrap_or_else(|| Some(default.clone())))
        })
    }

    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        guarded(py, || {
            let classes = Classes::get(py)?;
            let list = PyList::empty(py);
            for (tool_use_id, decided) in self.taken_out(py) {
                let fingerprint = decided.mark.to_object(py, classes)?;
                let fields = (tool_use_id, fingerprint).into_pyobject(py)?;
                let key = classes.named_tuple(&classes.key, &fields)?;
                list.append((key, decided.replacement))?;
            }
            Ok(list)
        })
    }

    fn counts(&self) -> (usize, usize) {
        let [replaced, kept] = self.lock().counts;
        (replaced, kept)
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        guarded(py, || Ok(Self(Mutex::new(self.lock().clone_ref(py)))))
    }

    #[pyo3(signature = (tool_use_id, default=None, /))]
    fn get<'py>(
        &self,
        tool_use_id: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(tool_use_id.py(), || {
            let found = self.of_id(tool_use_id)?;
            Ok(found.map(Bound::into_any).or(default))
        })
    }

    fn __getitem__<'py>(&self, tool_use_id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        guarded(tool_use_id.py(), || {
            let found = self.of_id(tool_use_id)?;
            found.ok_or_else(|| PyKeyError::new_err(tool_use_id.clone().unbind()))
        })
    }

    fn __contains__(&self, tool_use_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        match text::plain(tool_use_id)? {
            Some(plain) => Ok(self.lock().has(&PyText::new(plain)?)),
            None => Ok(false),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        guarded(py, || PyList::new(py, self.ids(py))?.try_iter())
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }

    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, &lookups::KEYS_VIEW)
    }

    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, &lookups::VALUES_VIEW)
    }

    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, &lookups::ITEMS_VIEW)
    }

    fn __eq__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        guarded(py, || {
            let Ok(own) = other.cast_exact::<Self>() else {
                let mapping = lookups::MAPPING.get(py)?;
                return mapping.call_method1("__eq__", (slf, other));
            };
            // A copy: with both locked, another thread could hold one and wait for the other.
            let copy = slf.get().lock().clone_ref(py);
            let is_same = slf.is(own) || copy.is(&own.get().lock(), py)?;
            Ok(is_same.into_pyobject(py)?.to_owned().into_any())
        })
    }

    fn __repr__(&self) -> String {
        let [replaced, kept] = self.lock().counts;
        format!("DecisionTable(replaced={replaced}, kept={kept})")
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyList>,))> {
        Ok((slf.get_type(), (slf.get().decisions(slf.py())?,)))
    }
}

impl DecisionTable {
    fn lock(&self) -> MutexGuard<'_, Decisions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is decided.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().len() == 0
    }

    /// Whether anything is decided about an id.
    pub(crate) fn has(&self, tool_use_id: &PyText<'_>) -> bool {
        self.lock().has(tool_use_id)
    }

    /// The decision about an id and a fingerprint.
    pub(crate) fn find<'py>(
        &self,
        tool_use_id: &PyText<'py>,
        fingerprint: Fingerprint,
    ) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        let py = tool_use_id.as_object().py();
        let text = match self.lock().find(tool_use_id, &fingerprint.into()) {
            None => return Ok(None),
            Some(found) => found.replacement.as_ref().map(|text| text.bind(py).clone()),
        };
        Ok(Some(match text {
            None => Decision::Kept,
            Some(text) => Decision::Replaced(PyReplacement::new(text.into_any())?),
        }))
    }

    /// Decides everything that was read.
    fn take_over(&self, read: Vec<ReadDecision<'_>>, kept: Vec<Kept<'_>>) {
        let mut decisions = self.lock();
        let kept_results: usize = kept.iter().map(Kept::len).sum();
        decisions.reserve(read.len() + kept_results);
        for (tool_use_id, decided) in read {
            decisions.add(&tool_use_id, decided);
        }
        for keys in kept {
            keys.take_over(&mut decisions);
        }
    }

    fn of_id<'py>(&self, tool_use_id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = tool_use_id.py();
        let Some(plain) = text::plain(tool_use_id)? else {
            return Ok(None);
        };
        let plain = PyText::new(plain)?;
        let found = self.lock().of_id(&plain).map(|found| {
            let copies = found.map(|decided| decided.clone_ref(py));
            copies.collect::<Vec<_>>()
        });
        let Some(found) = found else {
            return Ok(None);
        };
        let (dict, classes) = (PyDict::new(py), Classes::get(py)?);
        for decided in found {
            dict.set_item(decided.mark.to_object(py, classes)?, decided.replacement)?;
        }
        Ok(Some(dict))
    }

    /// Every decision with its id.
    fn taken_out(&self, py: Python<'_>) -> Vec<(Py<PyString>, Decided)> {
        let decisions = self.lock();
        let all = decisions.iter().flat_map(|(tool_use_id, of_id)| {
            of_id.map(|decided| (tool_use_id.clone_ref(py), decided.clone_ref(py)))
        });
        all.collect()
    }

    fn ids(&self, py: Python<'_>) -> Vec<Py<PyString>> {
        let decisions = self.lock();
        let ids = decisions.iter().map(|(tool_use_id, _)| tool_use_id);
        ids.map(|tool_use_id| tool_use_id.clone_ref(py)).collect()
    }
}

fn view<'py>(table: &Bound<'py, DecisionTable>, class: &Lookup) -> PyResult<Bound<'py, PyAny>> {
    let py = table.py();
    guarded(py, || class.get(py)?.call1((table,)))
}
