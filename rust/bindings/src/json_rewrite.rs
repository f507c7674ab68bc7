//! Putting new texts into a body.

use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySequence, PyString};
use toolbudget_core::json::{ResultSpan, Splice, replace_content};

use crate::items::Items;
use crate::json_scan::{JsonScan, released};
use crate::plan_items::PlanItems;
use crate::text::Wtf8;

/// The body with changes made; itself if there are none.
pub(crate) fn rewrite<'py>(
    scan: &Bound<'py, JsonScan>,
    changes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = scan.py();
    let scan = scan.get();
    let splices = splices_of(scan, changes)?;
    if splices.is_empty() {
        return Ok(scan.body(py).clone());
    }
    let body = scan.body(py).as_bytes();
    let removed_bytes: usize = splices.iter().map(|it| it.span.of(body).len()).sum();
    let added_bytes: usize = splices.iter().map(|it| it.data.len()).sum();
    let size_bytes = body.len() - removed_bytes + added_bytes;
    PyBytes::new_with(py, size_bytes, |output| {
        released(py, size_bytes, || join(body, &splices, output));
        Ok(())
    })
}

fn join(body: &[u8], splices: &[Splice], output: &mut [u8]) {
    let mut room = output;
    let mut position = 0;
    for splice in splices {
        room = put(room, &body[position..splice.span.start]);
        room = put(room, &splice.data);
        position = splice.span.end;
    }
    put(room, &body[position..]);
}

fn put<'a>(room: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (place, rest) = room.split_at_mut(bytes.len());
    place.copy_from_slice(bytes);
    rest
}

/// The pieces of the changed body; of what stays they are views.
pub(crate) fn segments<'py>(
    scan: &Bound<'py, JsonScan>,
    changes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let py = scan.py();
    let body = scan.get().body(py);
    let splices = splices_of(scan.get(), changes)?;
    if splices.is_empty() {
        return PyList::new(py, [body]);
    }
    // Not with `PySlice::new`, which keeps references to its numbers.
    let view = PyMemoryView::from(body)?
        .into_any()
        .cast_into::<PySequence>()?;
    let pieces = PyList::empty(py);
    let mut position = 0;
    for splice in &splices {
        pieces.append(view.get_slice(position, splice.span.start)?)?;
        pieces.append(PyBytes::new(py, &splice.data))?;
        position = splice.span.end;
    }
    pieces.append(view.get_slice(position, body.as_bytes().len())?)?;
    Ok(pieces)
}

/// What changes come to in the bytes, in their order.
fn splices_of(scan: &JsonScan, changes: &Bound<'_, PyAny>) -> PyResult<Vec<Splice>> {
    let py = changes.py();
    let body = scan.body(py).as_bytes();
    scan.with(py, |scanned| {
        let results = scanned.scan.results();
        let mut splices = Vec::new();
        if let Ok(planned) = changes.cast_exact::<PlanItems>()
            && let Some(planned) = planned.get().changes()
        {
            for (place, text) in planned {
                splices.push(splice(place, text.bind(py), results, body)?);
            }
        } else {
            for change in Items::of(changes)? {
                splices.push(splice_of(&change?, results, body)?);
            }
        }
        // Of changes in one place the last one counts, as where they are made one by one.
        splices.reverse();
        splices.sort_by_key(|splice| splice.span.start);
        splices.dedup_by_key(|splice| splice.span.start);
        Ok(splices)
    })
}

fn splice_of(change: &Bound<'_, PyAny>, results: &[ResultSpan], body: &[u8]) -> PyResult<Splice> {
    let py = change.py();
    let message_index: usize = change.getattr(intern!(py, "message_index"))?.extract()?;
    let block_index: usize = change.getattr(intern!(py, "block_index"))?.extract()?;
    let text = change.getattr(intern!(py, "replacement"))?;
    splice(
        (message_index, block_index),
        text.cast::<PyString>()?,
        results,
        body,
    )
}

fn splice(
    wanted: (usize, usize),
    text: &Bound<'_, PyString>,
    results: &[ResultSpan],
    body: &[u8],
) -> PyResult<Splice> {
    let place = results.binary_search_by_key(&wanted, |it| (it.message_index, it.block_index));
    let Ok(place) = place else {
        return Err(PyIndexError::new_err("no result stands there"));
    };
    let text = Wtf8::of(text)?;
    Ok(replace_content(&results[place], text.as_bytes()?, body))
}
