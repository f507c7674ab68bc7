//! What a part of a conversation comes to about which nothing is left to decide.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use toolbudget_core::{Skipped, Totals};

use crate::address::NumberMap;
use crate::collect::Collected;
use crate::knowledge::PyKnowledge;
use crate::known::{Known, PyReplacement};
use crate::plan::CorePlan;
use crate::plan_items::PlanItem;
use crate::text;

/// What a plan that decides nothing says, and which texts it depends on beside the messages.
#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) changes: Vec<PlanItem>,
    pub(crate) totals: Vec<Totals>,
    pub(crate) skipped: Skipped,
    pub(crate) candidates: u64,
    pub(crate) chars_before: i128,
    pub(crate) chars_gained: i128,
    kept: KeptTexts,
}

/// Texts that were kept, by their size in characters.
///
/// One is counted as a reference from the moment that a replacement of the same text is made.
#[derive(Default)]
struct KeptTexts {
    by_size: NumberMap<Vec<KeptText>>,
    /// How many of them are known replacements.
    known: usize,
}

struct KeptText {
    parts: Box<[Py<PyString>]>,
    is_known: bool,
}

impl Settled {
    /// What a plan says; `None` if it decides anything.
    pub(crate) fn of<'py>(
        plan: &CorePlan<'py>,
        collected: &Collected<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
        known: &Known<'py>,
    ) -> PyResult<Option<Self>> {
        if decides(plan) {
            return Ok(None);
        }
        let mut settled = Self::default();
        settled.add_sums(plan, collected);
        settled.kept = KeptTexts::of(collected, knowledge, known)?;
        Ok(Some(settled))
    }

    /// Adds what a plan has counted, and the replacements that it puts in again.
    pub(crate) fn add_sums<'py>(&mut self, plan: &CorePlan<'py>, collected: &Collected<'py>) {
        let changes = plan.changes.iter();
        self.changes
            .extend(changes.map(|(index, text)| change(collected, *index, text)));
        self.totals.extend_from_slice(&plan.totals);
        self.skipped.add_all(&plan.skipped);
        self.candidates += plan.candidates;
        self.chars_before += plan.chars_before;
        self.chars_gained += plan.chars_gained;
    }

    /// Goes on with what follows.
    pub(crate) fn append(&mut self, rest: Self) {
        self.changes.extend(rest.changes);
        self.totals.extend(rest.totals);
        self.skipped.add_all(&rest.skipped);
        self.candidates += rest.candidates;
        self.chars_before += rest.chars_before;
        self.chars_gained += rest.chars_gained;
        self.kept.append(rest.kept);
    }

    /// The same without the texts.
    pub(crate) fn clone_sums(&self, py: Python<'_>) -> Self {
        let changes = self.changes.iter();
        Self {
            changes: changes.map(|change| change.clone_ref(py)).collect(),
            totals: self.totals.clone(),
            skipped: self.skipped.clone(),
            candidates: self.candidates,
            chars_before: self.chars_before,
            chars_gained: self.chars_gained,
            kept: KeptTexts::default(),
        }
    }

    /// Whether the same of its texts are known replacements as when it was made.
    pub(crate) fn has_same_references(&self, known: &Known<'_>) -> PyResult<bool> {
        let Some(replacements) = known.all_replacements() else {
            return Ok(false);
        };
        // What is found is asked afterwards: to compare texts may run Python code.
        let mut found = Vec::new();
        for (size, texts) in replacements.iter() {
            let Ok(size) = size.cast_exact::<PyInt>() else {
                return Ok(false);
            };
            let size = size.extract::<usize>().ok();
            if let Some(kept) = size.and_then(|size| self.kept.by_size.get(&size)) {
                found.push((kept, texts));
            }
        }
        let mut known = 0;
        for (kept, texts) in found {
            for text in kept {
                if text.is_in(&texts)? != text.is_known {
                    return Ok(false);
                }
                known += usize::from(text.is_known);
            }
        }
        Ok(known == self.kept.known)
    }
}

/// Whether anything is to be stored or recorded.
pub(crate) const fn decides(plan: &CorePlan<'_>) -> bool {
    !(plan.choices.is_empty() && plan.kept.is_empty() && plan.adoptions.is_empty())
}

/// A recorded replacement that is put in again.
pub(crate) fn change<'py>(
    collected: &Collected<'py>,
    candidate: usize,
    text: &PyReplacement<'py>,
) -> PlanItem {
    let place = &collected.places[candidate];
    PlanItem::Change {
        message_index: place.message_index,
        block_index: place.block_index,
        replacement: text.as_object().clone().unbind(),
    }
}

impl KeptTexts {
    fn of<'py>(
        collected: &Collected<'py>,
        knowledge: &mut PyKnowledge<'_, 'py>,
        known: &Known<'py>,
    ) -> PyResult<Self> {
        let mut kept = Self::default();
        for (index, candidate) in collected.survey.candidates().iter().enumerate() {
            if candidate.is_exempt || !knowledge.is_kept_text(index)? {
                continue;
            }
            let parts = collected.places[index].texts.parts().iter();
            let mut text = KeptText {
                parts: parts.map(|part| part.clone().unbind()).collect(),
                is_known: false,
            };
            if let Some(same_length) = known.replacements(candidate.size_chars)? {
                text.is_known = text.is_in(&same_length)?;
                kept.known += usize::from(text.is_known);
            }
            let size = usize::try_from(candidate.size_chars).unwrap_or(usize::MAX);
            kept.by_size.entry(size).or_default().push(text);
        }
        Ok(kept)
    }

    fn append(&mut self, others: Self) {
        self.known += others.known;
        for (size, texts) in others.by_size {
            self.by_size.entry(size).or_default().extend(texts);
        }
    }
}

impl KeptText {
    fn is_in(&self, texts: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = texts.py();
        let parts: Vec<_> = self
            .parts
            .iter()
            .map(|part| part.bind(py).clone())
            .collect();
        texts.contains(text::join(py, &parts)?)
    }
}
