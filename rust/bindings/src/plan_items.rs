//! Lists of a plan whose items become objects of Python only when they are looked at.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList, PyString};

use crate::cache::FingerprintCache;
use crate::classes::Classes;
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

    fn to_object<'py>(
        &self,
        py: Python<'py>,
        hashing: &mut Hashing<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let classes = Classes::get(py)?;
        match self {
            Self::Key {
                tool_use_id,
                fingerprint,
            } => {
                let fingerprint = hashing.fingerprint(py, fingerprint)?;
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

/// A sequence that equals the list of its items.
#[pyclass(frozen, sequence, module = "toolbudget._core._native")]
pub(crate) struct PlanItems {
    pub(crate) items: Vec<PlanItem>,
    cache: Py<FingerprintCache>,
}

#[pymethods]
impl PlanItems {
    fn __len__(&self) -> usize {
        self.items.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let item = &self.items[position(index, self.items.len())?];
            item.to_object(py, &mut Hashing::with(&self.cache))
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
            return Bound::new(py, Self { items, cache });
        }
        let empty = EMPTY.get_or_try_init(py, || {
            let (items, cache) = (Vec::new(), Py::new(py, FingerprintCache::new())?);
            Py::new(py, Self { items, cache })
        })?;
        Ok(empty.bind(py).clone())
    }

    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut hashing = Hashing::with(&self.cache);
        for item in &self.items {
            list.append(item.to_object(py, &mut hashing)?)?;
        }
        Ok(list)
    }
}
