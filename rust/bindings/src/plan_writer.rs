//! Writing a core's plan as Python's.

use std::mem;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyList;
use toolbudget_core::Choice;

use crate::cache::FingerprintCache;
use crate::choices::{ChoiceParts, Choices, MoreParts};
use crate::classes::Classes;
use crate::collect::{Collected, counter};
use crate::error;
use crate::knowledge::PyKnowledge;
use crate::known::PyReplacement;
use crate::late_replacement::{LateReplacement, Wording};
use crate::number;
use crate::plan::CorePlan;
use crate::plan_items::{PlanItem, PlanItems};
use crate::settled::Settled;
use crate::totals::TotalsOfGroups;

/// Writes the plan of what was collected.
pub(crate) struct Writer<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collected: &'a Collected<'py>,
    cache: &'a Bound<'py, FingerprintCache>,
}

impl<'a, 'py> Writer<'a, 'py> {
    pub(crate) fn new(
        collected: &'a Collected<'py>,
        cache: &'a Bound<'py, FingerprintCache>,
    ) -> PyResult<Self> {
        let py = cache.py();
        Ok(Self {
            py,
            classes: Classes::get(py)?,
            collected,
            cache,
        })
    }

    /// Writes a plan; `before` is about messages that stand before those that it was made of.
    pub(crate) fn write(
        &self,
        plan: CorePlan<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
        before: Option<&Settled>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut sums = before.map_or_else(Settled::default, |before| before.clone_sums(self.py));
        let groups_before = sums.totals.len();
        sums.add_sums(&plan, self.collected);
        let totals = Bound::new(self.py, TotalsOfGroups::new(mem::take(&mut sums.totals)))?;
        let mut kept = Vec::with_capacity(plan.kept.len());
        for index in plan.kept {
            kept.push(knowledge.kept(index)?);
        }
        let adoptions = PyList::empty(self.py);
        for (candidate, text) in &plan.adoptions {
            adoptions.append(self.adoption(*candidate, text, knowledge)?)?;
        }
        let mut choices = Vec::with_capacity(plan.choices.len());
        for choice in plan.choices {
            choices.push(self.choice(choice, knowledge, groups_before)?);
        }
        let choices = Choices::new(
            choices,
            knowledge.window_chars(),
            knowledge.wording(),
            totals.clone().unbind(),
            self.cache,
        );
        let decided = Decided {
            choices: Bound::new(self.py, choices)?,
            kept,
            adoptions,
            redaction_failures: knowledge.redaction_failures.clone(),
        };
        decided.write(sums, totals, self.cache)
    }

    fn choice(
        &self,
        choice: Choice<LateReplacement>,
        knowledge: &mut PyKnowledge<'_, 'py>,
        groups_before: usize,
    ) -> PyResult<ChoiceParts> {
        let first = choice.first;
        Ok(ChoiceParts {
            fingerprint: knowledge.late_fingerprint(first)?,
            first: self.collected.candidate(first),
            preview_bytes: choice.preview_bytes,
            group: groups_before + choice.group,
            more: self.more(choice, knowledge, groups_before)?,
        })
    }

    /// What a choice has more than most.
    fn more(
        &self,
        choice: Choice<LateReplacement>,
        knowledge: &mut PyKnowledge<'_, 'py>,
        groups_before: usize,
    ) -> PyResult<Option<Box<MoreParts>>> {
        let source = knowledge.take_source(choice.first);
        let replacement = choice.replacement.text;
        if source.is_none() && replacement.is_some() {
            return Err(error::internal(self.py, "a choice was never built"));
        }
        if source.is_none() && choice.later.is_empty() && choice.followers.is_empty() {
            return Ok(None);
        }
        let own = |&index: &usize| self.collected.candidate(index);
        let followers = choice.followers.iter();
        let mut more = MoreParts {
            later: choice.later.iter().map(own).collect(),
            replacement,
            followers: followers
                .map(|(index, group)| (own(index), groups_before + *group))
                .collect(),
            ..MoreParts::default()
        };
        if let Some((redacted, source)) = source {
            more.redacted = redacted.map(|texts| texts.into_iter().map(Bound::unbind).collect());
            more.size_bytes = Some(source.size_bytes);
            more.shown = source.shown_at(choice.preview_bytes).cloned();
            more.path = Some(source.path.unbind());
        }
        Ok(Some(Box::new(more)))
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
}

/// Writes the plan of messages about which nothing was left to decide.
pub(crate) fn write_settled<'py>(
    mut sums: Settled,
    cache: &Bound<'py, FingerprintCache>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = cache.py();
    let totals = Bound::new(py, TotalsOfGroups::new(mem::take(&mut sums.totals)))?;
    let choices = Choices::new(
        Vec::new(),
        0,
        Wording::default(),
        totals.clone().unbind(),
        cache,
    );
    let decided = Decided {
        choices: Bound::new(py, choices)?,
        kept: Vec::new(),
        adoptions: PyList::empty(py),
        redaction_failures: PyList::empty(py),
    };
    decided.write(sums, totals, cache)
}

/// What a plan decides.
struct Decided<'py> {
    choices: Bound<'py, Choices>,
    kept: Vec<PlanItem>,
    adoptions: Bound<'py, PyList>,
    redaction_failures: Bound<'py, PyList>,
}

impl<'py> Decided<'py> {
    fn write(
        self,
        sums: Settled,
        totals: Bound<'py, TotalsOfGroups>,
        cache: &Bound<'py, FingerprintCache>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = cache.py();
        let classes = Classes::get(py)?;
        let values = [
            self.choices.into_any(),
            PlanItems::of(self.kept, cache)?.into_any(),
            self.adoptions.into_any(),
            PlanItems::of(sums.changes, cache)?.into_any(),
            totals.into_any(),
            counter(&sums.skipped, classes, py)?,
            sums.candidates.into_bound_py_any(py)?,
            number::to_python(py, sums.chars_before)?,
            number::to_python(py, sums.chars_gained)?,
            cache.clone().into_any(),
            self.redaction_failures.into_any(),
        ];
        classes.plan.make(py, values)
    }
}
