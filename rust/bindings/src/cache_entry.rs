//! What is remembered about one text.

use std::iter;

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Decision, Fingerprint, Unit};

/// One text: the objects that it comes from, kept alive so that their addresses stay their own.
pub(crate) struct Entry {
    pub(crate) first: Py<PyAny>,
    /// What few texts have; apart, because an entry is made for every result.
    more: Option<Box<More>>,
    pub(crate) call: u64,
    /// Whether a message holds it that calls need not meet any more.
    pub(crate) is_past: bool,
    /// `None` for a plain text that was not hashed yet: it stays what it is, so that it can wait.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) is_framed: bool,
    /// What was decided about the text together with an id.
    pub(crate) decided: Option<Decided>,
}

#[derive(Default)]
pub(crate) struct More {
    /// Where the text comes from several objects: all but the first one.
    others: Box<[Py<PyAny>]>,
    may_refer: bool,
    /// Its size in another unit than characters, once it was asked for.
    pub(crate) measured: Option<(Unit, u64)>,
    /// The fingerprint as Python has it, once it was asked for.
    pub(crate) object: Option<Py<PyAny>>,
}

pub(crate) struct Decided {
    pub(crate) epoch_number: u64,
    pub(crate) tool_use_id: Py<PyString>,
    pub(crate) decision: Decision<(Py<PyString>, u64)>,
}

impl Entry {
    /// That of a plain text; it is hashed only if it may be another one later.
    #[inline]
    pub(crate) fn of_plain(text: &Bound<'_, PyString>, is_framed: bool, call: u64) -> Self {
        Self {
            first: text.clone().into_any().unbind(),
            more: None,
            call,
            is_past: false,
            fingerprint: None,
            is_framed,
            decided: None,
        }
    }

    /// That of a text of these objects; `None` if there are none.
    pub(crate) fn of_odd(
        objects: &[Bound<'_, PyAny>],
        fingerprint: Fingerprint,
        is_framed: bool,
        call: u64,
    ) -> Option<Self> {
        let (first, others) = objects.split_first()?;
        let others = others.iter().map(|object| object.clone().unbind());
        let more = More {
            others: others.collect(),
            may_refer: !objects
                .iter()
                .all(PyAnyMethods::is_exact_instance_of::<PyString>),
            ..More::default()
        };
        Some(Self {
            first: first.clone().unbind(),
            more: Some(Box::new(more)),
            call,
            is_past: false,
            fingerprint: Some(fingerprint),
            is_framed,
            decided: None,
        })
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = usize> {
        iter::once(&self.first)
            .chain(self.others())
            .map(|object| object.as_ptr() as usize)
    }

    /// All but the first one.
    pub(crate) fn others(&self) -> &[Py<PyAny>] {
        self.more().map_or(&[], |more| &more.others)
    }

    /// Whether its objects may refer to others, as those of a subclass may.
    pub(crate) fn may_refer(&self) -> bool {
        self.more().is_some_and(|more| more.may_refer)
    }

    pub(crate) fn more(&self) -> Option<&More> {
        self.more.as_deref()
    }

    /// The same, to be noted there.
    pub(crate) fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Whether it is about these very objects.
    pub(crate) fn is_of(&self, objects: &[Bound<'_, PyAny>]) -> bool {
        let Some((first, others)) = objects.split_first() else {
            return false;
        };
        let own_others = self.others();
        self.first.is(first)
            && own_others.len() == others.len()
            && own_others
                .iter()
                .zip(others)
                .all(|(own, other)| own.is(other))
    }
}

/// One number for the addresses of objects; that of a single one is the address itself.
pub(crate) fn address(objects: impl Iterator<Item = usize>) -> usize {
    objects.fold(0, |address, object| address.rotate_left(7) ^ object)
}
