//! The kept results of a record, without an object of Python's for each.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use toolbudget_core::{Fingerprint, KeptJson, KeyState, TextHash};

use crate::decision_reading::read_key;
use crate::decisions::Mark;
use crate::error;
use crate::lookups;
use crate::plan_items::PlanItems;
use crate::raw;
use crate::text::{PyText, Wtf8, ascii_bytes};

/// A character beyond the first 65,536 becomes two escapes of six bytes.
const ESCAPED_BYTES: usize = 12;

/// Writes the kept results of a plan; all else is the pure core's to write.
pub(crate) fn kept_json<'py>(
    keys: &Bound<'py, PyAny>,
    left_out: &Bound<'py, PyAny>,
    max_id_bytes: &Bound<'py, PyAny>,
    max_part_chars: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    if let Ok(items) = keys.cast_exact::<PlanItems>()
        && let (Ok(id_bytes), Ok(part_chars)) = (max_id_bytes.extract(), max_part_chars.extract())
        && let Some(parts) = of_plan(items, left_out, id_bytes, part_chars)?
    {
        let list = PyList::empty(py);
        for part in parts {
            list.append(PyBytes::new(py, &part))?;
        }
        return Ok(list.into_any());
    }
    let limits = PyDict::new(py);
    limits.set_item("max_id_bytes", max_id_bytes)?;
    limits.set_item("max_part_chars", max_part_chars)?;
    lookups::KEPT_JSON
        .get(py)?
        .call((keys, left_out), Some(&limits))
}

/// The parts; `None` if the items are no keys.
fn of_plan(
    items: &Bound<'_, PlanItems>,
    left_out: &Bound<'_, PyAny>,
    max_id_bytes: usize,
    max_part_chars: usize,
) -> PyResult<Option<Vec<Vec<u8>>>> {
    let py = items.py();
    let Some(keys) = items.get().keys(py)? else {
        return Ok(None);
    };
    let mut met = HashSet::with_capacity_and_hasher(items.get().items.len(), KeyState);
    for key in left_out.try_iter()? {
        let (tool_use_id, mark) = read_key(&key?)?;
        // An odd fingerprint is none that a text of a plan has.
        if let Mark::Text { size_chars, hash } = mark {
            let hash = TextHash::from_be_bytes(hash);
            met.insert((tool_use_id, Fingerprint { size_chars, hash }));
        }
    }
    let mut kept = KeptJson::new(max_part_chars);
    for (tool_use_id, fingerprint) in keys {
        let id = PyText::new(tool_use_id.bind(py).clone())?;
        if met.insert((id.clone(), fingerprint)) {
            add(&mut kept, &id, fingerprint, max_id_bytes)?;
        }
    }
    Ok(Some(kept.into_parts()))
}

fn add(
    kept: &mut KeptJson,
    tool_use_id: &PyText<'_>,
    fingerprint: Fingerprint,
    max_id_bytes: usize,
) -> PyResult<()> {
    let text = tool_use_id.as_object();
    let id_chars = raw::length_chars(text)?;
    let is_ascii = raw::is_ascii(text)?;
    let escaped_bytes = if is_ascii { 1 } else { ESCAPED_BYTES };
    if id_chars.saturating_mul(escaped_bytes) > max_id_bytes {
        return Ok(());
    }
    let added = match ascii_bytes(text)? {
        Some(ascii) => kept.add(ascii, id_chars, fingerprint),
        None => kept.add(Wtf8::of(text)?.as_bytes()?, id_chars, fingerprint),
    };
    added.map_err(error::out_of_memory)
}
