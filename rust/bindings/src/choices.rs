//! The choices of a plan: objects of Python once one of them is looked at.

use std::sync::{Mutex, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString, PyTuple};
use toolbudget_core::Shown;

use crate::cache::FingerprintCache;
use crate::classes::Classes;
use crate::guard::guarded;
use crate::items::position;
use crate::late::{Hashing, LateFingerprint};
use crate::late_replacement::Wording;
use crate::own_candidate::OwnCandidate;
use crate::totals::TotalsOfGroups;
use crate::{error, number, styles, text};

/// A fresh result to be replaced, with all that its object is made of.
pub(crate) struct ChoiceParts {
    pub(crate) fingerprint: LateFingerprint,
    /// Where it stands first in its group.
    pub(crate) first: OwnCandidate,
    pub(crate) preview_bytes: i128,
    pub(crate) group: usize,
    /// Apart, because most choices do without.
    pub(crate) more: Option<Box<MoreParts>>,
}

/// What does not follow from a choice's result and the size of its preview.
#[derive(Default)]
pub(crate) struct MoreParts {
    /// Where else it stands in its group.
    pub(crate) later: Vec<OwnCandidate>,
    /// The texts to store, if they are others than those of the result itself.
    pub(crate) redacted: Option<Vec<Py<PyString>>>,
    /// `None` if it is that of the result's own plain text.
    pub(crate) size_bytes: Option<usize>,
    /// `None` if it is that of a plain text which is named after its id.
    pub(crate) path: Option<Py<PyAny>>,
    /// In WTF-8; `None` if it is written when it is looked at.
    pub(crate) replacement: Option<Vec<u8>>,
    /// The preview, if it is another one than the beginning of the text.
    pub(crate) shown: Option<Shown>,
    pub(crate) followers: Vec<(OwnCandidate, usize)>,
}

/// A sequence of `Choice`, which are made all together and are the same objects from then on: who
/// carries a plan out may change them.
#[pyclass(frozen, sequence, module = "toolbudget._core._native")]
pub(crate) struct Choices {
    parts: Vec<ChoiceParts>,
    /// Of how many characters of a text previews are cut.
    window_chars: usize,
    wording: Wording,
    totals: Py<TotalsOfGroups>,
    cache: Py<FingerprintCache>,
    made: Mutex<Option<Py<PyList>>>,
}

#[pymethods]
impl Choices {
    fn __len__(&self) -> usize {
        self.parts.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let list = self.to_list(py)?;
            list.get_item(position(index, list.len())?)
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        guarded(py, || self.to_list(py)?.try_iter())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        guarded(py, || match other.cast_exact::<Self>() {
            Ok(other) => self.to_list(py)?.eq(other.get().to_list(py)?),
            Err(_) => self.to_list(py)?.eq(other),
        })
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        guarded(py, || self.to_list(py)?.repr())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for choice in &self.parts {
            choice.first.visit(&visit)?;
            let Some(more) = &choice.more else { continue };
            let followers = more.followers.iter().map(|(candidate, _)| candidate);
            for candidate in more.later.iter().chain(followers) {
                candidate.visit(&visit)?;
            }
            visit.call(&more.path)?;
        }
        match self.made.try_lock() {
            Ok(made) => visit.call(&*made),
            Err(_) => Ok(()),
        }
    }
}

