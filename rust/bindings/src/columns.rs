//! Columns: one crossing from a message list to numbers, without an object of Python's per result.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use toolbudget_core::{
    Before, Call, Chain, ColumnCollector, Columns, Decision, Found, Numbers, REFERENCE_MAX_CHARS,
    Recorded as _, SkipReason,
};

use crate::classes::Classes;
use crate::collect::{Place, counter};
use crate::known::Known;
use crate::lookups;
use crate::raw::Readers;
use crate::text::{self, PyText, ThinText};
use crate::texts::Texts;
use crate::walk::{Sink, walk};

/// Collects the results of a message list as columns.
pub(crate) fn columns<'py>(
    messages: &Bound<'py, PyAny>,
    known: Option<&Bound<'py, PyAny>>,
    is_exempt_tool: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = Rows {
        py: messages.py(),
        classes: Classes::get(messages.py())?,
        collector: ColumnCollector::new(),
        known: known.map(Known::read).transpose()?,
    };
    let rows = walk(messages, &mut Readers::new(messages.py()), rows)?;
    let columns = rows.collector.finish(|name| {
        let is_exempt = is_exempt_tool.call1((name.as_object(),))?;
        is_exempt.is_truthy()
    })?;
    write(columns, messages.py())
}

/// Turns what is met into rows.
struct Rows<'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collector: ColumnCollector<ThinText<'py>>,
    known: Option<Known<'py>>,
}

impl<'py> Sink<'py> for Rows<'py> {
    #[inline]
    fn begin_assistant(
        &mut self,
        _message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    ) {
        self.collector
            .begin_assistant(thin_chain(chain), message_id.map(ThinText::from));
    }

    #[inline]
    fn begin_user(&mut self, message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()> {
        Ok(self
            .collector
            .begin_user(message_index, thin_chain(chain))?)
    }

    #[inline]
    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>) {
        let call = Call {
            tool_name: call.tool_name.map(ThinText::from),
            is_for_code: call.is_for_code,
        };
        self.collector.add_call(tool_use_id.into(), call);
    }

    #[inline]
    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()> {
        let before = self.before(&found, &place.texts)?;
        let found = Found {
            tool_use_id: ThinText::from(found.tool_use_id),
            size_chars: found.size_chars,
            has_toolset: found.has_toolset,
        };
        self.collector
            .add_result(found, place.block_index, before)?;
        Ok(())
    }

    #[inline]
    fn skip(&mut self, reason: SkipReason) {
        self.collector.skip(reason);
    }
}

impl<'py> Rows<'py> {
    /// What held about a result before. A decision to keep a reference says nothing more about it.
    fn before(&self, found: &Found<PyText<'py>>, texts: &Texts<'py>) -> PyResult<Before> {
        let decided = self.decided(found, texts)?;
        if matches!(decided, Before::Replaced(_)) || !self.is_reference(found.size_chars, texts)? {
            return Ok(decided);
        }
        Ok(Before::Reference)
    }

    fn decided(&self, found: &Found<PyText<'py>>, texts: &Texts<'py>) -> PyResult<Before> {
        let Some(known) = &self.known else {
            return Ok(Before::Fresh);
        };
        let foreign = known.unapplied(&found.tool_use_id)?;
        if foreign.is_none() && !known.has_decisions(&found.tool_use_id)? {
            return Ok(Before::Fresh);
        }
        let fingerprint = text::fingerprint(texts.parts())?;
        let decision = known.decision(self.classes, &found.tool_use_id, || Ok(fingerprint))?;
        Ok(match (decision, foreign) {
            (Some(Decision::Replaced(replacement)), _) => {
                Before::Replaced(replacement.size_chars())
            }
            (Some(Decision::Kept), _) => Before::Kept,
            (None, Some(foreign)) => Before::Claimed(fingerprint, foreign.size_chars()),
            (None, None) => Before::Fresh,
        })
    }

    fn is_reference(&self, size_chars: u64, texts: &Texts<'py>) -> PyResult<bool> {
        if let Some(known) = &self.known
            && let Some(same_length) = known.replacements(size_chars)?
            && same_length.contains(text::join(self.py, texts.parts())?)?
        {
            return Ok(true);
        }
        Ok(size_chars <= REFERENCE_MAX_CHARS && text::is_framed(self.py, texts.parts())?)
    }
}

/// Writes the columns as `Columns`. Each one is let go of before the next one is copied.
fn write<'py>(columns: Columns<ThinText<'py>>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let (rows, replacement_chars): (Vec<i32>, Vec<u64>) = columns.replaced.into_iter().unzip();
    let fields = (
        to_bytes(py, columns.group, i32::to_ne_bytes)?,
        to_bytes(py, columns.message, i32::to_ne_bytes)?,
        numbers_to_bytes(py, columns.block, |block| whole(block).to_ne_bytes())?,
        numbers_to_bytes(py, columns.size_chars, u64::to_ne_bytes)?,
        // The first name is 1 in the core, and 0 here; -1 is none.
        numbers_to_bytes(py, columns.tool, |tool| (whole(tool) - 1).to_ne_bytes())?,
        to_bytes(py, columns.standing, |standing| [standing as u8])?,
        to_bytes(py, rows, i32::to_ne_bytes)?,
        to_bytes(py, replacement_chars, u64::to_ne_bytes)?,
        to_bytes(py, columns.is_followed, |is_followed| [is_followed.into()])?,
        PyTuple::new(py, columns.tool_names.iter().map(ThinText::as_object))?,
        counter(&columns.skipped, Classes::get(py)?, py)?,
    );
    lookups::COLUMNS.get(py)?.call1(fields)
}

fn to_bytes<const N: usize, V>(
    py: Python<'_>,
    column: Vec<V>,
    write: impl Fn(V) -> [u8; N],
) -> PyResult<Bound<'_, PyBytes>> {
    let rows = column.len();
    cells(py, rows, column.into_iter().map(write))
}

fn numbers_to_bytes<const N: usize>(
    py: Python<'_>,
    column: Numbers,
    write: impl Fn(u64) -> [u8; N],
) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = cells(py, column.len(), column.iter().map(write));
    drop(column);
    bytes
}

fn cells<const N: usize>(
    py: Python<'_>,
    rows: usize,
    values: impl Iterator<Item = [u8; N]>,
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, rows * N, |bytes| {
        let (cells, _) = bytes.as_chunks_mut::<N>();
        for (cell, value) in cells.iter_mut().zip(values) {
            *cell = value;
        }
        Ok(())
    })
}

/// A position or a code: the core refuses those that do not fit.
fn whole(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn thin_chain(chain: Chain<PyText<'_>>) -> Chain<ThinText<'_>> {
    Chain {
        is_sidechain: chain.is_sidechain,
        agent_id: chain.agent_id.map(ThinText::from),
    }
}
