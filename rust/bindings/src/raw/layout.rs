//! Reading a few keys of a plain dict in one pass over its entries.

use std::mem;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::dicts::{LaidOutEntry, all_entries, size_of, whole_entries};
use super::text::is_same_text;

/// Larger dicts are no blocks and messages, and looking a key up in them costs less than a pass.
const MAX_ENTRIES: usize = 16;
/// Dicts of different kinds take turns, as those of questions and answers do, and nearly always have
/// different numbers of entries: by that number, modulo this, it is remembered what was met.
const ROWS: usize = 4;
/// How many key objects are remembered: `N` names and what was met beside them.
const MAX_KEYS: usize = 48;
/// Room for the values of the wanted keys and, in the last place, of all others.
const PLACES: usize = 8;

/// The keys that are wanted of one kind of dict, and at which entries they were met.
///
/// Dicts of one kind have the same keys in the same order, and often the very same key objects:
/// then a pass compares pointers only. Anything else is told apart by the text of its keys, so that
/// what was met before never changes what is read, only how fast.
pub(super) struct Layout<const N: usize> {
    /// The first `N` are the wanted names. Kept alive, so that no other object has their address.
    keys: Vec<KnownKey>,
    /// By size of the dict and entry: the key that was met there last. It is one of `keys`.
    expected: [Row; ROWS],
    next_forgotten: usize,
}

struct KnownKey {
    key: Py<PyString>,
    /// Which of the names it is; the last place for none of them.
    field: usize,
}

#[derive(Clone, Copy)]
struct Expected {
    key: *mut ffi::PyObject,
    field: usize,
}

type Row = [Expected; MAX_ENTRIES];

// SAFETY: the pointers are compared only, and what they point to is kept alive by `keys`.
unsafe impl<const N: usize> Send for Layout<N> {}

// SAFETY: as above; nothing is changed without a reference of one's own.
unsafe impl<const N: usize> Sync for Layout<N> {}

/// The values of the wanted keys, borrowed from a dict; null where there is none or it is `None`.
pub(super) type Values = [*mut ffi::PyObject; PLACES];

/// What values are before they are read.
pub(super) const NO_VALUES: Values = [ptr::null_mut(); PLACES];

impl<const N: usize> Layout<N> {
    pub(super) fn new(py: Python<'_>, names: [&str; N]) -> Self {
        const { assert!(N < PLACES, "the last place is for all other keys") };
        let keys = names.iter().enumerate().map(|(field, name)| KnownKey {
            key: PyString::intern(py, name).unbind(),
            field,
        });
        let nothing = Expected {
            key: ptr::null_mut(),
            field: PLACES - 1,
        };
        Self {
            keys: keys.collect(),
            expected: [[nothing; MAX_ENTRIES]; ROWS],
            next_forgotten: N,
        }
    }

