//! What is remembered about one text.

use std::iter;

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Decision, Fingerprint, Unit};

/// One text: the objects that it comes from, kept alive so that their addresses stay their own.
pub(crate) struct Entry {
    pub(crate) first: Py<PyAny>,
    pub(crate) others: Box<[Py<PyAny>]>,
    pub(crate) may_refer: bool,
    pub(crate) call: u64,
    /// Whether a message holds it that calls need not meet any more.
    pub(crate) is_past: bool,
    /// `None` for a plain text that was not hashed yet: it stays what it is, so that it can wait.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) is_framed: bool,
    /// Its size in another unit than characters, once it was asked for.
    pub(crate) measured: Option<(Unit, u64)>,
    /// The fingerprint as Python has it, once it was asked for.
    pub(crate) object: Option<Py<PyAny>>,
    /// What was decided about the text together with an id.
    pub(crate) decided: Option<Decided>,
}

pub(crate) struct Decided {
    pub(crate) epoch_number: u64,
    pub(crate) tool_use_id: Py<PyString>,
    pub(crate) decision: Decision<(Py<PyString>, u64)>,
}

impl Entry {
    pub(crate) fn objects(&self) -> impl Iterator<Item = usize> {
        iter::once(&self.first)
            .chain(&self.others)
            .map(|object| object.as_ptr() as usize)
    }

    /// Whether it is about these very objects.
    pub(crate) fn is_of(&self, objects: &[Bound<'_, PyAny>]) -> bool {
        let Some((first, others)) = objects.split_first() else {
            return false;
        };
        self.first.is(first)
            && self.others.len() == others.len()
            && self
                .others
                .iter()
                .zip(others)
                .all(|(own, other)| own.is(other))
    }
}

/// One number for the addresses of objects; that of a single one is the address itself.
pub(crate) fn address(objects: impl Iterator<Item = usize>) -> usize {
    objects.fold(0, |address, object| address.rotate_left(7) ^ object)
}
