//! What stands from call to call: the beginning of a conversation, all of it decided.

use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use toolbudget_core::{Outline, Unit};

use crate::address::NumberSet;
use crate::cache::Memory;
use crate::known::Known;
use crate::links::Links;
use crate::raw::{Tape, is_same_text};
use crate::settled::Settled;
use crate::text::PyText;

/// A past that was of no use is followed by so many calls without one at most.
const MOST_CALLS_WITHOUT: u32 = 62;

/// The messages of the call before and what was found out about them.
pub(crate) struct Standing {
    /// What every message of that call depends on.
    pub(crate) tape: Tape,
    pub(crate) past: Past,
    /// About the messages behind the past, if that call decided nothing about them.
    pub(crate) rest: Option<Settled>,
    names: Vec<(Py<PyString>, bool)>,
    unit: Unit,
    epoch_number: u64,
}

/// The beginning of a conversation that nothing which follows can change any more.
///
/// All of it is decided, and every group of it has ended. It ends before an assistant message.
#[derive(Default)]
pub(crate) struct Past {
    pub(crate) messages: usize,
    pub(crate) settled: Settled,
    links: Links,
}

/// A [`Standing`] if there is one, and how long it is not worth while to make one.
#[derive(Default)]
pub(crate) struct KeptStanding {
    kept: Option<Standing>,
    failures: u32,
    calls_to_wait: u32,
}

impl KeptStanding {
    /// Takes out what stands under this token for this unit, or what can be begun anew.
    pub(crate) fn take(
        &mut self,
        py: Python<'_>,
        unit: Unit,
        epoch_number: u64,
    ) -> PyResult<Standing> {
        let is_of_use = |kept: &Standing| kept.unit == unit && kept.epoch_number == epoch_number;
        match self.kept.take().filter(is_of_use) {
            Some(kept) => Ok(kept),
            None => Standing::new(py, unit, epoch_number),
        }
    }

    /// Tells whether this call should do without, so that one in vain costs little in the long run.
    pub(crate) const fn must_wait(&mut self) -> bool {
        let must_wait = self.calls_to_wait > 0;
        self.calls_to_wait = self.calls_to_wait.saturating_sub(1);
        must_wait
    }

    /// Notes that what stood was of no use. After the first time nothing is waited for: a host may
    /// shorten its list.
    pub(crate) fn fail(&mut self) {
        self.calls_to_wait = ((1 << self.failures) - 1) * 2;
        self.calls_to_wait = self.calls_to_wait.min(MOST_CALLS_WITHOUT);
        self.failures = (self.failures + 1).min(5);
    }

    pub(crate) fn keep(&mut self, standing: Standing) {
        self.kept = Some(standing);
    }

    /// Notes that a past was of use.
    pub(crate) const fn trust(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn forget(&mut self) {
        self.kept = None;
    }
}

impl Memory {
    /// Lets go of what stands, so that everything is met again.
    pub(crate) fn forget_standing(&mut self) {
        self.standing.forget();
        self.forget_past();
    }
}

impl Standing {
    fn new(py: Python<'_>, unit: Unit, epoch_number: u64) -> PyResult<Self> {
        Ok(Self {
            tape: Tape::new(py)?,
            past: Past::default(),
            rest: None,
            names: Vec::new(),
            unit,
            epoch_number,
        })
    }

    /// Whether all that it depends on beside the messages is as it was.
    pub(crate) fn holds<'py>(
        &self,
        names: &mut Names<'_, 'py>,
        known: &Known<'py>,
    ) -> PyResult<bool> {
        let py = known.epoch.py();
        for (name, was_exempt) in &self.names {
            if names.is_exempt(name.bind(py))? != *was_exempt {
                return Ok(false);
            }
        }
        let rest = self.rest.as_ref();
        Ok(self.past.settled.has_same_references(known)?
            && rest.map_or(Ok(true), |rest| rest.has_same_references(known))?)
    }