    /// One that has learned the same.
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        let keys = self.keys.iter().map(|known| KnownKey {
            key: known.key.clone_ref(py),
            field: known.field,
        });
        Self {
            keys: keys.collect(),
            expected: self.expected,
            next_forgotten: self.next_forgotten,
        }
    }

    /// Reads the wanted keys into values that are [`NO_VALUES`] yet. `None` if that needs more than
    /// comparing plain texts: the dict is large, or a key of it may compare in its own way.
    ///
    /// # Safety
    ///
    /// `dict` is a live object whose type is exactly `dict`. What is read is valid until anything
    /// happens that may run Python code or drop a reference.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is read of every dict need not be moved for it"
    )]
    pub(super) unsafe fn read(
        &mut self,
        py: Python<'_>,
        dict: *mut ffi::PyObject,
        values: &mut Values,
    ) -> Option<()> {
        // SAFETY: `None` is a live object for as long as the interpreter is.
        let none = unsafe { ffi::Py_None() };
        // SAFETY: the caller vouches for `dict`, which keeps its keys alive; keys are compared by
        // their address only.
        unsafe {
            let entries = whole_entries(py, dict);
            let Some(entries) = entries.filter(|entries| entries.len() <= MAX_ENTRIES) else {
                return self.read_anew(py, dict, values);
            };
            let row = &self.expected[entries.len() % ROWS];
            for (LaidOutEntry { key, value }, expected) in entries.iter().zip(row) {
                if expected.key != *key {
                    *values = NO_VALUES;
                    return self.read_anew(py, dict, values);
                }
                // No two keys of a dict are the same field, save that of all others.
                values[expected.field % PLACES] = if *value == none {
                    ptr::null_mut()
                } else {
                    *value
                };
            }
        }
        Some(())
    }

    /// The same for a dict of which not every key was met where it is.
    ///
    /// # Safety
    ///
    /// As for [`Self::read`].
    #[cold]
    unsafe fn read_anew(
        &mut self,
        py: Python<'_>,
        dict: *mut ffi::PyObject,
        values: &mut Values,
    ) -> Option<()> {
        // SAFETY: `None` is a live object for as long as the interpreter is.
        let none = unsafe { ffi::Py_None() };
        // SAFETY: the caller vouches for `dict`, which keeps its keys alive; telling keys apart
        // changes nothing and runs no Python code.
        unsafe {
            let size = size_of(py, dict).cast_unsigned();
            let mut entry = 0;
            all_entries(py, dict, |key, value| {
                let Some(field) = self.field_at(py, size, entry, key) else {
                    return false;
                };
                if value != none {
                    values[field % PLACES] = value;
                }
                entry += 1;
                true
            })
            .then_some(())
        }
    }

    /// Which name the key of an entry is, in a dict of such a size: its place in the values; `None`
    /// as for [`Self::read`].
    ///
    /// # Safety
    ///
    /// `key` is a live object.
    #[inline]
    pub(super) unsafe fn field_at(
        &mut self,
        py: Python<'_>,
        size: usize,
        entry: usize,
        key: *mut ffi::PyObject,
    ) -> Option<usize> {
        let expected = self.expected[size % ROWS].get(entry)?;
        if expected.key == key {
            return Some(expected.field);
        }
        // SAFETY: the caller vouches for `key`.
        let known = unsafe { self.learn(py, key) }?;
        self.expected[size % ROWS][entry] = known;
        Some(known.field)
    }

    /// Finds out which name a key is, and remembers it; `None` for what is no plain text.
    ///
    /// # Safety
    ///
    /// `key` is a live object.
    #[cold]
    unsafe fn learn(&mut self, py: Python<'_>, key: *mut ffi::PyObject) -> Option<Expected> {
        let is_known = |known: &&KnownKey| known.key.as_ptr() == key;
        if let Some(known) = self.keys.iter().find(is_known) {
            let field = known.field;
            return Some(Expected { key, field });
        }
        // SAFETY: the caller vouches for `key`; this takes a reference of our own.
        let own = unsafe { Bound::from_borrowed_ptr(py, key) };
        let own = own.cast_into_exact::<PyString>().ok()?;
        let is_equal = |known: &KnownKey| is_same_text(known.key.bind(py), &own);
        let names = &self.keys[..N];
        let field = names.iter().position(is_equal).unwrap_or(PLACES - 1);
        self.keep(KnownKey {
            key: own.unbind(),
            field,
        });
        Some(Expected { key, field })
    }

    /// Remembers a key in the place of the oldest one; the names themselves stay.
    fn keep(&mut self, known: KnownKey) {
        if self.keys.len() < MAX_KEYS {
            self.keys.push(known);
            return;
        }
        let forgotten = mem::replace(&mut self.keys[self.next_forgotten], known);
        // Another object may get its address once it is gone.
        for expected in self.expected.as_flattened_mut() {
            if expected.key == forgotten.key.as_ptr() {
                expected.key = ptr::null_mut();
            }
        }
        self.next_forgotten += 1;
        if self.next_forgotten == MAX_KEYS {
            self.next_forgotten = N;
        }
    }
}
