//! The decisions of a conversation, held without an object of Python's for each.
//!
//! Ids, replacements and odd fingerprints are plain texts and tuples of them: to compare, count or
//! let go of them runs no Python code. So nothing here does, however a table is locked.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Fingerprint, OrderedTable, TextHash};

use crate::classes::Classes;
use crate::raw::is_same_text;
use crate::text::PyText;

/// A fingerprint, as small as can be.
pub(crate) enum Mark {
    Text {
        size_chars: u64,
        hash: [u8; 16],
    },
    /// One that no text has, such as a record of another program may hold: a `Fingerprint` of a
    /// plain number and a plain text.
    Odd(Py<PyAny>),
}

impl From<Fingerprint> for Mark {
    fn from(fingerprint: Fingerprint) -> Self {
        Self::Text {
            size_chars: fingerprint.size_chars,
            hash: fingerprint.hash.to_be_bytes(),
        }
    }
}

impl Mark {
    fn is(&self, other: &Self, py: Python<'_>) -> bool {
        match (self, other) {
            (
                Self::Text { size_chars, hash },
                Self::Text {
                    size_chars: other_chars,
                    hash: other_hash,
                },
            ) => size_chars == other_chars && hash == other_hash,
            (Self::Odd(odd), Self::Odd(other)) => odd.bind(py).eq(other).unwrap_or(false),
            _ => false,
        }
    }

    /// A hash that nobody can choose texts for so that they collide.
    fn number(&self, py: Python<'_>) -> u64 {
        static STATE: OnceLock<RandomState> = OnceLock::new();
        match self {
            Self::Text { size_chars, hash } => STATE
                .get_or_init(RandomState::new)
                .hash_one((size_chars, hash)),
            Self::Odd(odd) => {
                let hash = odd.bind(py).hash().unwrap_or_default();
                hash.cast_unsigned() as u64
            }
        }
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Text { size_chars, hash } => Self::Text {
                size_chars: *size_chars,
                hash: *hash,
            },
            Self::Odd(odd) => Self::Odd(odd.clone_ref(py)),
        }
    }

    pub(crate) fn to_object<'py>(
        &self,
        py: Python<'py>,
        classes: &Classes,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Text { size_chars, hash } => {
                let fingerprint = Fingerprint {
                    size_chars: *size_chars,
                    hash: TextHash::from_be_bytes(*hash),
                };
                classes.new_fingerprint(py, fingerprint)
            }
            Self::Odd(odd) => Ok(odd.bind(py).clone()),
        }
    }
}

/// What became of one result: its replacement, or nothing if it was kept.
pub(crate) struct Decided {
    pub(crate) mark: Mark,
    pub(crate) replacement: Option<Py<PyString>>,
}

impl Decided {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            mark: self.mark.clone_ref(py),
            replacement: self.replacement.as_ref().map(|text| text.clone_ref(py)),
        }
    }

    fn is(&self, other: &Self, py: Python<'_>) -> bool {
        match (&self.replacement, &other.replacement) {
            (None, None) => true,
            (Some(text), Some(other)) => is_same_text(text.bind(py), other.bind(py)),
            _ => false,
        }
    }
}

/// Where [`Decisions::counts`] has the kept results; the replaced ones come first.
const KEPT: usize = 1;

fn kind(decided: &Decided) -> usize {
    usize::from(decided.replacement.is_none())
}

/// The decisions about one id: nearly always a single one.
enum OfId {
    One(Decided),
    Many(Box<OrderedTable<Decided>>),
}

impl OfId {
    fn find(&self, mark: &Mark, py: Python<'_>) -> Option<&Decided> {
        match self {
            Self::One(only) => only.mark.is(mark, py).then_some(only),
            Self::Many(all) => all.get(place_of(all, mark, py)?),
        }
    }

    /// Adds a decision that is not there yet.
    fn add(&mut self, decided: Decided, py: Python<'_>) {
        let mut all = match std::mem::replace(self, Self::Many(Box::default())) {
            Self::Many(all) => all,
            Self::One(first) => {
                let mut all = Box::new(OrderedTable::new());
                all.push(first.mark.number(py), first);
                all
            }
        };
        all.push(decided.mark.number(py), decided);
        *self = Self::Many(all);
    }

