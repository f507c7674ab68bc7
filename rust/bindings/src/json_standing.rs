//! Decisions that were looked up in the call before and still stand.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Decision, Unit};

use crate::known::PyReplacement;

/// What is remembered about the results of a scan from call to call.
#[derive(Default)]
pub(crate) struct Standing {
    /// What `Known` had as `epoch` when the decisions were looked up.
    token: Option<Py<PyAny>>,
    results: Vec<Known>,
}

/// What is known about one result.
#[derive(Default)]
struct Known {
    decision: Remembered,
    /// The size of its text in another unit than characters.
    measured: Option<(Unit, u64)>,
}

/// One decision, if it is known.
#[derive(Default)]
enum Remembered {
    #[default]
    Unknown,
    Kept,
    Replaced(Py<PyString>, u64),
}

impl Standing {
    /// Keeps what is known about the first results, and about those others that have an origin
    /// among the results from `first` on.
    pub(crate) fn move_on(&mut self, reused: usize, first: usize, origins: &[Option<usize>]) {
        let mut left = self.results.split_off(first.min(self.results.len()));
        self.results.truncate(reused);
        self.results.resize_with(reused, Known::default);
        let moved = origins.iter().map(|origin| {
            let known = origin.and_then(|origin| left.get_mut(origin));
            known.map(std::mem::take).unwrap_or_default()
        });
        self.results.extend(moved);
    }

    /// Forgets every decision, unless it still stands.
    pub(crate) fn check(&mut self, token: &Bound<'_, PyAny>, results: usize) {
        let is_same = self.token.as_ref().is_some_and(|known| known.is(token));
        if !is_same {
            self.token = (!token.is_none()).then(|| token.clone().unbind());
            for known in &mut self.results {
                known.decision = Remembered::Unknown;
            }
        }
        self.results.resize_with(results, Known::default);
    }

    /// Whether a result is known to be kept.
    pub(crate) fn is_kept(&self, result: usize) -> bool {
        matches!(self.results[result].decision, Remembered::Kept)
    }

    /// The decision about a result.
    pub(crate) fn get<'py>(
        &self,
        result: usize,
        py: Python<'py>,
    ) -> Option<Decision<PyReplacement<'py>>> {
        match &self.results[result].decision {
            Remembered::Unknown => None,
            Remembered::Kept => Some(Decision::Kept),
            Remembered::Replaced(text, size_chars) => {
                let replacement = PyReplacement::attach(py, text, *size_chars);
                Some(Decision::Replaced(replacement))
            }
        }
    }

    /// Remembers a decision, if there is a way to know how long it stands.
    pub(crate) fn set(&mut self, result: usize, decision: &Decision<PyReplacement<'_>>) {
        if self.token.is_none() {
            return;
        }
        self.results[result].decision = match decision {
            Decision::Kept => Remembered::Kept,
            Decision::Replaced(replacement) => {
                let (text, size_chars) = replacement.detach();
                Remembered::Replaced(text, size_chars)
            }
        };
    }

    /// The size of a result's text in another unit than characters.
    pub(crate) fn size(&self, result: usize, unit: Unit) -> Option<u64> {
        let (known, size) = self.results[result].measured?;
        (known == unit).then_some(size)
    }

    /// Remembers the size of a result's text.
    pub(crate) fn set_size(&mut self, result: usize, unit: Unit, size: u64) {
        self.results[result].measured = Some((unit, size));
    }
}