impl Choices {
    /// `cache` is that of the plan: what is hashed for its choices is remembered there.
    pub(crate) fn new(
        parts: Vec<ChoiceParts>,
        window_chars: usize,
        wording: Wording,
        totals: Py<TotalsOfGroups>,
        cache: &Bound<'_, FingerprintCache>,
    ) -> Self {
        Self {
            parts,
            window_chars,
            wording,
            totals,
            cache: cache.clone().unbind(),
            made: Mutex::new(None),
        }
    }

    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        if let Some(made) = &*self.lock() {
            return Ok(made.bind(py).clone());
        }
        let list = PyList::empty(py);
        let mut hashing = Hashing::with(&self.cache);
        for choice in &self.parts {
            list.append(choice.to_object(self, py, &mut hashing)?)?;
        }
        drop(hashing);
        // To make them may run a finalizer, which may ask for them: the first list is what holds.
        let mut made = self.lock();
        Ok(made.get_or_insert_with(|| list.unbind()).bind(py).clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Py<PyList>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChoiceParts {
    fn more(&self) -> Option<&MoreParts> {
        self.more.as_deref()
    }

    /// Where it stands in its group.
    fn occurrences(&self) -> impl Iterator<Item = &OwnCandidate> {
        let later = self.more().map_or(&[][..], |more| &more.later);
        std::iter::once(&self.first).chain(later)
    }

    fn to_object<'py>(
        &self,
        choices: &Choices,
        py: Python<'py>,
        hashing: &mut Hashing<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let totals = choices.totals.bind(py);
        let classes = Classes::get(py)?;
        let occurrences = PyList::empty(py);
        for candidate in self.occurrences() {
            occurrences.append(candidate.to_object(py)?)?;
        }
        let followers = PyList::empty(py);
        for (candidate, group) in self.more().map_or(&[][..], |more| &more.followers) {
            let group = totals.get().object(py, *group)?;
            followers.append((candidate.to_object(py)?, group))?;
        }
        let fingerprint = hashing.fingerprint(py, &self.fingerprint)?;
        let fingerprint = classes.new_fingerprint(py, fingerprint)?;
        let key = (self.first.tool_use_id.bind(py), fingerprint).into_pyobject(py)?;
        let path = self.path(&choices.wording, py)?;
        let replacement = self.replacement(&choices.wording, &path)?;
        let values = [
            classes.named_tuple(&classes.key, &key)?,
            occurrences.clone().into_any(),
            self.prepared(classes, occurrences, choices.window_chars)?,
            path,
            number::to_python(py, self.preview_bytes)?,
            replacement.into_any(),
            totals.get().object(py, self.group)?,
            styles::optional(py, self.more().and_then(|more| more.shown.as_ref()))?,
            followers.into_any(),
        ];
        classes.choice.make(py, values)
    }

    fn path<'py>(&self, wording: &Wording, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.more().and_then(|more| more.path.as_ref()) {
            Some(path) => Ok(path.bind(py).clone()),
            None => Ok(wording.path(self.first.tool_use_id.bind(py))?.into_any()),
        }
    }

    fn replacement<'py>(
        &self,
        wording: &Wording,
        path: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let py = path.py();
        let written = self.more().and_then(|more| more.replacement.as_ref());
        match (written, self.first.parts()) {
            (Some(written), _) => text::from_wtf8(py, written),
            (None, [text]) => wording.replacement(text.bind(py), path.cast()?, self.preview_bytes),
            (None, _) => Err(error::internal(py, "nothing to write a replacement of")),
        }
    }

    fn prepared<'py>(
        &self,
        classes: &Classes,
        occurrences: Bound<'py, PyList>,
        window_chars: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = occurrences.py();
        let parts = self.more().and_then(|more| more.redacted.as_deref());
        let parts = parts.unwrap_or_else(|| self.first.parts()).iter();
        let parts: Vec<Bound<'py, PyString>> = parts.map(|part| part.bind(py).clone()).collect();
        let size_bytes = match self.more().and_then(|more| more.size_bytes) {
            Some(size_bytes) => size_bytes,
            None => text::joined_utf8_length(&parts)?,
        };
        let values = [
            classes.fresh.make(py, [occurrences.into_any()])?,
            PyTuple::new(py, &parts)?.into_any(),
            text::joined_head(py, &parts, window_chars)?.into_any(),
            size_bytes.into_pyobject(py)?.into_any(),
        ];
        classes.prepared.make(py, values)
    }
}
