//! A result apart from the call that found it.

use std::slice;

use pyo3::IntoPyObjectExt as _;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use toolbudget_core::Candidate;

use crate::classes::Classes;
use crate::collect::Place;
use crate::text::PyText;
use crate::texts::Texts;

/// All that a `Candidate` is made of.
pub(crate) struct OwnCandidate {
    pub(crate) tool_use_id: Py<PyString>,
    content: Option<Py<PyAny>>,
    parts: Parts,
    size_chars: u64,
    message_index: usize,
    block_index: usize,
    tool_name: Option<Py<PyString>>,
    is_exempt: bool,
}

enum Parts {
    /// If there is no other content, it is this text.
    One(Py<PyString>),
    Several(Vec<Py<PyString>>),
}

impl OwnCandidate {
    pub(crate) fn of<'py>(candidate: &Candidate<PyText<'py>>, place: &Place<'py>) -> Self {
        let own = |text: &Bound<'py, PyString>| text.clone().unbind();
        let content = place
            .content
            .as_ref()
            .map(|content| content.clone().unbind());
        let parts = match &place.texts {
            Texts::Plain(text) => Parts::One(own(text)),
            Texts::Odd(_) => Parts::Several(place.texts.parts().iter().map(own).collect()),
        };
        Self {
            tool_use_id: own(candidate.tool_use_id.as_object()),
            content,
            parts,
            size_chars: candidate.size_chars,
            message_index: place.message_index,
            block_index: place.block_index,
            tool_name: candidate
                .tool_name
                .as_ref()
                .map(|name| own(name.as_object())),
            is_exempt: candidate.is_exempt,
        }
    }

    /// The texts that make its text when they are joined.
    pub(crate) fn parts(&self) -> &[Py<PyString>] {
        match &self.parts {
            Parts::One(part) => slice::from_ref(part),
            Parts::Several(parts) => parts,
        }
    }

    pub(crate) fn to_object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let content = match (&self.content, &self.parts) {
            (None, Parts::One(text)) => text.bind(py).clone().into_any(),
            (content, _) => content.as_ref().into_bound_py_any(py)?,
        };
        let values = [
            self.tool_use_id.bind(py).clone().into_any(),
            content,
            self.size_chars.into_bound_py_any(py)?,
            self.message_index.into_bound_py_any(py)?,
            self.block_index.into_bound_py_any(py)?,
            self.tool_name.as_ref().into_bound_py_any(py)?,
            self.is_exempt.into_bound_py_any(py)?,
            PyTuple::new(py, self.parts())?.into_any(),
            py.None().into_bound(py),
        ];
        Classes::get(py)?.candidate.make(py, values)
    }

    /// Tells the collector of what may refer to other objects: plain texts do not.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.content)
    }
}
