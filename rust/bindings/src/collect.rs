//! Collecting: what a message list holds, for the core and as Python's objects.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolbudget_core::{Group, Skipped, Survey};

use crate::classes::Classes;
use crate::raw::Readers;
use crate::text::PyText;
use crate::texts::Texts;
use crate::walk::Walk;

/// Where a text result stands, and what is in it.
pub(crate) struct Place<'py> {
    pub(crate) message_index: usize,
    pub(crate) block_index: usize,
    /// `None` if it is the plain text itself.
    pub(crate) content: Option<Bound<'py, PyAny>>,
    pub(crate) texts: Texts<'py>,
}

impl<'py> Place<'py> {
    /// The content as the host gave it.
    pub(crate) fn content(&self) -> Option<&Bound<'py, PyAny>> {
        self.content
            .as_ref()
            .or_else(|| self.texts.objects().first())
    }
}

/// What a message list holds; candidate and place have the same index.
pub(crate) struct Collected<'py> {
    pub(crate) survey: Survey<PyText<'py>>,
    pub(crate) places: Vec<Place<'py>>,
}

impl<'py> Collected<'py> {
    /// Finds every tool result of a message list.
    pub(crate) fn of(
        messages: &Bound<'py, PyAny>,
        is_exempt_tool: &Bound<'py, PyAny>,
        readers: &mut Readers,
        expected: usize,
    ) -> PyResult<Self> {
        let walk = Walk::over(messages, readers, expected)?;
        let survey = walk.collector.finish(|name| {
            let is_exempt = is_exempt_tool.call1((name.as_object(),))?;
            is_exempt.is_truthy()
        })?;
        Ok(Self {
            survey,
            places: walk.places,
        })
    }

    /// The survey as `collect` gives it.
    pub(crate) fn to_survey(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let classes = Classes::get(py)?;
        let groups = PyList::empty(py);
        for group in self.survey.groups() {
            groups.append(self.group(group, classes, py)?)?;
        }
        let skipped = counter(self.survey.skipped(), classes, py)?;
        classes.survey.make(py, [groups.into_any(), skipped])
    }

    fn group(
        &self,
        group: &Group,
        classes: &Classes,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let candidates = PyList::empty(py);
        for &index in &group.candidates {
            candidates.append(self.candidate(index, classes, py)?)?;
        }
        let values = [
            candidates.into_any(),
            group.is_followed.into_bound_py_any(py)?,
        ];
        classes.group.make(py, values)
    }

    /// One result as a `Candidate`.
    pub(crate) fn candidate(
        &self,
        index: usize,
        classes: &Classes,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let candidate = &self.survey.candidates()[index];
        let place = &self.places[index];
        let name = candidate.tool_name.as_ref().map(PyText::as_object);
        let values = [
            candidate.tool_use_id.as_object().clone().into_any(),
            place.content().into_bound_py_any(py)?,
            candidate.size_chars.into_bound_py_any(py)?,
            place.message_index.into_bound_py_any(py)?,
            place.block_index.into_bound_py_any(py)?,
            name.into_bound_py_any(py)?,
            candidate.is_exempt.into_bound_py_any(py)?,
            place.texts.to_tuple(py)?.into_any(),
            py.None().into_bound(py),
        ];
        classes.candidate.make(py, values)
    }
}

/// Counts by reason as a `Counter`.
pub(crate) fn counter<'py>(
    skipped: &Skipped,
    classes: &Classes,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let counter = classes.counter.make(py, [])?;
    let counts = counter.cast::<PyDict>()?;
    for (reason, count) in skipped.iter() {
        counts.set_item(reason.name(), count)?;
    }
    Ok(counter)
}
