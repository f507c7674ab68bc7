//! Planning: one crossing from a message list to everything that is decided about it.

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::cache::{FingerprintCache, Memory};
use crate::classes::Classes;
use crate::collect::{Collected, MOST_ROOM};
use crate::knowledge::PyKnowledge;
use crate::known::{Known, PyReplacement};
use crate::late_replacement::LateReplacement;
use crate::options::PlanOptions;
use crate::plan_again::plan_again;
use crate::plan_items::PlanItems;
use crate::plan_writer::Writer;
use crate::totals::TotalsOfGroups;

pub(crate) type CorePlan<'py> = toolbudget_core::Plan<PyReplacement<'py>, LateReplacement>;

/// Every other message may hold several results; to grow while they are read takes longer than
/// room that is never used.
const USUAL_RESULTS_OF_A_MESSAGE: usize = 4;

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
    memory.end();
    cache.get().put(memory);
    plan
}

/// The cache of the call before, if it is one of this core's, else a new one.
pub(crate) fn own_cache<'py>(known: &Bound<'py, PyAny>) -> PyResult<Bound<'py, FingerprintCache>> {
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
    let zero = 0_usize.into_bound_py_any(py)?;
    let items = PlanItems::of(Vec::new(), &cache)?.into_any();
    let values = [
        items.clone(),
        items.clone(),
        items.clone(),
        items.clone(),
        TotalsOfGroups::empty(py)?.into_any(),
        classes.counter.make(py, [])?,
        zero.clone(),
        zero.clone(),
        zero,
        cache.into_any(),
        items,
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
    if let Some(plan) = plan_again(memory, messages, known, options, cache)? {
        return Ok(plan);
    }
    memory.forget_standing();
    // Of a first call nothing is known but the number of messages.
    let list = messages.cast_exact::<PyList>();
    let at_first = list.map_or(0, |list| {
        let usual = list.len().saturating_mul(USUAL_RESULTS_OF_A_MESSAGE);
        usual.min(MOST_ROOM)
    });
    let expected = memory.len().max(at_first);
    let collected = Collected::of(
        messages,
        &options.is_exempt_tool,
        &mut memory.readers,
        expected,
    )?;
    let mut knowledge = PyKnowledge::new(py, &collected, known, options, memory)?;
    let plan = toolbudget_core::plan(&collected.survey, &options.core, &mut knowledge)?;
    let written = Writer::new(&collected, cache)?.write(plan, &mut knowledge, None)?;
    memory.finish();
    Ok(written)
}
