//! Functions about single texts.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Draft, Original, PreviewSize, Unit, preview_window_chars};

use crate::classes::Classes;
use crate::items::Items;
use crate::text::{self, Wtf8};
use crate::{error, number, options, styles};

/// Cuts the wire-safe form of `text`.
pub(crate) fn cut_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    let max_bytes = number::room_bytes(max_bytes)?;
    let head = Wtf8::of(&text::head(text, preview_window_chars(max_bytes))?)?;
    let preview = toolbudget_core::cut_preview(head.as_bytes()?, max_bytes);
    let preview = preview.map_err(error::out_of_memory)?;
    let shown = PyString::from_bytes(text.py(), preview.text.as_bytes())?;
    Ok((shown, preview.has_more))
}

/// Fingerprints the text that `parts` make when they are joined.
pub(crate) fn fingerprint<'py>(parts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = parts.py();
    Classes::get(py)?.new_fingerprint(py, text::fingerprint(&texts(parts)?)?)
}

/// Estimates the tokens of the text that `parts` make when they are joined.
pub(crate) fn estimate_tokens(parts: &Bound<'_, PyAny>) -> PyResult<u64> {
    text::measure(&texts(parts)?, Unit::Tokens)
}

/// Measures the text that `parts` make when they are joined.
pub(crate) fn measure(parts: &Bound<'_, PyAny>, unit: &Bound<'_, PyAny>) -> PyResult<u64> {
    text::measure(&texts(parts)?, options::read_unit(unit)?)
}

fn texts<'py>(parts: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    Items::of(parts)?
        .map(|part| Ok(part?.cast_into()?))
        .collect()
}

/// Builds the exact string that stands in for `text`.
pub(crate) fn build<'py>(
    text: &Bound<'py, PyString>,
    path: &Bound<'py, PyAny>,
    preview_bytes: &Bound<'py, PyAny>,
    reader_hint: Option<&Bound<'py, PyAny>>,
    size_bytes: Option<&Bound<'py, PyAny>>,
    shown: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyString>> {
    let preview_bytes = number::saturating_i128(preview_bytes)?;
    let head = Wtf8::of(&text::head(text, options::window_chars(preview_bytes))?)?;
    let path = Wtf8::of(&text::formatted(path)?)?;
    let hint = reader_hint.map(options::read_text).transpose()?;
    let original = Original {
        head: head.as_bytes()?,
        size_bytes: match size_bytes {
            Some(size_bytes) => number::saturating_i128(size_bytes)?,
            None => text::utf8_length(text)? as i128,
        },
        path: path.as_bytes()?,
        reader_hint: hint.as_ref().map(Wtf8::as_bytes).transpose()?,
    };
    let replacement = match shown.map(styles::of_python).transpose()? {
        None => original.build_replacement(preview_bytes),
        Some(shown) => Draft::of(&original, preview_bytes).and_then(|draft| {
            draft.build_shown(&original, &PreviewSize::of(preview_bytes), &shown)
        }),
    };
    let replacement = replacement.map_err(error::out_of_memory)?;
    text::from_wtf8(text.py(), &replacement.text)
}

/// Tells whether `text` looks like another program's reference.
pub(crate) fn is_framed_reference(text: &Bound<'_, PyString>) -> PyResult<bool> {
    match text::plain(text)? {
        Some(text) => text::is_framed(text.py(), &[text]),
        None => Ok(false),
    }
}