    fn take(&mut self, mark: &Mark, py: Python<'_>) -> Option<Decided> {
        if let Self::Many(all) = self {
            return all.take(place_of(all, mark, py)?);
        }
        self.find(mark, py)?;
        match std::mem::replace(self, Self::Many(Box::default())) {
            Self::One(only) => Some(only),
            Self::Many(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(all) => all.len(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Decided> {
        let (one, many) = match self {
            Self::One(only) => (Some(only), None),
            Self::Many(all) => (None, Some(all)),
        };
        one.into_iter()
            .chain(many.into_iter().flat_map(|all| all.iter()))
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::One(only) => Self::One(only.clone_ref(py)),
            Self::Many(all) => Self::Many(Box::new(all.copied(|decided| decided.clone_ref(py)))),
        }
    }

    fn is(&self, other: &Self, py: Python<'_>) -> bool {
        let is_alike = |decided: &Decided| {
            let found = other.find(&decided.mark, py);
            found.is_some_and(|found| found.is(decided, py))
        };
        self.len() == other.len() && self.iter().all(is_alike)
    }
}

fn place_of(all: &OrderedTable<Decided>, mark: &Mark, py: Python<'_>) -> Option<usize> {
    all.find(mark.number(py), |decided| decided.mark.is(mark, py))
}

/// An id with the decisions about it.
struct Entry {
    tool_use_id: Py<PyString>,
    of_id: OfId,
}

/// Every decision, by id in the order in which they were taken.
#[derive(Default)]
pub(crate) struct Decisions {
    ids: OrderedTable<Entry>,
    /// How many results were replaced, and how many kept.
    pub(crate) counts: [usize; 2],
}

impl Decisions {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn reserve(&mut self, ids: usize) {
        self.ids.reserve(ids);
    }

    fn place(&self, tool_use_id: &PyText<'_>) -> Option<usize> {
        let object = tool_use_id.as_object();
        let is_it = |entry: &Entry| is_same_text(entry.tool_use_id.bind(object.py()), object);
        self.ids.find(tool_use_id.number() as u64, is_it)
    }

    pub(crate) fn has(&self, tool_use_id: &PyText<'_>) -> bool {
        self.place(tool_use_id).is_some()
    }

    /// The decision about one result.
    pub(crate) fn find(&self, tool_use_id: &PyText<'_>, mark: &Mark) -> Option<&Decided> {
        let entry = self.ids.get(self.place(tool_use_id)?)?;
        entry.of_id.find(mark, tool_use_id.as_object().py())
    }

    /// Takes a decision over, unless there is one about the same result; tells whether it did.
    pub(crate) fn add(&mut self, tool_use_id: &PyText<'_>, decided: Decided) -> bool {
        let py = tool_use_id.as_object().py();
        let kind = kind(&decided);
        let known = self.place(tool_use_id);
        if let Some(entry) = known.and_then(|place| self.ids.get_mut(place)) {
            if entry.of_id.find(&decided.mark, py).is_some() {
                return false;
            }
            entry.of_id.add(decided, py);
        } else {
            let entry = Entry {
                tool_use_id: tool_use_id.as_object().clone().unbind(),
                of_id: OfId::One(decided),
            };
            self.ids.push(tool_use_id.number() as u64, entry);
        }
        self.counts[kind] += 1;
        true
    }

    /// Takes a decision over as the last one about its id, whatever was decided before.
    pub(crate) fn add_anew(&mut self, tool_use_id: &PyText<'_>, decided: Decided) {
        let py = tool_use_id.as_object().py();
        let known = self.place(tool_use_id);
        if let Some(entry) = known.and_then(|place| self.ids.get_mut(place)) {
            if let Some(earlier) = entry.of_id.take(&decided.mark, py) {
                self.counts[kind(&earlier)] -= 1;
            }
            self.counts[kind(&decided)] += 1;
            entry.of_id.add(decided, py);
        } else {
            self.add(tool_use_id, decided);
        }
    }

    /// Takes back that a result was kept; tells whether it was.
    pub(crate) fn withdraw(&mut self, tool_use_id: &PyText<'_>, mark: &Mark) -> bool {
        let py = tool_use_id.as_object().py();
        let Some(place) = self.place(tool_use_id) else {
            return false;
        };
        let Some(entry) = self.ids.get_mut(place) else {
            return false;
        };
        let found = entry.of_id.find(mark, py);
        if found.is_none_or(|found| found.replacement.is_some()) {
            return false;
        }
        entry.of_id.take(mark, py);
        if entry.of_id.len() == 0 {
            self.ids.take(place);
        }
        self.counts[KEPT] -= 1;
        true
    }

    /// Every id, each with the decisions about it.
    pub(crate) fn iter(
        &self,
    ) -> impl Iterator<Item = (&Py<PyString>, impl Iterator<Item = &Decided>)> {
        let entries = self.ids.iter();
        entries.map(|entry| (&entry.tool_use_id, entry.of_id.iter()))
    }

    /// The decisions about one id.
    pub(crate) fn of_id(&self, tool_use_id: &PyText<'_>) -> Option<impl Iterator<Item = &Decided>> {
        let entry = self.ids.get(self.place(tool_use_id)?)?;
        Some(entry.of_id.iter())
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            ids: self.ids.copied(|entry| Entry {
                tool_use_id: entry.tool_use_id.clone_ref(py),
                of_id: entry.of_id.clone_ref(py),
            }),
            counts: self.counts,
        }
    }

    /// Whether both hold the same decisions, in any order.
    pub(crate) fn is(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        if self.counts != other.counts || self.len() != other.len() {
            return Ok(false);
        }
        for entry in self.ids.iter() {
            let tool_use_id = PyText::new(entry.tool_use_id.bind(py).clone())?;
            let place = other.place(&tool_use_id);
            let found = place.and_then(|place| other.ids.get(place));
            if !found.is_some_and(|found| found.of_id.is(&entry.of_id, py)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
