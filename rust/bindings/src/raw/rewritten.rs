//! Comparing a rewritten message with what it would be, without making that.

use pyo3::ffi;
use pyo3::prelude::*;

use super::blocks::is_plain;
use super::dicts::{LaidOutEntry, whole_entries};
use super::lists::plain_items;
use super::text::{Name, is_same};

/// An object of a message, and what stands in its rewritten copy instead.
type Pair = (*mut ffi::PyObject, *mut ffi::PyObject);

/// Tells whether rewritten messages are still what their originals would become.
pub(crate) struct RewrittenReader {
    message: Name,
    content: Name,
}

impl RewrittenReader {
    pub(crate) fn new(py: Python<'_>) -> Self {
        Self {
            message: Name::new(py, "message"),
            content: Name::new(py, "content"),
        }
    }

    /// Whether `old` is a copy of a message in which the texts of some blocks are others, and
    /// nothing else is. Changes are a block's index and its new text, in the order of the blocks.
    ///
    /// `false` also where it takes more to tell than to compare plain dicts, lists and texts.
    pub(crate) fn is_still<'a, 'py: 'a>(
        &self,
        message: &Bound<'py, PyAny>,
        old: &Bound<'py, PyAny>,
        changes: impl Iterator<Item = (isize, &'a Bound<'py, PyAny>)>,
    ) -> bool {
        let py = message.py();
        // SAFETY: both are alive for as long as they are borrowed, and comparing changes nothing
        // and runs no Python code.
        unsafe {
            let inner = self.inner(py, (message.as_ptr(), old.as_ptr()));
            let content = inner.and_then(|inner| only_other(py, inner, &self.content));
            content.is_some_and(|content| self.are_same_blocks(py, content, changes))
        }
    }

    /// The messages that records wrap, or both themselves if they wrap none.
    ///
    /// # Safety
    ///
    /// Both are live objects.
    unsafe fn inner(&self, py: Python<'_>, pair: Pair) -> Option<Pair> {
        // SAFETY: the caller vouches for both; entries are borrowed from a live dict.
        unsafe {
            let wraps = plain_dict(py, pair.0)?.iter().any(|entry| {
                is_plain(entry.key)
                    && self.message.is(py, entry.key)
                    && entry.value != ffi::Py_None()
            });
            if wraps {
                only_other(py, pair, &self.message)
            } else {
                Some(pair)
            }
        }
    }

    /// # Safety
    ///
    /// Both are live objects, and nothing changes them meanwhile.
    unsafe fn are_same_blocks<'a, 'py: 'a>(
        &self,
        py: Python<'py>,
        (content, old): Pair,
        mut changes: impl Iterator<Item = (isize, &'a Bound<'py, PyAny>)>,
    ) -> bool {
        // SAFETY: the caller vouches for both.
        let (Some(blocks), Some(old_blocks)) =
            (unsafe { (plain_items(py, content), plain_items(py, old)) })
        else {
            return false;
        };
        let mut next = changes.next();
        let mut are_same = blocks.len() == old_blocks.len();
        for (index, (block, old)) in (0..).zip(blocks.iter().zip(old_blocks)) {
            let block = (*block as *mut ffi::PyObject, *old as *mut ffi::PyObject);
            are_same &= match next {
                Some((place, text)) if place == index => {
                    next = changes.next();
                    // SAFETY: the lists keep their items alive, and the caller the text.
                    unsafe { self.is_same_block(py, block, text.as_ptr()) }
                }
                _ => block.0 == block.1,
            };
            if !are_same {
                return false;
            }
        }
        next.is_none() && are_same
    }

    /// Whether a block's copy differs in its text alone, which is this one.
    ///
    /// # Safety
    ///
    /// All are live objects.
    unsafe fn is_same_block(&self, py: Python<'_>, block: Pair, text: *mut ffi::PyObject) -> bool {
        // SAFETY: the caller vouches for all; texts are compared if they are plain.
        unsafe {
            let Some((content, old)) = only_other(py, block, &self.content) else {
                return false;
            };
            is_plain(content) && is_plain(old) && is_plain(text) && is_same(py, text, old)
        }
    }
}

/// The values of the only key under which two plain dicts hold different objects, if it is this
/// one; they have the same keys in the same order.
///
/// # Safety
///
/// Both are live objects.
unsafe fn only_other(py: Python<'_>, (one, other): Pair, name: &Name) -> Option<Pair> {
    // SAFETY: the caller vouches for both; entries are borrowed from live dicts.
    unsafe {
        let (entries, others) = (plain_dict(py, one)?, plain_dict(py, other)?);
        if entries.len() != others.len() {
            return None;
        }
        let mut found = None;
        for (entry, other) in entries.iter().zip(others) {
            if entry.key != other.key {
                return None;
            }
            if entry.value == other.value {
                continue;
            }
            let is_it = found.is_none() && is_plain(entry.key) && name.is(py, entry.key);
            found = Some(is_it.then_some((entry.value, other.value))?);
        }
        found
    }
}

/// The entries of an object if it is a plain dict.
///
/// # Safety
///
/// It is a live object, and nothing changes it while the entries are used.
unsafe fn plain_dict<'a>(py: Python<'_>, object: *mut ffi::PyObject) -> Option<&'a [LaidOutEntry]> {
    // SAFETY: the caller vouches for it, and its type is looked at first.
    unsafe {
        if ffi::PyDict_CheckExact(object) == 0 {
            return None;
        }
        whole_entries(py, object)
    }
}
