//! Lists of a plan whose items become objects of Python only when they are looked at.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList, PyString};
use toolbudget_core::Fingerprint;

use crate::cache::FingerprintCache;
use crate::classes::Classes;
use crate::error;
use crate::guard::guarded;
use crate::items::position;
use crate::late::{Hashing, LateFingerprint};

/// One item; the text is the id, or the replacement.
pub(crate) enum PlanItem {
    Key {
        tool_use_id: Py<PyString>,
        fingerprint: LateFingerprint,
    },
    Change {
        message_index: usize,
        block_index: usize,
        replacement: Py<PyString>,
    },
}

impl PlanItem {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Key {
                tool_use_id,
                fingerprint,
            } => Self::Key {
                tool_use_id: tool_use_id.clone_ref(py),
                fingerprint: fingerprint.clone_ref(py),
            },
            Self::Change {
                message_index,
                block_index,
                replacement,
            } => Self::Change {
                message_index: *message_index,
                block_index: *block_index,
                replacement: replacement.clone_ref(py),
            },
        }
    }

    /// The fingerprint of a key; `None` of anything else.
    fn fingerprint(
        &self,
        py: Python<'_>,
        hashing: &mut Hashing<'_>,
    ) -> PyResult<Option<Fingerprint>> {
        match self {
            Self::Key { fingerprint, .. } => hashing.fingerprint(py, fingerprint).map(Some),
            Self::Change { .. } => Ok(None),
        }
    }

    fn to_object<'py>(
        &self,
        py: Python<'py>,
        fingerprint: Option<Fingerprint>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let classes = Classes::get(py)?;
        match self {
            Self::Key { tool_use_id, .. } => {
                let Some(fingerprint) = fingerprint else {
                    return Err(error::internal(py, "a key without a fingerprint"));
                };
                let fingerprint = classes.new_fingerprint(py, fingerprint)?;
                let fields = (tool_use_id, fingerprint).into_pyobject(py)?;
                classes.named_tuple(&classes.key, &fields)
            }
            Self::Change {
                message_index,
                block_index,
                replacement,
            } => {
                let fields = (*message_index, *block_index, replacement).into_pyobject(py)?;
                classes.named_tuple(&classes.change, &fields)
            }
        }
    }
}

/// Message and block of a change, and what is put there.
type PlacedText<'a> = ((usize, usize), &'a Py<PyString>);

/// A sequence that equals the list of its items.
#[pyclass(frozen, sequence, module = "toolbudget._core._native")]
pub(crate) struct PlanItems {
    pub(crate) items: Vec<PlanItem>,
    cache: Py<FingerprintCache>,
    /// Those of the keys, once all of them were asked for: from then on nothing can fail.
    fingerprints: OnceLock<Box<[Fingerprint]>>,
}

#[pymethods]
impl PlanItems {
    fn __len__(&self) -> usize {
        self.items.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let item = &self.items[position(index, self.items.len())?];
            let fingerprint = item.fingerprint(py, &mut Hashing::with(&self.cache))?;
            item.to_object(py, fingerprint)
        })
    }

    // All at once: to ask for them one by one takes longer than to make them.
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
}

impl PlanItems {
    /// Makes a sequence; one without items is always the same, since nobody can change it.
    ///
    /// `cache` is that of the plan: what is hashed for its items is remembered there.
    pub(crate) fn of<'py>(
        items: Vec<PlanItem>,
        cache: &Bound<'py, FingerprintCache>,
    ) -> PyResult<Bound<'py, Self>> {
        static EMPTY: PyOnceLock<Py<PlanItems>> = PyOnceLock::new();
        let py = cache.py();
        if !items.is_empty() {
            let cache = cache.clone().unbind();
            let fingerprints = OnceLock::new();
            let items = Self {
                items,
                cache,
                fingerprints,
            };
            return Bound::new(py, items);
        }
        let empty = EMPTY.get_or_try_init(py, || {
            let (items, cache) = (Vec::new(), Py::new(py, FingerprintCache::new())?);
            let fingerprints = OnceLock::new();
            let items = Self {
                items,
                cache,
                fingerprints,
            };
            Py::new(py, items)
        })?;
        Ok(empty.bind(py).clone())
    }

    /// The ids and fingerprints of items that are keys; `None` if any is none.
    pub(crate) fn keys<'a>(
        &'a self,
        py: Python<'a>,
    ) -> PyResult<Option<impl Iterator<Item = (&'a Py<PyString>, Fingerprint)>>> {
        let fingerprints = self.fingerprints(py)?;
        if fingerprints.len() < self.items.len() {
            return Ok(None);
        }
        let ids = self.items.iter().filter_map(|item| match item {
            PlanItem::Key { tool_use_id, .. } => Some(tool_use_id),
            PlanItem::Change { .. } => None,
        });
        Ok(Some(ids.zip(fingerprints.iter().copied())))
    }

    /// The places and texts of items that are changes; `None` if any is none.
    pub(crate) fn changes(&self) -> Option<Vec<PlacedText<'_>>> {
        let changes = self.items.iter().map(|item| match item {
            PlanItem::Key { .. } => None,
            PlanItem::Change {
                message_index,
                block_index,
                replacement,
            } => Some(((*message_index, *block_index), replacement)),
        });
        changes.collect()
    }

    /// Those of the keys.
    fn fingerprints(&self, py: Python<'_>) -> PyResult<&[Fingerprint]> {
        if let Some(known) = self.fingerprints.get() {
            return Ok(known);
        }
        let mut hashing = Hashing::with(&self.cache);
        let hashed = self.items.iter();
        let hashed = hashed.filter_map(|item| item.fingerprint(py, &mut hashing).transpose());
        let hashed = hashed.collect::<PyResult<_>>()?;
        drop(hashing);
        Ok(self.fingerprints.get_or_init(|| hashed))
    }

    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut fingerprints = self.fingerprints(py)?.iter().copied();
        for item in &self.items {
            let fingerprint = match item {
                PlanItem::Key { .. } => fingerprints.next(),
                PlanItem::Change { .. } => None,
            };
            list.append(item.to_object(py, fingerprint)?)?;
        }
        Ok(list)
    }
}
