//! Planning a conversation that has grown, or has not: what stands is compared, not read again.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::PyList;
use toolbudget_core::Outline;

use crate::cache::{FingerprintCache, Memory};
use crate::collect::{Collected, Gathered};
use crate::knowledge::PyKnowledge;
use crate::known::Known;
use crate::options::PlanOptions;
use crate::outline::outline_of;
use crate::plan::CorePlan;
use crate::plan_writer::{Writer, write_settled};
use crate::raw::Readers;
use crate::settled::Settled;
use crate::standing::{Names, Standing, is_cut};
use crate::text::PyText;
use crate::walk::walk_part;

/// The last messages stay open: hosts move marks for their provider's cache among them.
const OPEN_MESSAGES: usize = 8;
/// The past grows by so many messages at least.
const LEAST_CLOSED_MESSAGES: usize = 16;

/// Plans as a full pass does, with what stands of the call before; `None` if that is of no use.
///
/// Whatever the plan depends on is compared. It is done in two parts: what runs Python code comes
/// first; then, until every message is read that was not compared, none runs.
pub(crate) fn plan_again<'py>(
    memory: &mut Memory,
    messages: &Bound<'py, PyAny>,
    known: &Known<'py>,
    options: &PlanOptions<'py>,
    cache: &Bound<'py, FingerprintCache>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(list) = messages.cast_exact::<PyList>() else {
        return Ok(None);
    };
    let mut names = Names::new(&options.is_exempt_tool);
    let Some(mut standing) = take_standing(memory, known, options, &mut names)? else {
        return Ok(None);
    };
    let same = standing.tape.count_same(list);
    if let Some(sums) = standing.sums_if_all_are_same(list, same) {
        memory.standing.trust();
        memory.standing.keep(standing);
        return write_settled(sums, cache).map(Some);
    }
    let Some(parts) = Parts::read(list, same, &mut standing, &mut memory.readers)? else {
        memory.standing.fail();
        return Ok(None);
    };
    let mut turn = Turn {
        memory,
        known,
        options,
        names,
        standing,
    };
    if !turn.close(parts.closed)? {
        turn.memory.standing.fail();
        return Ok(None);
    }
    turn.plan_rest(parts.rest, cache).map(Some)
}

/// Takes out what stands, or what can be begun anew, if this call can do anything with it.
fn take_standing<'py>(
    memory: &mut Memory,
    known: &Known<'py>,
    options: &PlanOptions<'py>,
    names: &mut Names<'_, 'py>,
) -> PyResult<Option<Standing>> {
    let Some(epoch_number) = memory.epoch_number() else {
        return Ok(None);
    };
    let is_for_nothing = known.is_part || known.is_undecided() || options.core.leaves_fresh;
    if is_for_nothing || memory.standing.must_wait() {
        return Ok(None);
    }
    let (py, unit) = (known.epoch.py(), options.core.budget.unit);
    let standing = memory.standing.take(py, unit, epoch_number)?;
    if standing.past.messages == 0 {
        // A past that is of no use any more, or was lost in a call that failed.
        memory.forget_past();
    }
    Ok(standing.holds(names, known)?.then_some(standing))
}

/// What was read of the messages behind the past.
struct Parts<'py> {
    /// What is to be made part of the past, if all of it is decided.
    closed: Option<(Outline<PyText<'py>>, Gathered<'py>)>,
    rest: Gathered<'py>,
}

impl<'py> Parts<'py> {
    /// Takes new messages down and reads all that are behind the past; `None` if the past is not the
    /// same, if Python code would run for it, or if what follows is not independent of the past.
    fn read(
        messages: &Bound<'py, PyList>,
        same: usize,
        standing: &mut Standing,
        readers: &mut Readers,
    ) -> PyResult<Option<Self>> {
        if same < standing.past.messages {
            return Ok(None);
        }
        standing.rest = None;
        standing.tape.truncate(same);
        for index in same..messages.len() {
            if !standing.tape.record(readers, &messages.get_item(index)?) {
                return Ok(None);
            }
        }
        let past = standing.past.messages;
        let all = past..messages.len();
        if past > 0 {
            let outline = outline_of(messages, all.clone(), readers)?;
            if !standing.past.is_independent_of(&outline) {
                return Ok(None);
            }
        }
        let Some(outline) = find_boundary(messages, all.clone(), readers)? else {
            let rest = gather(messages, all, readers)?;
            return Ok(Some(Self { closed: None, rest }));
        };
        let boundary = past + outline.boundary;
        let closed = gather(messages, past..boundary, readers)?;
        let rest = gather(messages, boundary..messages.len(), readers)?;
        let closed = Some((outline, closed));
        Ok(Some(Self { closed, rest }))
    }
}

