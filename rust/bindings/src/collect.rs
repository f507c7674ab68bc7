//! Collecting: what a message list holds, for the core and as Python's objects.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolbudget_core::{Call, Chain, Collector, Found, Group, SkipReason, Skipped, Survey};

use crate::classes::Classes;
use crate::own_candidate::OwnCandidate;
use crate::raw::Readers;
use crate::text::PyText;
use crate::texts::Texts;
use crate::walk::{Sink, walk};

/// For how many results there is room before they are met, at most.
pub(crate) const MOST_ROOM: usize = 4_096;

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
    /// Finds every tool result of a message list, which as a rule holds so many as expected.
    pub(crate) fn of(
        messages: &Bound<'py, PyAny>,
        is_exempt_tool: &Bound<'py, PyAny>,
        readers: &mut Readers,
        expected: usize,
    ) -> PyResult<Self> {
        walk(messages, readers, Gathered::with_capacity(expected))?.finish(|name| {
            let is_exempt = is_exempt_tool.call1((name.as_object(),))?;
            is_exempt.is_truthy()
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
        for index in group.candidates.iter() {
            candidates.append(self.candidate(index).to_object(py)?)?;
        }
        let values = [
            candidates.into_any(),
            group.is_followed.into_bound_py_any(py)?,
        ];
        classes.group.make(py, values)
    }

    /// One result with what it holds, apart from this call.
    pub(crate) fn candidate(&self, index: usize) -> OwnCandidate {
        OwnCandidate::of(&self.survey.candidates()[index], &self.places[index])
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

/// Keeps everything that a walk meets.
pub(crate) struct Gathered<'py> {
    collector: Collector<PyText<'py>>,
    places: Vec<Place<'py>>,
}

impl<'py> Gathered<'py> {
    pub(crate) fn with_capacity(results: usize) -> Self {
        Self {
            collector: Collector::with_capacity(results),
            places: Vec::with_capacity(results),
        }
    }

    /// Joins every result to its call.
    pub(crate) fn finish(
        self,
        is_exempt_tool: impl FnMut(&PyText<'py>) -> PyResult<bool>,
    ) -> PyResult<Collected<'py>> {
        Ok(Collected {
            survey: self.collector.finish(is_exempt_tool)?,
            places: self.places,
        })
    }
}

impl<'py> Sink<'py> for Gathered<'py> {
    #[inline]
    fn begin_assistant(
        &mut self,
        _message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    ) {
        self.collector.begin_assistant(chain, message_id);
    }

    #[inline]
    fn begin_user(&mut self, _message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()> {
        self.collector.begin_user(chain);
        Ok(())
    }

    #[inline]
    fn expect_calls(&mut self, blocks: usize) {
        self.collector.expect_calls(blocks.min(MOST_ROOM));
    }

    #[inline]
    fn expect_results(&mut self, blocks: usize) {
        let results = blocks.min(MOST_ROOM);
        self.collector.expect_results(results);
        self.places.reserve(results);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is called for every block")]
    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>) {
        self.collector.add_call(tool_use_id, call);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is called for every block")]
    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()> {
        self.collector.add_result(found);
        self.places.push(place);
        Ok(())
    }

    #[inline]
    fn skip(&mut self, reason: SkipReason) {
        self.collector.skip(reason);
    }
}
