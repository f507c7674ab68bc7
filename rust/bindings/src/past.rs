//! The beginning of a conversation that nothing which follows can change any more.

use std::mem;
use std::sync::{Mutex, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolbudget_core::{Outline, Skipped, Totals};

use crate::cache::{FingerprintCache, Memory};
use crate::classes::Classes;
use crate::collect::{Collected, Gathered};
use crate::error;
use crate::guard::guarded;
use crate::known::Known;
use crate::links::{self, Links};
use crate::lookups;
use crate::number;
use crate::options::{PlanOptions, ReadOptions};
use crate::outline::outline_of;
use crate::plan::{CorePlan, own_cache};
use crate::plan_again::make_plan;
use crate::plan_items::PlanItems;
use crate::plan_writer::Writer;
use crate::raw;
use crate::rewrite::rewrite_again;
use crate::settled::{change, decides};
use crate::spares::Spares;
use crate::standing::Names;
use crate::text::PyText;
use crate::totals::{self, TotalsOfGroups};
use crate::walk::walk_part;

/// Messages, what has become of each, and what was found out about them.
#[pyclass(frozen, module = "toolbudget._core._native")]
pub(crate) struct Past {
    inputs: Py<PyList>,
    outputs: Py<PyList>,
    /// A call takes it out and puts it back at its end: one that is made meanwhile finds nothing.
    found: Mutex<Option<Box<Found>>>,
}

/// What was found out about a past.
#[derive(Default)]
struct Found {
    links: Links,
    is_changed: bool,
    spares: Spares,
    options: Option<ReadOptions>,
    groups: usize,
    candidates: u64,
    reapplied: usize,
    skipped: Skipped,
    chars_before: i128,
    chars_gained: i128,
    over_limit_chars: i128,
}

#[pymethods]
impl Past {
    #[new]
    #[pyo3(signature = ())]
    fn new(py: Python<'_>) -> Self {
        Self {
            inputs: PyList::empty(py).unbind(),
            outputs: PyList::empty(py).unbind(),
            found: Mutex::new(Some(Box::default())),
        }
    }

    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.inputs.bind(py).clone()
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.outputs.bind(py).clone()
    }

    #[getter]
    fn sums<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let Some(found) = self.take() else {
                return Err(in_use(py));
            };
            let sums = found.sums(py);
            self.put(found);
            sums
        })
    }

    #[pyo3(signature = (output, /))]
    fn join<'py>(&self, output: &Bound<'py, PyList>) -> PyResult<Option<Bound<'py, PyList>>> {
        let py = output.py();
        guarded(py, || {
            let Some(mut found) = self.take() else {
                return Err(in_use(py));
            };
            let outputs = self.outputs.bind(py);
            let is_changed = found.is_changed;
            let joined = is_changed.then(|| found.spares.joined(outputs, output));
            self.put(found);
            joined.transpose()
        })
    }

    #[pyo3(signature = ())]
    fn rewritten<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        guarded(py, || {
            let pairs = PyList::empty(py);
            let outputs = self.outputs.bind(py).iter();
            for (message, output) in self.inputs.bind(py).iter().zip(outputs) {
                if !message.is(&output) {
                    pairs.append(message)?;
                    pairs.append(output)?;
                }
            }
            Ok(pairs)
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The lists themselves are what a cycle is cut at.
        visit.call(&self.inputs)?;
        visit.call(&self.outputs)?;
        let Ok(found) = self.found.try_lock() else {
            return Ok(());
        };
        let Some(found) = found.as_ref() else {
            return Ok(());
        };
        found.spares.lists().try_for_each(|list| visit.call(list))?;
        let options = found.options.iter().flat_map(ReadOptions::objects);
        options
            .into_iter()
            .try_for_each(|object| visit.call(object))
    }
}

impl Past {
    fn take(&self) -> Option<Box<Found>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.take()
    }

    fn put(&self, found: Box<Found>) {
        let mut place = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(found);
    }
}

