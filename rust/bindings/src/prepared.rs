//! Fresh results on the way to a replacement.

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Draft, Original, Replacement, Shown, ShownStyle, Style};

use crate::error;
use crate::options::{Callbacks, window_chars};
use crate::styles;
use crate::text::{self, PyText, Wtf8};

/// A fresh result with the text that may be stored and shown.
pub(crate) struct Prepared<'py> {
    /// `None` if they are those of the result itself.
    redacted: Option<Vec<Bound<'py, PyString>>>,
    source: Option<Source<'py>>,
}

/// What its replacement says, found out when the first one is built.
pub(crate) struct Source<'py> {
    pub(crate) path: Bound<'py, PyAny>,
    pub(crate) size_bytes: usize,
    /// The beginning of its text, from which any preview is cut.
    pub(crate) head_text: Bound<'py, PyString>,
    path_text: Wtf8<'py>,
    head: Wtf8<'py>,
    draft: Draft,
    /// The preview that was made last in another style than that of the beginning, and its size.
    shown: Option<(i128, Shown)>,
}

impl<'py> Prepared<'py> {
    /// Redacts the parts of a text, if the host asked for it; the inner error is why it could not.
    pub(crate) fn new(
        parts: &[Bound<'py, PyString>],
        redact: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Result<Self, PyErr>> {
        let Some(redact) = redact else {
            return Ok(Ok(Self::unredacted()));
        };
        let redacted = parts.iter().map(|part| redact_part(redact, part)).collect();
        match redacted {
            Ok(redacted) => Ok(Ok(Self {
                redacted: Some(redacted),
                source: None,
            })),
            // Whatever the host's hook raises, the result is kept.
            Err(error) if error.is_instance_of::<PyException>(redact.py()) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    }

    /// The text of the result as it is.
    pub(crate) const fn unredacted() -> Self {
        Self {
            redacted: None,
            source: None,
        }
    }

    pub(crate) fn redacted(&self) -> Option<&[Bound<'py, PyString>]> {
        self.redacted.as_deref()
    }

    pub(crate) const fn source(&self) -> Option<&Source<'py>> {
        self.source.as_ref()
    }

    /// The redacted texts, and what was found out to build a replacement; `None` if none was built.
    pub(crate) fn take_source(
        &mut self,
    ) -> Option<(Option<Vec<Bound<'py, PyString>>>, Source<'py>)> {
        let source = self.source.take()?;
        Some((self.redacted.take(), source))
    }

    /// Characters of the replacement with a preview of so many bytes.
    pub(crate) fn replacement_chars(
        &mut self,
        result: &Asked<'_, 'py>,
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<u64> {
        // Asked for every size of previews: what was found out once is nearly always enough.
        let source = match &self.source {
            Some(source) if callbacks.style == Style::Head => source,
            _ => self.source_of(result, callbacks, preview_bytes)?,
        };
        let preview = callbacks.preview_size(preview_bytes);
        Ok(match source.shown_at(preview_bytes) {
            Some(shown) => source.draft.size_chars_shown(shown, &preview),
            None => source.draft.size_chars(source.head.as_bytes()?, &preview),
        })
    }

    /// Builds the replacement with a preview of so many bytes.
    pub(crate) fn build(
        &mut self,
        result: &Asked<'_, 'py>,
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<Replacement> {
        let source = self.source_of(result, callbacks, preview_bytes)?;
        let original = source.original(callbacks)?;
        let preview = callbacks.preview_size(preview_bytes);
        let built = match source.shown_at(preview_bytes) {
            Some(shown) => source.draft.build_shown(&original, &preview, shown),
            None => source.draft.build(&original, &preview),
        };
        built.map_err(error::out_of_memory)
    }

    fn source_of(
        &mut self,
        result: &Asked<'_, 'py>,
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<&Source<'py>> {
        let parts = self.redacted.as_deref().unwrap_or(result.parts);
        if self.source.is_none() {
            self.source = Some(Source::find(result, parts, callbacks)?);
        }
        let py = callbacks.expected_path.py();
        let Some(source) = self.source.as_mut() else {
            return Err(error::internal(py, "a source is gone"));
        };
        if callbacks.style != Style::Head && preview_bytes > 0 {
            source.show(py, parts, callbacks, preview_bytes)?;
        }
        Ok(source)
    }
}

/// The result that a replacement is built for.
pub(crate) struct Asked<'a, 'py> {
    pub(crate) tool_use_id: &'a PyText<'py>,
    pub(crate) content: Option<&'a Bound<'py, PyAny>>,
    pub(crate) parts: &'a [Bound<'py, PyString>],
}

impl<'py> Source<'py> {
    fn find(
        result: &Asked<'_, 'py>,
        parts: &[Bound<'py, PyString>],
        callbacks: &Callbacks<'py>,
    ) -> PyResult<Self> {
        let path = find_path(result, callbacks)?;
        let head_text = text::joined_head(path.py(), parts, window_chars(callbacks.preview_bytes))?;
        let path_text = Wtf8::of(&text::formatted(&path)?)?;
        let head = Wtf8::of(&head_text)?;
        let size_bytes = match parts {
            [whole] if whole.is(&head_text) => head.as_bytes()?.len(),
            _ => text::joined_utf8_length(parts)?,
        };
        let original = original(&head, size_bytes, &path_text, callbacks)?;
        let draft = match head {
            Wtf8::Ascii(_) => Draft::of_ascii(&original, callbacks.preview_bytes),
            Wtf8::Encoded(_) => Draft::of(&original, callbacks.preview_bytes),
        };
        Ok(Self {
            draft: draft.map_err(error::out_of_memory)?,
            path_text,
            path,
            size_bytes,
            head,
            head_text,
            shown: None,
        })
    }

    /// Makes the preview of such a size, unless it was the last one that was made.
    fn show(
        &mut self,
        py: Python<'py>,
        parts: &[Bound<'py, PyString>],
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<()> {
        if self
            .shown
            .as_ref()
            .is_none_or(|(size, _)| *size != preview_bytes)
        {
            let outline = callbacks.outline.as_ref();
            let shown = styles::shown(py, parts, preview_bytes, callbacks.style, outline)?;
            self.shown = Some((preview_bytes, shown));
        }
        Ok(())
    }

    /// The preview of such a size, if it is another one than the beginning of the text.
    pub(crate) fn shown_at(&self, preview_bytes: i128) -> Option<&Shown> {
        let shown = self.shown.as_ref();
        let (_, shown) = shown.filter(|(size, _)| *size == preview_bytes)?;
        (shown.style != ShownStyle::Head).then_some(shown)
    }

    fn original<'a>(&'a self, callbacks: &'a Callbacks<'py>) -> PyResult<Original<'a>> {
        original(&self.head, self.size_bytes, &self.path_text, callbacks)
    }
}

/// Asks the host for the path that the replacement shows.
fn find_path<'py>(
    result: &Asked<'_, 'py>,
    callbacks: &Callbacks<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let content = result.content;
    let tool_use_id = result.tool_use_id.as_object();
    if content.is_some_and(PyAnyMethods::is_instance_of::<PyString>) {
        return callbacks.expected_path.call1((tool_use_id, false));
    }
    let is_json = callbacks.is_stored_as_json.call1((content,))?;
    callbacks.expected_path.call1((tool_use_id, is_json))
}

fn original<'a, 'py>(
    head: &'a Wtf8<'py>,
    size_bytes: usize,
    path: &'a Wtf8<'py>,
    callbacks: &'a Callbacks<'py>,
) -> PyResult<Original<'a>> {
    let hint = callbacks.reader_hint.as_ref();
    Ok(Original {
        head: head.as_bytes()?,
        size_bytes: size_bytes as i128,
        path: path.as_bytes()?,
        reader_hint: hint.map(Wtf8::as_bytes).transpose()?,
    })
}

fn redact_part<'py>(
    redact: &Bound<'py, PyAny>,
    part: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyString>> {
    let redacted = redact.call1((part,))?;
    if let Some(text) = text::plain(&redacted)? {
        return Ok(text);
    }
    let kind = error::type_name(&redacted)?;
    Err(PyTypeError::new_err(format!(
        "redact must return text, not {kind}"
    )))
}
