//! Planning for a body: one crossing from its bytes to everything that is decided about it.

use std::mem;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use toolbudget_core::json::Name;
use toolbudget_core::{Choice, Replacement, Survey};

use crate::cache::FingerprintCache;
use crate::classes::Classes;
use crate::collect::counter;
use crate::error;
use crate::json_knowledge::JsonKnowledge;
use crate::json_scan::{JsonScan, Scanned};
use crate::json_standing::Standing;
use crate::known::{Known, PyReplacement};
use crate::number;
use crate::options::PlanOptions;
use crate::plan_items::{PlanItem, PlanItems};
use crate::prepared::Prepared;
use crate::styles;
use crate::text;
use crate::totals::TotalsOfGroups;

type CorePlan<'py> = toolbudget_core::Plan<PyReplacement<'py>, Replacement>;

/// Decides about every result of a body that is not decided yet.
pub(crate) fn plan<'py>(
    scan: &Bound<'py, JsonScan>,
    known: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = scan.py();
    let body = scan.get().body(py).as_bytes();
    scan.get().with(py, |scanned| {
        let options = PlanOptions::read(options)?;
        exempt(scanned, body, &options)?;
        let mut standing = mem::take(&mut scanned.standing);
        let written = plan_scanned(scanned, &mut standing, body, known, &options);
        scanned.standing = standing;
        written
    })
}

/// Asks which tools are exempt.
fn exempt(scanned: &mut Scanned, body: &[u8], options: &PlanOptions<'_>) -> PyResult<()> {
    let scan = &scanned.scan;
    scanned.survey.exempting(|name| {
        let name = text::from_wtf8(options.is_exempt_tool.py(), &scan.name_text(name, body))?;
        options.is_exempt_tool.call1((name,))?.is_truthy()
    })?;
    Ok(())
}

fn plan_scanned<'py>(
    scan: &Scanned,
    standing: &mut Standing,
    body: &[u8],
    known: &Bound<'py, PyAny>,
    options: &PlanOptions<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = known.py();
    let survey = scan.survey.survey();
    let known = Known::read(known)?;
    let mut knowledge = JsonKnowledge::new(py, scan, standing, body, known, &options.callbacks);
    let mut plan = toolbudget_core::plan(survey, &options.core, &mut knowledge)?;
    let totals = TotalsOfGroups::new(mem::take(&mut plan.totals));
    Writer {
        py,
        classes: Classes::get(py)?,
        scan,
        body,
        survey,
        knowledge: &knowledge,
    }
    .plan(&plan, Bound::new(py, totals)?)
}

/// Writes the core's plan as Python's.
struct Writer<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    scan: &'a Scanned,
    body: &'a [u8],
    survey: &'a Survey<Name>,
    knowledge: &'a JsonKnowledge<'a, 'py>,
}

impl<'py> Writer<'_, 'py> {
    fn plan(
        &self,
        plan: &CorePlan<'py>,
        totals: Bound<'py, TotalsOfGroups>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The scan keeps what the next call can use.
        let cache = Bound::new(self.py, FingerprintCache::new())?;
        let choices = self.list(&plan.choices, |choice| self.choice(choice, &totals))?;
        let kept = plan.kept.iter().map(|&kept| self.knowledge.kept(kept));
        let kept = PlanItems::of(kept.collect::<PyResult<_>>()?, &cache)?;
        let adoptions = self.list(&plan.adoptions, |(candidate, text)| {
            let fields = (self.knowledge.key(*candidate)?, text.as_object());
            let fields = fields.into_pyobject(self.py)?;
            self.classes.named_tuple(&self.classes.adoption, &fields)
        })?;
        let changes = plan.changes.iter();
        let changes = changes.map(|(candidate, text)| self.change(*candidate, text));
        let changes = PlanItems::of(changes.collect(), &cache)?;
        let values = [
            choices.into_any(),
            kept.into_any(),
            adoptions.into_any(),
            changes.into_any(),
            totals.into_any(),
            counter(&plan.skipped, self.classes, self.py)?,
            plan.candidates.into_bound_py_any(self.py)?,
            number::to_python(self.py, plan.chars_before)?,
            number::to_python(self.py, plan.chars_gained)?,
            cache.into_any(),
            self.knowledge.redaction_failures.clone().into_any(),
        ];
        self.classes.plan.make(self.py, values)
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

    fn choice(
        &self,
        choice: &Choice<Replacement>,
        totals: &Bound<'py, TotalsOfGroups>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let first = choice.first;
        let occurrences = self.list(&choice.later, |&index| self.candidate(index))?;
        occurrences.insert(0, self.candidate(first)?)?;
        let followers = self.list(&choice.followers, |&(index, group)| {
            let follower = (self.candidate(index)?, totals.get().object(self.py, group)?);
            Ok(follower.into_pyobject(self.py)?.into_any())
        })?;
        let (prepared, path) = self.prepared(first, &occurrences)?;
        let source = self.knowledge.prepared(first).and_then(Prepared::source);
        let shown = source.and_then(|source| source.shown_at(choice.preview_bytes));
        let values = [
            self.knowledge.key(first)?,
            occurrences.into_any(),
            prepared,
            path,
            number::to_python(self.py, choice.preview_bytes)?,
            text::from_wtf8(self.py, &choice.replacement.text)?.into_any(),
            totals.get().object(self.py, choice.group)?,
            styles::optional(self.py, shown)?,
            followers.into_any(),
        ];
        self.classes.choice.make(self.py, values)
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
            None => self.knowledge.decoded(first)?.texts.parts(),
        };
        let fresh = self
            .classes
            .fresh
            .make(self.py, [occurrences.clone().into_any()])?;
        let values = [
            fresh,
            PyTuple::new(self.py, parts)?.into_any(),
            text::joined_head(self.py, parts, self.knowledge.window_chars())?.into_any(),
            source.size_bytes.into_bound_py_any(self.py)?,
        ];
        let made = self.classes.prepared.make(self.py, values)?;
        Ok((made, source.path.clone()))
    }

    fn candidate(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let candidate = &self.survey.candidates()[index];
        let place = &self.scan.scan.results()[index];
        let decoded = self.knowledge.decoded(index)?;
        let tool_name = candidate.tool_name.as_ref();
        let tool_name = tool_name
            .map(|&name| text::from_wtf8(self.py, &self.scan.scan.name_text(name, self.body)))
            .transpose()?;
        let tool_use_id = self.scan.tool_use_id(index, self.body, self.py)?;
        let values = [
            tool_use_id.as_object().clone().into_any(),
            decoded.content.clone(),
            candidate.size_chars.into_bound_py_any(self.py)?,
            place.message_index.into_bound_py_any(self.py)?,
            place.block_index.into_bound_py_any(self.py)?,
            tool_name.into_bound_py_any(self.py)?,
            candidate.is_exempt.into_bound_py_any(self.py)?,
            decoded.texts.to_tuple(self.py)?.into_any(),
            self.py.None().into_bound(self.py),
        ];
        self.classes.candidate.make(self.py, values)
    }

    fn change(&self, candidate: usize, text: &PyReplacement<'py>) -> PlanItem {
        let place = &self.scan.scan.results()[candidate];
        PlanItem::Change {
            message_index: place.message_index,
            block_index: place.block_index,
            replacement: text.as_object().clone().unbind(),
        }
    }
}