/// Decides about what follows a past in a list; `None` if only a plan of the whole list is sure to
/// be right.
pub(crate) fn plan_rest<'py>(
    past: &Bound<'py, Past>,
    messages: &Bound<'py, PyList>,
    known: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
    earlier: &Bound<'py, PyList>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyList>)>> {
    let py = messages.py();
    let inputs = past.get().inputs.bind(py);
    if !raw::begins_with(messages, inputs) {
        return Ok(None);
    }
    // Nobody else has it, so that nothing changes it.
    let rest = messages.get_slice(inputs.len(), messages.len());
    let known = Known::read(known)?;
    let cache = own_cache(&known.fingerprints)?;
    let Some(mut found) = past.get().take() else {
        return Err(in_use(py));
    };
    let options = match Options::read(options, &mut found.options) {
        Ok(options) => options,
        Err(problem) => {
            past.get().put(found);
            return Err(problem);
        }
    };
    let mut turn = Turn {
        past: past.get(),
        found: &mut found,
        names: Names::new(&options.read.is_exempt_tool),
        memory: cache.get().take().unwrap_or_else(|| Memory::new(py)),
        known: &known,
        options: &options,
        cache: &cache,
    };
    let planned = turn.plan(rest, earlier);
    turn.memory.end();
    cache.get().put(turn.memory);
    past.get().put(found);
    match planned {
        // A plan of the whole list finds it too, and names its place there.
        Err(problem) if error::is_invalid_message(&problem, py)? => Ok(None),
        planned => planned,
    }
}

/// The options of a call, as the core takes them and as the host gave them.
struct Options<'py> {
    read: PlanOptions<'py>,
    given: Bound<'py, PyAny>,
}

impl<'py> Options<'py> {
    /// Reads them, unless they are those of the call before.
    fn read(options: &Bound<'py, PyAny>, known: &mut Option<ReadOptions>) -> PyResult<Self> {
        let given = options.clone();
        if let Some(known) = known.as_ref().filter(|known| known.is_of(options)) {
            let read = known.to_options(options.py());
            return Ok(Self { read, given });
        }
        let read = PlanOptions::read(options)?;
        *known = ReadOptions::of(options, &read)?;
        Ok(Self { read, given })
    }

    /// By how much groups are over the limit, together.
    fn excess(&self, totals: Vec<Totals>) -> PyResult<i128> {
        let budget = &self.read.core.budget;
        let is_over = |one: &Totals| {
            let visible = one.visible(budget.accounting);
            budget.limit.is_exceeded_by(visible)
        };
        if !totals.iter().any(is_over) {
            return Ok(0);
        }
        let py = self.given.py();
        let limit = self.given.getattr(intern!(py, "limit"))?;
        let accounting = self.given.getattr(intern!(py, "accounting"))?;
        let totals = Bound::new(py, TotalsOfGroups::new(totals))?;
        let over = totals::over(&totals, &limit, &accounting)?;
        lookups::EXCESS
            .get(py)?
            .call1((over, limit, accounting))?
            .extract()
    }
}

/// One call about a past.
struct Turn<'a, 'py> {
    past: &'a Past,
    found: &'a mut Found,
    names: Names<'a, 'py>,
    memory: Box<Memory>,
    known: &'a Known<'py>,
    options: &'a Options<'py>,
    cache: &'a Bound<'py, FingerprintCache>,
}