fn gather<'py>(
    messages: &Bound<'py, PyList>,
    part: Range<usize>,
    readers: &mut Readers,
) -> PyResult<Gathered<'py>> {
    let gathered = Gathered::with_capacity(part.len());
    walk_part(messages, part, readers, gathered)
}

/// Finds the last place up to which messages could be made part of the past.
fn find_boundary<'py>(
    messages: &Bound<'py, PyList>,
    open: Range<usize>,
    readers: &mut Readers,
) -> PyResult<Option<Outline<PyText<'py>>>> {
    if open.len() < LEAST_CLOSED_MESSAGES + OPEN_MESSAGES {
        return Ok(None);
    }
    let part = open.start..open.end - OPEN_MESSAGES;
    let closed = outline_of(messages, part, readers)?;
    if closed.boundary == 0 {
        return Ok(None);
    }
    let behind = open.start + closed.boundary..open.end;
    let rest = outline_of(messages, behind, readers)?;
    Ok(is_cut(&closed, &rest).then_some(closed))
}

/// One call, after its messages were read.
struct Turn<'a, 'py> {
    memory: &'a mut Memory,
    known: &'a Known<'py>,
    options: &'a PlanOptions<'py>,
    names: Names<'a, 'py>,
    standing: Standing,
}

impl<'py> Turn<'_, 'py> {
    /// Makes messages part of the past; `false` if anything is left to decide about them.
    fn close(&mut self, closed: Option<(Outline<PyText<'py>>, Gathered<'py>)>) -> PyResult<bool> {
        let Some((outline, gathered)) = closed else {
            return Ok(true);
        };
        let known = self.known;
        let collected = self.finish(gathered)?;
        let (plan, mut knowledge) = make_plan(self.memory, &collected, known, self.options)?;
        let Some(settled) = Settled::of(&plan, &collected, &mut knowledge, known)? else {
            return Ok(false);
        };
        knowledge.make_past()?;
        self.standing.past.grow(&outline, settled);
        Ok(true)
    }

    fn plan_rest(
        mut self,
        gathered: Gathered<'py>,
        cache: &Bound<'py, FingerprintCache>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = self.known;
        let collected = self.finish(gathered)?;
        let (plan, mut knowledge) = make_plan(self.memory, &collected, known, self.options)?;
        let rest = Settled::of(&plan, &collected, &mut knowledge, known)?;
        let before = &self.standing.past.settled;
        let written = Writer::new(&collected, cache)?.write(plan, &mut knowledge, Some(before))?;
        self.memory.finish();
        self.standing.rest = rest;
        self.standing.remember_names(self.names);
        if self.standing.past.messages > 0 {
            self.memory.standing.trust();
        }
        self.memory.standing.keep(self.standing);
        Ok(written)
    }

    fn finish(&mut self, gathered: Gathered<'py>) -> PyResult<Collected<'py>> {
        gathered.finish(|name| self.names.is_exempt(name.as_object()))
    }
}

pub(crate) fn make_plan<'a, 'py>(
    memory: &'a mut Memory,
    collected: &'a Collected<'py>,
    known: &'a Known<'py>,
    options: &'a PlanOptions<'py>,
) -> PyResult<(CorePlan<'py>, PyKnowledge<'a, 'py>)> {
    let py = known.epoch.py();
    let mut knowledge = PyKnowledge::new(py, collected, known, options, memory)?;
    let plan = toolbudget_core::plan(&collected.survey, &options.core, &mut knowledge)?;
    Ok((plan, knowledge))
}
