//! Columns: one crossing from a message list to numbers, without an object of Python's per result.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use toolbudget_core::{
    Call, Chain, ColumnCollector, Columns, Decision, Fingerprint, Found, REFERENCE_MAX_CHARS,
    Recorded as _, Sizes, SkipReason, Standing,
};

use crate::classes::Classes;
use crate::collect::{Place, Sink, counter, walk};
use crate::known::Known;
use crate::text::{self, PyText};
use crate::texts::Texts;

/// Collects the results of a message list as columns.
pub(crate) fn columns<'py>(
    messages: &Bound<'py, PyAny>,
    known: Option<&Bound<'py, PyAny>>,
    is_exempt_tool: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut rows = Rows {
        py: messages.py(),
        collector: ColumnCollector::new(),
        known: known.map(Known::read).transpose()?,
        claims: Vec::new(),
    };
    walk(messages, &mut rows)?;
    rows.adopt();
    let columns = rows.collector.finish(|name| {
        let is_exempt = is_exempt_tool.call1((name.as_object(),))?;
        is_exempt.is_truthy()
    })?;
    write(columns, messages.py())
}

/// Turns what is met into rows.
struct Rows<'py> {
    py: Python<'py>,
    collector: ColumnCollector<PyText<'py>>,
    known: Option<Known<'py>>,
    claims: Vec<Claim<'py>>,
}

/// An undecided result that another program's replacement, known by the id alone, would fit.
struct Claim<'py> {
    group: i32,
    row: i32,
    tool_use_id: PyText<'py>,
    fingerprint: Fingerprint,
    replacement_chars: u64,
}

/// What is known about one result beside what its row says.
#[derive(Default)]
struct Earlier {
    /// Characters of its recorded replacement.
    replacement_chars: Option<u64>,
    /// Its fingerprint, and the characters of a replacement without one.
    claim: Option<(Fingerprint, u64)>,
}

impl<'py> Sink<'py> for Rows<'py> {
    fn begin_assistant(
        &mut self,
        _message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    ) {
        self.collector.begin_assistant(chain, message_id);
    }

    fn begin_user(&mut self, message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()> {
        Ok(self.collector.begin_user(message_index, chain)?)
    }

    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>) {
        self.collector.add_call(tool_use_id, call);
    }

    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()> {
        let (standing, earlier) = self.standing(&found, &place.texts)?;
        let claimed = earlier
            .claim
            .map(|claim| (claim, found.tool_use_id.clone()));
        let (row, group) = self
            .collector
            .add_result(found, place.block_index, standing)?;
        if let Some(replacement_chars) = earlier.replacement_chars {
            self.collector.replace(row, replacement_chars);
        }
        if let Some(((fingerprint, replacement_chars), tool_use_id)) = claimed {
            self.claims.push(Claim {
                group,
                row,
                tool_use_id,
                fingerprint,
                replacement_chars,
            });
        }
        Ok(())
    }

    fn skip(&mut self, reason: SkipReason) {
        self.collector.skip(reason);
    }
}

impl<'py> Rows<'py> {
    /// What holds about a result, its tool aside.
    fn standing(
        &self,
        found: &Found<PyText<'py>>,
        texts: &Texts<'py>,
    ) -> PyResult<(Standing, Earlier)> {
        let mut earlier = Earlier::default();
        let mut undecided = Standing::Fresh;
        if let Some(known) = &self.known {
            let foreign = known.unapplied(&found.tool_use_id)?;
            if foreign.is_some() || known.has_decisions(&found.tool_use_id)? {
                let fingerprint = text::fingerprint(texts.parts())?;
                let object = Classes::get(self.py)?.new_fingerprint(self.py, fingerprint)?;
                match known.decision(&found.tool_use_id, &object)? {
                    Some(Decision::Replaced(replacement)) => {
                        earlier.replacement_chars = Some(replacement.size_chars());
                        return Ok((Standing::Replaced, earlier));
                    }
                    Some(Decision::Kept) => undecided = Standing::Kept,
                    None => {
                        let foreign_chars = foreign.map(|foreign| foreign.size_chars());
                        earlier.claim = foreign_chars
                            .filter(|&chars| {
                                chars <= REFERENCE_MAX_CHARS && chars < found.size_chars
                            })
                            .map(|chars| (fingerprint, chars));
                    }
                }
            }
        }
        if self.is_reference(found.size_chars, texts)? {
            return Ok((Standing::Reference, Earlier::default()));
        }
        Ok((undecided, earlier))
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

    /// Gives each replacement of another program to the first text that claims it, wherever that
    /// stands; groups are judged in order.
    fn adopt(&mut self) {
        let mut claims = std::mem::take(&mut self.claims);
        claims.sort_by_key(|claim| (claim.group, claim.row));
        let mut adopted: HashMap<PyText<'py>, Fingerprint> = HashMap::new();
        for claim in claims {
            let first = adopted
                .entry(claim.tool_use_id)
                .or_insert(claim.fingerprint);
            if *first == claim.fingerprint {
                self.collector.replace(claim.row, claim.replacement_chars);
            }
        }
    }
}

/// Writes the columns as `Columns`. Each one is let go of before the next one is copied.
fn write<'py>(columns: Columns<PyText<'py>>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let group = to_bytes(py, columns.group, i32::to_ne_bytes)?;
    let message = to_bytes(py, columns.message, i32::to_ne_bytes)?;
    let block = to_bytes(py, columns.block, i32::to_ne_bytes)?;
    let size_chars = match columns.size_chars {
        Sizes::Narrow(sizes) => to_bytes(py, sizes, |size| u64::from(size).to_ne_bytes())?,
        Sizes::Wide(sizes) => to_bytes(py, sizes, u64::to_ne_bytes)?,
    };
    let tool = to_bytes(py, columns.tool, i32::to_ne_bytes)?;
    let standing = to_bytes(py, columns.standing, |standing| [standing as u8])?;
    let (rows, replacement_chars): (Vec<i32>, Vec<u64>) = columns.replaced.into_iter().unzip();
    let fields = (
        group,
        message,
        block,
        size_chars,
        tool,
        standing,
        to_bytes(py, rows, i32::to_ne_bytes)?,
        to_bytes(py, replacement_chars, u64::to_ne_bytes)?,
        to_bytes(py, columns.is_followed, |is_followed| {
            [u8::from(is_followed)]
        })?,
        PyTuple::new(py, columns.tool_names.iter().map(PyText::as_object))?,
        counter(&columns.skipped, Classes::get(py)?, py)?,
    );
    py.import("toolbudget._core.pure")?
        .getattr("Columns")?
        .call1(fields)
}

fn to_bytes<const N: usize, V: Copy>(
    py: Python<'_>,
    column: Vec<V>,
    write: impl Fn(V) -> [u8; N],
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, column.len() * N, |bytes| {
        let (cells, _) = bytes.as_chunks_mut::<N>();
        for (cell, value) in cells.iter_mut().zip(column) {
            *cell = write(value);
        }
        Ok(())
    })
}