impl<'py> Turn<'_, 'py> {
    fn plan(
        &mut self,
        rest: Bound<'py, PyList>,
        earlier: &Bound<'py, PyList>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyList>)>> {
        let py = rest.py();
        let readers = &mut self.memory.readers;
        let outline = outline_of(&rest, 0..rest.len(), readers)?;
        // Without the answer that ended it, the last message of the past may change again.
        let is_ended = outline.first_chain.is_some() || self.past.inputs.bind(py).is_empty();
        if !is_ended || !self.found.links.are_apart_from(&outline) {
            return Ok(None);
        }
        let (mut part, mut ids) = (rest, outline.ids.len());
        if outline.boundary > 0 && self.close(&part, &outline, earlier)? {
            part = part.get_slice(outline.boundary, part.len());
            ids -= outline.ids_before;
        }
        let collected = self.collect(&part, ids)?;
        let (plan, mut knowledge) =
            make_plan(&mut self.memory, &collected, self.known, &self.options.read)?;
        let written = Writer::new(&collected, self.cache)?.write(plan, &mut knowledge, None)?;
        self.memory.finish();
        Ok(Some((written, part)))
    }

    /// Makes the messages before the boundary part of the past, if all of them is decided.
    fn close(
        &mut self,
        rest: &Bound<'py, PyList>,
        outline: &Outline<PyText<'py>>,
        earlier: &Bound<'py, PyList>,
    ) -> PyResult<bool> {
        if !links::are_parts_apart(outline) {
            return Ok(false);
        }
        let closed = rest.get_slice(0, outline.boundary);
        let collected = self.collect(&closed, outline.ids_before)?;
        let (plan, _) = make_plan(&mut self.memory, &collected, self.known, &self.options.read)?;
        if decides(&plan) {
            return Ok(false);
        }
        let output = self.rewrite(&closed, &plan, &collected, earlier)?;
        self.found.add(plan, self.options)?;
        self.found.links.grow(outline);
        extend(self.past.inputs.bind(rest.py()), closed.as_any())?;
        extend(self.past.outputs.bind(rest.py()), &output)?;
        Ok(true)
    }

    /// Collects what a part of the messages holds, in which so many ids occur.
    fn collect(&mut self, part: &Bound<'py, PyList>, ids: usize) -> PyResult<Collected<'py>> {
        self.memory.begin(&self.known.epoch);
        self.memory.forget_standing();
        // Each result shares its id with a call.
        let gathered = Gathered::with_capacity(ids / 2);
        let gathered = walk_part(part, 0..part.len(), &mut self.memory.readers, gathered)?;
        gathered.finish(|name| self.names.is_exempt(name.as_object()))
    }

    fn rewrite(
        &mut self,
        closed: &Bound<'py, PyList>,
        plan: &CorePlan<'py>,
        collected: &Collected<'py>,
        earlier: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if plan.changes.is_empty() {
            return Ok(closed.clone().into_any());
        }
        self.found.is_changed = true;
        let changes = plan.changes.iter();
        let changes = changes.map(|(index, text)| change(collected, *index, text));
        let changes = PlanItems::of(changes.collect(), self.cache)?;
        let (output, _) = rewrite_again(closed.as_any(), changes.as_any(), earlier.as_any())?;
        Ok(output)
    }
}

impl Found {
    /// Adds what a plan that decides nothing has counted.
    fn add(&mut self, mut plan: CorePlan<'_>, options: &Options<'_>) -> PyResult<()> {
        self.groups += plan.totals.len();
        self.candidates += plan.candidates;
        self.reapplied += plan.changes.len();
        self.skipped.add_all(&plan.skipped);
        self.chars_before += plan.chars_before;
        self.chars_gained += plan.chars_gained;
        self.over_limit_chars += options.excess(mem::take(&mut plan.totals))?;
        Ok(())
    }

    fn sums<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let skipped = PyDict::new(py);
        for (reason, count) in self.skipped.iter() {
            skipped.set_item(reason.name(), count)?;
        }
        let fields = (
            self.groups,
            self.candidates,
            self.reapplied,
            skipped,
            number::to_python(py, self.chars_before)?,
            number::to_python(py, self.chars_gained)?,
            number::to_python(py, self.over_limit_chars)?,
        );
        let classes = Classes::get(py)?;
        classes.named_tuple(&classes.sums, &fields.into_pyobject(py)?)
    }
}

fn extend<'py>(list: &Bound<'py, PyList>, items: &Bound<'py, PyAny>) -> PyResult<()> {
    list.set_slice(list.len(), list.len(), items)
}

fn in_use(py: Python<'_>) -> PyErr {
    error::internal(py, "a past is asked for while it is worked on")
}