    /// Remembers the answers about tools that it depends on from now on.
    pub(crate) fn remember_names(&mut self, names: Names<'_, '_>) {
        let answers = names.answers.into_iter();
        self.names = answers
            .map(|(name, is_exempt)| (name.unbind(), is_exempt))
            .collect();
    }

    /// What a list comes to of which the first `same` messages are as they were, if that is all of
    /// it, and nothing was left to decide.
    pub(crate) fn sums_if_all_are_same(
        &self,
        messages: &Bound<'_, PyList>,
        same: usize,
    ) -> Option<Settled> {
        let rest = self.rest.as_ref()?;
        if same != messages.len() || same != self.tape.len() {
            return None;
        }
        let mut sums = self.past.settled.clone_sums(messages.py());
        sums.append(rest.clone_sums(messages.py()));
        Some(sums)
    }
}

impl Past {
    /// Tells whether what follows has no call, result, answer or open group in common with it.
    pub(crate) fn is_independent_of(&self, rest: &Outline<PyText<'_>>) -> bool {
        // Without the answer that ended it, the last message may change again.
        (self.messages == 0 || rest.first_chain.is_some()) && self.links.are_apart_from(rest)
    }

    /// Takes the messages of an outline over up to its boundary, once they are settled.
    pub(crate) fn grow(&mut self, closed: &Outline<PyText<'_>>, settled: Settled) {
        self.messages += closed.boundary;
        self.settled.append(settled);
        self.links.grow(closed);
    }
}

/// Tells whether what stands before the boundary of an outline has no call, result, answer or open
/// group in common with what follows it.
pub(crate) fn is_cut(closed: &Outline<PyText<'_>>, rest: &Outline<PyText<'_>>) -> bool {
    let Some(first_chain) = &rest.first_chain else {
        return false;
    };
    let left: HashSet<_> = closed.open_chains.iter().collect();
    let mut going_on = rest.chains.iter().filter(|chain| *chain != first_chain);
    if going_on.any(|chain| left.contains(chain)) {
        return false;
    }
    let before = closed.ids.iter().take(closed.ids_before);
    let before: NumberSet = before.map(PyText::number).collect();
    !rest.ids.iter().any(|id| before.contains(&id.number()))
}

/// So many answers are looked through one by one: most conversations know no more tools.
const FEW_NAMES: usize = 16;

/// Which tools are exempt, each asked for once in a call.
pub(crate) struct Names<'a, 'py> {
    is_exempt_tool: &'a Bound<'py, PyAny>,
    answers: Vec<(Bound<'py, PyString>, bool)>,
    /// The answers again, once there are more than [`FEW_NAMES`].
    by_name: HashMap<PyText<'py>, bool>,
}

impl<'a, 'py> Names<'a, 'py> {
    pub(crate) fn new(is_exempt_tool: &'a Bound<'py, PyAny>) -> Self {
        Self {
            is_exempt_tool,
            answers: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    pub(crate) fn is_exempt(&mut self, name: &Bound<'py, PyString>) -> PyResult<bool> {
        if let Some(known) = self.find(name)? {
            return Ok(known);
        }
        let is_exempt = self.is_exempt_tool.call1((name,))?.is_truthy()?;
        self.answers.push((name.clone(), is_exempt));
        if self.answers.len() > FEW_NAMES {
            for (name, is_exempt) in &self.answers[self.by_name.len()..] {
                self.by_name.insert(PyText::new(name.clone())?, *is_exempt);
            }
        }
        Ok(is_exempt)
    }

    fn find(&self, name: &Bound<'py, PyString>) -> PyResult<Option<bool>> {
        if self.answers.len() > FEW_NAMES {
            return Ok(self.by_name.get(&PyText::new(name.clone())?).copied());
        }
        let mut answers = self.answers.iter();
        let known = answers.find(|(other, _)| is_same_text(other, name));
        Ok(known.map(|(_, is_exempt)| *is_exempt))
    }
}
