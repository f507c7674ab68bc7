//! What reading plain messages depended on, so that a later call can tell whether it still holds.

use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::dicts::{all_entries, size_of, whole_entries};
use super::lists::all_items;

/// The keys and values that messages were read from, in the order in which reading meets them.
///
/// Texts do not change, so a dict that has the very same keys and, where a value counts, the very
/// same value is read as before: whatever was done to it meanwhile, and even if it is another dict.
/// Lists and dicts can change, so these are gone through again. What is compared by its address is
/// kept alive here, so that no other object can have that address.
pub(crate) struct Tape {
    pub(super) entries: Vec<Entry>,
    /// How many entries each dict has, and how many items each list; see [`dict_of`], [`list_of`].
    pub(super) counts: Vec<usize>,
    /// By message: how many entries and counts there are up to its end.
    ends: Vec<(usize, usize)>,
    /// What stands for a value that is gone through itself. Nobody else has this object.
    pub(super) mark: Py<PyAny>,
}

/// One entry of a dict.
pub(super) struct Entry {
    pub(super) key: Py<PyAny>,
    /// `None` if any value does.
    pub(super) value: Option<Py<PyAny>>,
}

impl Tape {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self {
            entries: Vec::new(),
            counts: Vec::new(),
            ends: Vec::new(),
            mark: py.get_type::<PyAny>().call0()?.unbind(),
        })
    }

    /// How many messages it is about.
    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Keeps so many messages from the beginning.
    pub(crate) fn truncate(&mut self, messages: usize) {
        self.ends.truncate(messages);
        let (entries, counts) = self.ends.last().copied().unwrap_or_default();
        self.entries.truncate(entries);
        self.counts.truncate(counts);
    }

    /// Ends a message of which everything was taken down.
    pub(super) fn end_message(&mut self) {
        self.ends.push((self.entries.len(), self.counts.len()));
    }

    /// How many messages at the beginning of a list are read as those that were taken down.
    ///
    /// No Python code runs meanwhile.
    pub(crate) fn count_same(&self, messages: &Bound<'_, PyList>) -> usize {
        let py = messages.py();
        let mut comparison = Comparison {
            entries: &self.entries,
            counts: &self.counts,
            mark: self.mark.as_ptr(),
        };
        let mut same = 0;
        // SAFETY: the list is alive, and comparing changes nothing and runs no Python code.
        unsafe {
            all_items(py, messages.as_ptr(), |message| {
                let is_same = same < self.len() && comparison.is_same_message(py, message);
                same += usize::from(is_same);
                is_same
            });
        }
        same
    }
}

/// What is still to be compared.
struct Comparison<'a> {
    entries: &'a [Entry],
    counts: &'a [usize],
    mark: *mut ffi::PyObject,
}

impl Comparison<'_> {
    /// Compares a message, or any other dict: what it holds is gone through after its entries.
    ///
    /// # Safety
    ///
    /// `object` is alive.
    unsafe fn is_same_message(&mut self, py: Python<'_>, object: *mut ffi::PyObject) -> bool {
        // SAFETY: the caller vouches for the object; nothing below changes a dict or a list.
        unsafe {
            let mut inner = ptr::null_mut();
            if !self.is_same_dict(py, object, &mut inner) {
                return false;
            }
            if inner.is_null() {
                true
            } else if ffi::PyDict_CheckExact(inner) != 0 {
                self.is_same_message(py, inner)
            } else {
                self.is_same_list(py, inner)
            }
        }
    }

    /// Compares the blocks of a list; most of them hold nothing that is gone through.
    ///
    /// # Safety
    ///
    /// `object` is alive.
    unsafe fn is_same_list(&mut self, py: Python<'_>, object: *mut ffi::PyObject) -> bool {
        let Some((&count, counts)) = self.counts.split_first() else {
            return false;
        };
        // SAFETY: the caller vouches for the object, and it is asked for its size if it is a list.
        let is_as_long = unsafe {
            ffi::PyList_CheckExact(object) != 0 && list_of(ffi::PyList_Size(object)) == count
        };
        if !is_as_long {
            return false;
        }
        self.counts = counts;
        // SAFETY: it is a live list, and nothing here changes it or what is in it.
        unsafe {
            all_items(py, object, |item| {
                let mut inner = ptr::null_mut();
                self.is_same_dict(py, item, &mut inner)
                    && (inner.is_null() || self.is_same_list(py, inner))
            })
        }
    }

    /// Compares the entries of a dict; `inner` becomes the value that is to be gone through, if
    /// there is one.
    ///
    /// # Safety
    ///
    /// `object` is alive.
    #[inline]
    unsafe fn is_same_dict(
        &mut self,
        py: Python<'_>,
        object: *mut ffi::PyObject,
        inner: &mut *mut ffi::PyObject,
    ) -> bool {
        let Some((&count, counts)) = self.counts.split_first() else {
            return false;
        };
        // SAFETY: the caller vouches for the object, and it is asked for its size if it is a dict.
        let is_as_large =
            unsafe { ffi::PyDict_CheckExact(object) != 0 && dict_of(size_of(py, object)) == count };
        let entries = self.entries.split_at_checked(count / 2);
        let (Some((entries, others)), true) = (entries, is_as_large) else {
            return false;
        };
        (self.counts, self.entries) = (counts, others);
        let mark = self.mark;
        // SAFETY: it is a live dict, and comparing changes nothing and runs no Python code.
        unsafe {
            if let Some(found) = whole_entries(py, object) {
                let mut pairs = found.iter().zip(entries);
                return pairs.all(|(found, entry)| entry.is(found.key, found.value, mark, inner));
            }
            let mut entries = entries.iter();
            all_entries(py, object, |key, value| {
                let entry = entries.next();
                entry.is_some_and(|entry| entry.is(key, value, mark, inner))
            })
        }
    }
}

impl Entry {
    /// Whether this is what was taken down; `inner` becomes a value that is to be gone through.
    #[inline]
    fn is(
        &self,
        key: *mut ffi::PyObject,
        value: *mut ffi::PyObject,
        mark: *mut ffi::PyObject,
        inner: &mut *mut ffi::PyObject,
    ) -> bool {
        if self.key.as_ptr() != key {
            return false;
        }
        let expected = self.value.as_ref().map_or(ptr::null_mut(), Py::as_ptr);
        if expected == value || expected.is_null() {
            return true;
        }
        *inner = value;
        expected == mark
    }
}

/// A number for a dict with so many entries, which is that of no list.
pub(super) const fn dict_of(entries: ffi::Py_ssize_t) -> usize {
    entries.cast_unsigned() * 2
}

/// A number for a list with so many items, which is that of no dict.
pub(super) const fn list_of(items: ffi::Py_ssize_t) -> usize {
    items.cast_unsigned() * 2 + 1
}
