//! Planning: one crossing from a message list to everything that is decided about it.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use toolbudget_core::{Choice, Replacement, Totals};

use crate::classes::{Classes, make};
use crate::collect::{Collected, counter};
use crate::error;
use crate::knowledge::PyKnowledge;
use crate::known::{Known, PyReplacement};
use crate::number;
use crate::options::PlanOptions;
use crate::text;

type CorePlan<'py> = toolbudget_core::Plan<PyReplacement<'py>, Replacement>;

/// Decides about every result of a message list that is not decided yet.
pub(crate) fn plan<'py>(
    messages: &Bound<'py, PyAny>,
    known: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PlanOptions::read(options)?;
    let collected = Collected::of(messages, &options.is_exempt_tool)?;
    let known = Known::read(known)?;
    let py = messages.py();
    let mut knowledge = PyKnowledge::new(py, &collected, known, &options.callbacks)?;
    let plan = toolbudget_core::plan(&collected.survey, &options.core, &mut knowledge)?;
    Writer {
        py,
        classes: Classes::get(py)?,
        collected: &collected,
        knowledge: &knowledge,
    }
    .plan(&plan)
}

/// Writes the core's plan as Python's.
struct Writer<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collected: &'a Collected<'py>,
    knowledge: &'a PyKnowledge<'a, 'py>,
}

impl<'py> Writer<'_, 'py> {
    fn plan(&self, plan: &CorePlan<'py>) -> PyResult<Bound<'py, PyAny>> {
        let totals = self.list(&plan.totals, |totals| self.totals(totals))?;
        let choices = self.list(&plan.choices, |choice| self.choice(choice, &totals))?;
        let arguments = (
            choices,
            self.list(&plan.kept, |&candidate| self.knowledge.key(candidate))?,
            self.list(&plan.adoptions, |(candidate, text)| {
                self.adoption(*candidate, text)
            })?,
            self.list(&plan.changes, |(candidate, text)| {
                self.change(*candidate, text)
            })?,
            totals,
            counter(&plan.skipped, self.classes, self.py)?,
            plan.candidates,
            number::to_python(self.py, plan.chars_before)?,
            number::to_python(self.py, plan.chars_gained)?,
            &self.knowledge.fingerprints,
            &self.knowledge.redaction_failures,
        );
        make(&self.classes.plan, arguments, self.py)
    }

    fn list<T>(
        &self,
        items: &[T],
        write: impl Fn(&T) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        for item in items {
            list.append(write(item)?)?;
        }
        Ok(list)
    }

    fn totals(&self, totals: &Totals) -> PyResult<Bound<'py, PyAny>> {
        let [frozen, standing, fresh, gained] =
            [totals.frozen, totals.standing, totals.fresh, totals.gained];
        let arguments = (
            number::to_python(self.py, frozen)?,
            number::to_python(self.py, standing)?,
            number::to_python(self.py, fresh)?,
            number::to_python(self.py, gained)?,
        );
        make(&self.classes.group_totals, arguments, self.py)
    }

    fn choice(
        &self,
        choice: &Choice<Replacement>,
        totals: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let occurrences = self.list(&choice.occurrences, |&index| self.candidate(index))?;
        let followers = self.list(&choice.followers, |&(index, group)| {
            let follower = (self.candidate(index)?, totals.get_item(group)?);
            Ok(follower.into_pyobject(self.py)?.into_any())
        })?;
        let first = choice.occurrences[0];
        let (prepared, path) = self.prepared(first, &occurrences)?;
        let arguments = (
            self.knowledge.key(first)?,
            occurrences,
            prepared,
            path,
            number::to_python(self.py, choice.preview_bytes)?,
            text::from_wtf8(self.py, &choice.replacement.text)?,
            totals.get_item(choice.group)?,
            followers,
        );
        make(&self.classes.choice, arguments, self.py)
    }

    /// A fresh result as `Prepared`, and the path that its replacement assumes.
    fn prepared(
        &self,
        first: usize,
        occurrences: &Bound<'py, PyList>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let prepared = self.knowledge.prepared(first);
        let Some((prepared, source)) =
            prepared.and_then(|prepared| Some((prepared, prepared.source()?)))
        else {
            return Err(error::internal(self.py, "a choice was never built"));
        };
        let parts = match prepared.redacted() {
            Some(redacted) => redacted,
            None => self.collected.places[first].texts.parts(),
        };
        let arguments = (
            make(&self.classes.fresh, (occurrences,), self.py)?,
            PyTuple::new(self.py, parts)?,
            source.head_text.clone(),
            source.size_bytes,
        );
        let made = make(&self.classes.prepared, arguments, self.py)?;
        Ok((made, source.path.clone()))
    }

    fn candidate(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        self.collected.candidate(index, self.classes, self.py)
    }

    fn adoption(&self, candidate: usize, text: &PyReplacement<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = (self.knowledge.key(candidate)?, text.as_object());
        let fields = fields.into_pyobject(self.py)?;
        self.classes.named_tuple(&self.classes.adoption, &fields)
    }

    fn change(&self, candidate: usize, text: &PyReplacement<'py>) -> PyResult<Bound<'py, PyAny>> {
        let place = &self.collected.places[candidate];
        let fields = (place.message_index, place.block_index, text.as_object());
        let fields = fields.into_pyobject(self.py)?;
        self.classes.named_tuple(&self.classes.change, &fields)
    }
}
