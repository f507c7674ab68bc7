//! What the core asks while it plans, answered from Python's objects.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolbudget_core::{Decision, Fingerprint, Knowledge, Replacement};

use crate::classes::Classes;
use crate::collect::{Collected, Place};
use crate::known::{Known, PyReplacement, read_entry};
use crate::options::Callbacks;
use crate::prepared::{Asked, Prepared};
use crate::text::{self, PyText};

/// The knowledge of one call, and what it learns on the way.
pub(crate) struct PyKnowledge<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collected: &'a Collected<'py>,
    known: Known<'py>,
    callbacks: &'a Callbacks<'py>,
    /// By candidate, once it was asked for.
    fingerprint_objects: Vec<Option<Bound<'py, PyAny>>>,
    prepared: HashMap<usize, Prepared<'py>>,
    /// The cache for the next call.
    pub(crate) fingerprints: Bound<'py, PyDict>,
    /// Ids with the exceptions of the `redact` hook.
    pub(crate) redaction_failures: Bound<'py, PyList>,
}

impl<'a, 'py> PyKnowledge<'a, 'py> {
    pub(crate) fn new(
        py: Python<'py>,
        collected: &'a Collected<'py>,
        known: Known<'py>,
        callbacks: &'a Callbacks<'py>,
    ) -> PyResult<Self> {
        Ok(Self {
            py,
            classes: Classes::get(py)?,
            collected,
            known,
            callbacks,
            fingerprint_objects: vec![None; collected.places.len()],
            prepared: HashMap::new(),
            fingerprints: PyDict::new(py),
            redaction_failures: PyList::empty(py),
        })
    }

    /// The `Key` of a candidate whose fingerprint was asked for.
    pub(crate) fn key(&self, candidate: usize) -> PyResult<Bound<'py, PyAny>> {
        let fields = (
            self.tool_use_id(candidate).as_object(),
            &self.fingerprint_objects[candidate],
        );
        let fields = fields.into_pyobject(self.py)?;
        self.classes.named_tuple(&self.classes.key, &fields)
    }

    /// A candidate that a replacement was built for.
    pub(crate) fn prepared(&self, candidate: usize) -> Option<&Prepared<'py>> {
        self.prepared.get(&candidate)
    }

    fn place(&self, candidate: usize) -> &'a Place<'py> {
        &self.collected.places[candidate]
    }

    fn tool_use_id(&self, candidate: usize) -> &'a PyText<'py> {
        &self.collected.survey.candidates()[candidate].tool_use_id
    }

    /// Looks a text up among those of the call before and of this one.
    fn cached(&self, identity: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.known.fingerprint(identity)? {
            Some(entry) => Ok(Some(entry)),
            None => self.fingerprints.get_item(identity),
        }
    }
}

impl<'py> Knowledge for PyKnowledge<'_, 'py> {
    type Text = PyText<'py>;
    type Recorded = PyReplacement<'py>;
    type Built = Replacement;
    type Error = PyErr;

    fn fingerprint(&mut self, candidate: usize) -> PyResult<Fingerprint> {
        let texts = &self.place(candidate).texts;
        let identity = texts.identity(self.py)?;
        let cached = match self.cached(&identity)? {
            Some(entry) => read_entry(&entry, texts)?.map(|found| (entry, found)),
            None => None,
        };
        let (entry, (object, fingerprint)) = if let Some(cached) = cached {
            cached
        } else {
            let fingerprint = text::fingerprint(texts.parts())?;
            let object = self.classes.new_fingerprint(self.py, fingerprint)?;
            let entry = (texts.to_object_tuple(self.py)?, &object).into_pyobject(self.py)?;
            (entry.into_any(), (object, fingerprint))
        };
        self.fingerprints.set_item(identity, entry)?;
        self.fingerprint_objects[candidate] = Some(object);
        Ok(fingerprint)
    }

    fn earlier(&mut self, candidate: usize) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        match &self.fingerprint_objects[candidate] {
            Some(fingerprint) => self
                .known
                .decision(self.tool_use_id(candidate), fingerprint),
            None => Ok(None),
        }
    }

    fn unapplied(&mut self, candidate: usize) -> PyResult<Option<PyReplacement<'py>>> {
        self.known.unapplied(self.tool_use_id(candidate))
    }

    fn is_known_replacement(&mut self, candidate: usize) -> PyResult<bool> {
        let size_chars = self.collected.survey.candidates()[candidate].size_chars;
        let Some(same_length) = self.known.replacements(size_chars)? else {
            return Ok(false);
        };
        same_length.contains(text::join(self.py, self.place(candidate).texts.parts())?)
    }

    fn is_framed(&mut self, candidate: usize) -> PyResult<bool> {
        text::is_framed(self.py, self.place(candidate).texts.parts())
    }

    fn prepare(&mut self, candidate: usize) -> PyResult<bool> {
        let parts = self.place(candidate).texts.parts();
        match Prepared::new(parts, self.callbacks.redact.as_ref())? {
            Ok(prepared) => {
                self.prepared.insert(candidate, prepared);
                Ok(true)
            }
            Err(error) => {
                let failure = (
                    self.tool_use_id(candidate).as_object(),
                    error.into_value(self.py),
                );
                self.redaction_failures.append(failure)?;
                Ok(false)
            }
        }
    }

    fn build(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<Replacement> {
        let place = self.place(candidate);
        let asked = Asked {
            tool_use_id: self.tool_use_id(candidate),
            content: &place.content,
            parts: place.texts.parts(),
        };
        let prepared = match self.prepared.entry(candidate) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Prepared::unredacted()),
        };
        prepared.build(&asked, self.callbacks, preview_bytes)
    }
}
