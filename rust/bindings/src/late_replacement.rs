//! Replacements whose text is written when somebody looks at it.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Built, Measure, Original, Replacement, Unit};

use crate::error;
use crate::options::{Callbacks, window_chars};
use crate::paths::{IS_NO_JSON, named_path};
use crate::text::{self, Head, OwnWtf8, Wtf8};

/// A replacement as a plan chooses it. What it says does not change as long as its text is held.
pub(crate) struct LateReplacement {
    /// In WTF-8; `None` if it is written later.
    pub(crate) text: Option<Vec<u8>>,
    size_chars: u64,
}

impl LateReplacement {
    /// One of so many characters that is written later.
    pub(crate) const fn of_chars(size_chars: u64) -> Self {
        Self {
            text: None,
            size_chars,
        }
    }
}

impl From<Replacement> for LateReplacement {
    fn from(written: Replacement) -> Self {
        Self {
            text: Some(written.text),
            size_chars: written.size_chars,
        }
    }
}

impl Built for LateReplacement {
    fn size_chars(&self) -> u64 {
        self.size_chars
    }

    fn measure(&self, unit: Unit) -> u64 {
        // Where anything but characters counts, nothing is written later.
        let text = self.text.as_deref();
        text.map_or(self.size_chars, |text| Measure::of(text, unit))
    }
}

/// What all replacements of a plan have in common.
#[derive(Default)]
pub(crate) struct Wording {
    path_prefix: Option<OwnWtf8>,
    reader_hint: Option<OwnWtf8>,
}

impl Wording {
    pub(crate) fn of(callbacks: &Callbacks<'_>) -> Self {
        Self {
            path_prefix: callbacks.path_prefix.as_ref().map(OwnWtf8::of),
            reader_hint: callbacks.reader_hint.as_ref().map(OwnWtf8::of),
        }
    }

    /// The path of a plain text that is named after its id.
    pub(crate) fn path<'py>(
        &self,
        tool_use_id: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyString>> {
        let py = tool_use_id.py();
        let Some(prefix) = &self.path_prefix else {
            return Err(error::internal(py, "a path without a beginning"));
        };
        named_path(&prefix.bind(py), tool_use_id, IS_NO_JSON)
    }

    /// The text that stands in for a plain one.
    pub(crate) fn replacement<'py>(
        &self,
        text: &Bound<'py, PyString>,
        path: &Bound<'py, PyString>,
        preview_bytes: i128,
    ) -> PyResult<Bound<'py, PyString>> {
        let py = text.py();
        let head = Head::of(py, std::slice::from_ref(text), window_chars(preview_bytes))?;
        let path = Wtf8::of(path)?;
        let hint = self.reader_hint.as_ref().map(|hint| hint.bind(py));
        let original = Original {
            head: head.as_bytes()?,
            size_bytes: text::utf8_length(text)? as i128,
            path: path.as_bytes()?,
            reader_hint: hint.as_ref().map(Wtf8::as_bytes).transpose()?,
        };
        let written = original.build_replacement(preview_bytes);
        text::from_wtf8(py, &written.map_err(error::out_of_memory)?.text)
    }
}
