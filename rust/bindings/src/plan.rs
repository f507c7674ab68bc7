//! Planning: one crossing from a message list to everything that is decided about it.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use toolbudget_core::{Choice, Replacement};

use crate::cache::{FingerprintCache, Memory};
use crate::classes::Classes;
use crate::collect::{Collected, counter};
use crate::error;
use crate::knowledge::PyKnowledge;
use crate::known::{Known, PyReplacement};
use crate::number;
use crate::options::PlanOptions;
use crate::plan_items::{PlanItem, PlanItems};
use crate::text;
use crate::totals::TotalsOfGroups;

type CorePlan<'py> = toolbudget_core::Plan<PyReplacement<'py>, Replacement>;

/// Decides about every result of a message list that is not decided yet.
pub(crate) fn plan<'py>(
    messages: &Bound<'py, PyAny>,
    known: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    if messages
        .cast_exact::<PyList>()
        .is_ok_and(PyListMethods::is_empty)
    {
        return empty_plan(known);
    }
    let options = PlanOptions::read(options)?;
    let known = Known::read(known)?;
    let cache = own_cache(&known.fingerprints)?;
    let mut memory = cache.get().take().unwrap_or_else(|| Memory::new(py));
    let plan = plan_with(&mut memory, messages, &known, &options, &cache);
    cache.get().put(memory);
    plan
}

/// The cache of the call before, if it is one of this core's, else a new one.
fn own_cache<'py>(known: &Bound<'py, PyAny>) -> PyResult<Bound<'py, FingerprintCache>> {
    match known.cast_exact::<FingerprintCache>() {
        Ok(cache) => Ok(cache.clone()),
        Err(_) => Bound::new(known.py(), FingerprintCache::new()),
    }
}

/// The plan of an empty list, for which nothing need be read.
fn empty_plan<'py>(known: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = known.py();
    let cache = own_cache(&known.getattr(intern!(py, "fingerprints"))?)?;
    drop(cache.get().take());
    let classes = Classes::get(py)?;
    let list = || PyList::empty(py).into_any();
    let zero = 0_usize.into_bound_py_any(py)?;
    let values = [
        list(),
        list(),
        list(),
        list(),
        list(),
        classes.counter.make(py, [])?,
        zero.clone(),
        zero.clone(),
        zero,
        cache.into_any(),
        list(),
    ];
    classes.plan.make(py, values)
}

fn plan_with<'py>(
    memory: &mut Memory,
    messages: &Bound<'py, PyAny>,
    known: &Known<'py>,
    options: &PlanOptions<'py>,
    cache: &Bound<'py, FingerprintCache>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    memory.begin(&known.epoch);
    let expected = memory.len();
    let collected = Collected::of(
        messages,
        &options.is_exempt_tool,
        &mut memory.readers,
        expected,
    )?;
    let mut knowledge = PyKnowledge::new(py, &collected, known, &options.callbacks, memory)?;
    let plan = toolbudget_core::plan(&collected.survey, &options.core, &mut knowledge)?;
    let written = Writer {
        py,
        classes: Classes::get(py)?,
        collected: &collected,
        cache,
    }
    .plan(&plan, &mut knowledge)?;
    memory.finish();
    Ok(written)
}

/// Writes the core's plan as Python's.
struct Writer<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collected: &'a Collected<'py>,
    cache: &'a Bound<'py, FingerprintCache>,
}

impl<'py> Writer<'_, 'py> {
    fn plan(
        &self,
        plan: &CorePlan<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let totals = Bound::new(self.py, TotalsOfGroups::new(plan.totals.clone()))?;
        let choices = self.list(&plan.choices, |choice| {
            self.choice(choice, &totals, knowledge)
        })?;
        let kept = plan.kept.iter().map(|&index| knowledge.kept(index));
        let kept = PlanItems(kept.collect::<PyResult<_>>()?);
        let adoptions = self.list(&plan.adoptions, |(candidate, text)| {
            self.adoption(*candidate, text, knowledge)
        })?;
        let changes = plan.changes.iter();
        let changes = PlanItems(
            changes
                .map(|(index, text)| self.change(*index, text))
                .collect(),
        );
        let values = [
            choices.into_any(),
            Bound::new(self.py, kept)?.into_any(),
            adoptions.into_any(),
            Bound::new(self.py, changes)?.into_any(),
            totals.into_any(),
            counter(&plan.skipped, self.classes, self.py)?,
            plan.candidates.into_bound_py_any(self.py)?,
            number::to_python(self.py, plan.chars_before)?,
            number::to_python(self.py, plan.chars_gained)?,
            self.cache.clone().into_any(),
            knowledge.redaction_failures.clone().into_any(),
        ];
        self.classes.plan.make(self.py, values)
    }

    fn list<T>(
        &self,
        items: &[T],
        mut write: impl FnMut(&T) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        for item in items {
            list.append(write(item)?)?;
        }
        Ok(list)
    }

    fn choice(
        &self,
        choice: &Choice<Replacement>,
        totals: &Bound<'py, TotalsOfGroups>,
        knowledge: &mut PyKnowledge<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let occurrences = self.list(&choice.occurrences, |&index| self.candidate(index))?;
        let followers = self.list(&choice.followers, |&(index, group)| {
            let follower = (self.candidate(index)?, totals.get().object(self.py, group)?);
            Ok(follower.into_pyobject(self.py)?.into_any())
        })?;
        let first = choice.occurrences[0];
        let (prepared, path) = self.prepared(first, &occurrences, knowledge)?;
        let values = [
            knowledge.key(first)?,
            occurrences.into_any(),
            prepared,
            path,
            number::to_python(self.py, choice.preview_bytes)?,
            text::from_wtf8(self.py, &choice.replacement.text)?.into_any(),
            totals.get().object(self.py, choice.group)?,
            followers.into_any(),
        ];
        self.classes.choice.make(self.py, values)
    }

    /// A fresh result as `Prepared`, and the path that its replacement assumes.
    fn prepared(
        &self,
        first: usize,
        occurrences: &Bound<'py, PyList>,
        knowledge: &PyKnowledge<'_, 'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let prepared = knowledge.prepared(first);
        let Some((prepared, source)) =
            prepared.and_then(|prepared| Some((prepared, prepared.source()?)))
        else {
            return Err(error::internal(self.py, "a choice was never built"));
        };
        let parts = match prepared.redacted() {
            Some(redacted) => redacted,
            None => self.collected.places[first].texts.parts(),
        };
        let fresh = self
            .classes
            .fresh
            .make(self.py, [occurrences.clone().into_any()])?;
        let values = [
            fresh,
            PyTuple::new(self.py, parts)?.into_any(),
            source.head_text.clone().into_any(),
            source.size_bytes.into_bound_py_any(self.py)?,
        ];
        let made = self.classes.prepared.make(self.py, values)?;
        Ok((made, source.path.clone()))
    }

    fn candidate(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        self.collected.candidate(index, self.classes, self.py)
    }

    fn adoption(
        &self,
        candidate: usize,
        text: &PyReplacement<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = (knowledge.key(candidate)?, text.as_object());
        let fields = fields.into_pyobject(self.py)?;
        self.classes.named_tuple(&self.classes.adoption, &fields)
    }

    fn change(&self, candidate: usize, text: &PyReplacement<'py>) -> PlanItem {
        let place = &self.collected.places[candidate];
        PlanItem::Change {
            message_index: place.message_index,
            block_index: place.block_index,
            replacement: text.as_object().clone().unbind(),
        }
    }
}
