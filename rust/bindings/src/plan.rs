//! Planning: one crossing from a message list to everything that is decided about it.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use toolbudget_core::{Choice, Knowledge as _, Replacement};

use crate::cache::{FingerprintCache, Memory};
use crate::choices::{ChoiceParts, Choices};
use crate::classes::Classes;
use crate::collect::{Collected, counter};
use crate::error;
use crate::knowledge::PyKnowledge;
use crate::known::{Known, PyReplacement};
use crate::number;
use crate::options::PlanOptions;
use crate::plan_items::{PlanItem, PlanItems};
use crate::totals::TotalsOfGroups;

/// For how many results there is room from the beginning, if a list has as many messages.
const MOST_ROOM_AT_FIRST: usize = 4_096;

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
    // Of a first call nothing is known but the number of messages.
    let list = messages.cast_exact::<PyList>();
    let at_first = list.map_or(0, |list| list.len().min(MOST_ROOM_AT_FIRST));
    let expected = memory.len().max(at_first);
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
    .plan(plan, &mut knowledge)?;
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
        plan: CorePlan<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let totals = Bound::new(self.py, TotalsOfGroups::new(plan.totals))?;
        let mut kept = Vec::with_capacity(plan.kept.len());
        for index in plan.kept {
            kept.push(knowledge.kept(index)?);
        }
        let kept = PlanItems(kept);
        let adoptions = PyList::empty(self.py);
        for (candidate, text) in &plan.adoptions {
            adoptions.append(self.adoption(*candidate, text, knowledge)?)?;
        }
        let mut choices = Vec::with_capacity(plan.choices.len());
        for choice in plan.choices {
            choices.push(self.choice(choice, knowledge)?);
        }
        let choices = Choices::new(choices, totals.clone().unbind());
        let changes = plan.changes.iter();
        let changes = PlanItems(
            changes
                .map(|(index, text)| self.change(*index, text))
                .collect(),
        );
        let values = [
            Bound::new(self.py, choices)?.into_any(),
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

    fn choice(
        &self,
        choice: Choice<Replacement>,
        knowledge: &mut PyKnowledge<'_, 'py>,
    ) -> PyResult<ChoiceParts> {
        let [first, later @ ..] = choice.occurrences.as_slice() else {
            return Err(error::internal(self.py, "a choice of nothing"));
        };
        let Some((redacted, source)) = knowledge.take_source(*first) else {
            return Err(error::internal(self.py, "a choice was never built"));
        };
        let shown = source.shown_at(choice.preview_bytes).cloned();
        let own = |&index: &usize| self.collected.candidate(index);
        let followers = choice.followers.iter();
        Ok(ChoiceParts {
            fingerprint: knowledge.fingerprint(*first)?,
            first: own(first),
            later: later.iter().map(own).collect(),
            redacted: redacted.map(|texts| texts.into_iter().map(Bound::unbind).collect()),
            head_text: source.head_text.unbind(),
            size_bytes: source.size_bytes,
            path: source.path.unbind(),
            preview_bytes: choice.preview_bytes,
            replacement: choice.replacement.text,
            group: choice.group,
            shown,
            followers: followers
                .map(|(index, group)| (own(index), *group))
                .collect(),
        })
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
