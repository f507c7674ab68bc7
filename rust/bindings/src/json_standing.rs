//! Decisions that were looked up in the call before and still stand.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::Decision;

use crate::known::PyReplacement;

/// What is remembered about the results of a scan from call to call.
#[derive(Default)]
pub(crate) struct Standing {
    /// What `Known` had as `epoch` when the decisions were looked up.
    token: Option<Py<PyAny>>,
    decisions: Vec<Remembered>,
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
        let mut left = self.decisions.split_off(first.min(self.decisions.len()));
        self.decisions.truncate(reused);
        self.decisions.resize_with(reused, Remembered::default);
        let moved = origins.iter().map(|origin| {
            let known = origin.and_then(|origin| left.get_mut(origin));
            known.map(std::mem::take).unwrap_or_default()
        });
        self.decisions.extend(moved);
    }

    /// Forgets everything, unless it still stands.
    pub(crate) fn check(&mut self, token: &Bound<'_, PyAny>, results: usize) {
        let is_same = self.token.as_ref().is_some_and(|known| known.is(token));
        if !is_same {
            self.token = (!token.is_none()).then(|| token.clone().unbind());
            self.decisions.clear();
        }
        self.decisions.resize_with(results, Remembered::default);
    }

    /// The decision about a result.
    pub(crate) fn get<'py>(
        &self,
        result: usize,
        py: Python<'py>,
    ) -> Option<Decision<PyReplacement<'py>>> {
        match &self.decisions[result] {
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
        self.decisions[result] = match decision {
            Decision::Kept => Remembered::Kept,
            Decision::Replaced(replacement) => {
                let (text, size_chars) = replacement.detach();
                Remembered::Replaced(text, size_chars)
            }
        };
    }
}
