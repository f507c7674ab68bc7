//! Fresh results on the way to a replacement.

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use toolbudget_core::{Draft, Frame, Original, Outlook, Replacement, Shown, ShownStyle, Style};

use crate::error;
use crate::options::{Callbacks, window_chars};
use crate::paths::plain_path;
use crate::styles;
use crate::text::{self, Head, PyText, Wtf8};

/// A fresh result with the text that may be stored and shown.
pub(crate) struct Prepared<'py> {
    /// `None` if they are those of the result itself.
    redacted: Option<Vec<Bound<'py, PyString>>>,
    source: Option<Box<Source<'py>>>,
}

/// The redacted texts, if there are any, and what a replacement was built of.
pub(crate) type Taken<'py> = (Option<Vec<Bound<'py, PyString>>>, Box<Source<'py>>);

/// What its replacement says, found out when the first one is measured.
pub(crate) struct Source<'py> {
    pub(crate) path: Bound<'py, PyAny>,
    pub(crate) size_bytes: usize,
    path_text: Wtf8<'py>,
    frame: Frame,
    /// What any preview is cut from, found when the first one is.
    beginning: Option<Box<Beginning<'py>>>,
    /// The preview that was made last in another style than that of the beginning, and its size.
    shown: Option<Box<(i128, Shown)>>,
}

/// The beginning of a text.
struct Beginning<'py> {
    head: Head<'py>,
    draft: Draft,
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

    pub(crate) fn source(&self) -> Option<&Source<'py>> {
        self.source.as_deref()
    }

    /// The redacted texts, and what was found out to build a replacement; `None` if none was built.
    pub(crate) fn take_source(&mut self) -> Option<Taken<'py>> {
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
        let source = self.source_of(result, callbacks, preview_bytes)?;
        let Some(Beginning { head, draft }) = source.beginning_at(preview_bytes) else {
            return Ok(source.frame.size_chars());
        };
        let preview = callbacks.preview_size(preview_bytes);
        Ok(match source.shown_at(preview_bytes) {
            Some(shown) => draft.size_chars_shown(shown, &preview),
            None => draft.size_chars(head.as_bytes()?, &preview),
        })
    }

    /// The same of a replacement that can be written later, whose path nobody formats in a way of
    /// his own; `None` of any other.
    pub(crate) fn later_chars(
        &mut self,
        result: &Asked<'_, 'py>,
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<Option<u64>> {
        let size_chars = self.replacement_chars(result, callbacks, preview_bytes)?;
        let has_plain_path = self
            .source
            .as_deref()
            .is_some_and(|source| source.path.is_exact_instance_of::<PyString>());
        Ok(has_plain_path.then_some(size_chars))
    }

    /// Builds the replacement with a preview of so many bytes.
    pub(crate) fn build(
        &mut self,
        result: &Asked<'_, 'py>,
        callbacks: &Callbacks<'py>,
        preview_bytes: i128,
    ) -> PyResult<Replacement> {
        let source = self.source_of(result, callbacks, preview_bytes)?;
        let beginning = source.beginning_at(preview_bytes);
        let head = beginning.map(|beginning| beginning.head.as_bytes());
        let original = Original {
            head: head.transpose()?.unwrap_or_default(),
            ..original(source.size_bytes, &source.path_text, callbacks)?
        };
        let preview = callbacks.preview_size(preview_bytes);
        let built = match (beginning, source.shown_at(preview_bytes)) {
            (None, _) => source.frame.build(&original),
            (Some(Beginning { draft, .. }), None) => draft.build(&original, &preview),
            (Some(Beginning { draft, .. }), Some(shown)) => {
                draft.build_shown(&original, &preview, shown)
            }
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
            self.source = Some(Box::new(Source::find(result, parts, callbacks)?));
        }
        let py = callbacks.expected_path.py();
        let Some(source) = self.source.as_deref_mut() else {
            return Err(error::internal(py, "a source is gone"));
        };
        if preview_bytes > 0 {
            source.begin(parts, callbacks)?;
            if callbacks.style != Style::Head {
                source.show(py, parts, callbacks, preview_bytes)?;
            }
        }
        Ok(source)
    }
}

/// What is known of the text that `parts` make before its replacement is measured.
pub(crate) fn outlook_of(
    parts: &[Bound<'_, PyString>],
    callbacks: &Callbacks<'_>,
    preview_bytes: i128,
) -> PyResult<Outlook> {
    match (callbacks.outlook_of_all(), parts) {
        (Outlook::Beginning, [whole]) => {
            let ascii = text::ascii_bytes(whole)?;
            Ok(ascii.map_or(Outlook::Beginning, |ascii| {
                Outlook::of_ascii(ascii, preview_bytes)
            }))
        }
        (of_all, _) => Ok(of_all),
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
        let path_text = Wtf8::of(&text::formatted(&path)?)?;
        let size_bytes = text::joined_utf8_length(parts)?;
        let frame = Frame::of(&original(size_bytes, &path_text, callbacks)?);
        Ok(Self {
            path_text,
            path,
            size_bytes,
            frame,
            beginning: None,
            shown: None,
        })
    }

    /// Finds the beginning of the text, unless it was found before.
    fn begin(
        &mut self,
        parts: &[Bound<'py, PyString>],
        callbacks: &Callbacks<'py>,
    ) -> PyResult<()> {
        if self.beginning.is_some() {
            return Ok(());
        }
        let py = callbacks.expected_path.py();
        let head = Head::of(py, parts, window_chars(callbacks.preview_bytes))?;
        let bytes = head.as_bytes()?;
        let draft = Draft::with_frame(self.frame, bytes, head.is_ascii(), callbacks.preview_bytes)
            .map_err(error::out_of_memory)?;
        self.beginning = Some(Box::new(Beginning { head, draft }));
        Ok(())
    }

    /// The beginning of the text, if any of it is shown.
    fn beginning_at(&self, preview_bytes: i128) -> Option<&Beginning<'py>> {
        self.beginning.as_deref().filter(|_| preview_bytes > 0)
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
            .as_deref()
            .is_none_or(|(size, _)| *size != preview_bytes)
        {
            let outline = callbacks.outline.as_ref();
            let shown = styles::shown(py, parts, preview_bytes, callbacks.style, outline)?;
            self.shown = Some(Box::new((preview_bytes, shown)));
        }
        Ok(())
    }

    /// The preview of such a size, if it is another one than the beginning of the text.
    pub(crate) fn shown_at(&self, preview_bytes: i128) -> Option<&Shown> {
        let shown = self.shown.as_deref();
        let (_, shown) = shown.filter(|(size, _)| *size == preview_bytes)?;
        (shown.style != ShownStyle::Head).then_some(shown)
    }
}

/// The path that the replacement shows; the host is asked for any that may be another one than that
/// of a file named after the id.
fn find_path<'py>(
    result: &Asked<'_, 'py>,
    callbacks: &Callbacks<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let content = result.content;
    let tool_use_id = result.tool_use_id;
    let is_json = if content.is_some_and(PyAnyMethods::is_instance_of::<PyString>) {
        PyBool::new(callbacks.expected_path.py(), false)
            .to_owned()
            .into_any()
    } else {
        callbacks.is_stored_as_json.call1((content,))?
    };
    if let Some(prefix) = &callbacks.path_prefix
        && let Some(path) = plain_path(prefix, tool_use_id, is_json.is_truthy()?)?
    {
        return Ok(path.into_any());
    }
    let arguments = (tool_use_id.as_object(), is_json);
    callbacks.expected_path.call1(arguments)
}

/// A text of which only what stands around a preview is to be written.
fn original<'a, 'py>(
    size_bytes: usize,
    path: &'a Wtf8<'py>,
    callbacks: &'a Callbacks<'py>,
) -> PyResult<Original<'a>> {
    let hint = callbacks.reader_hint.as_ref();
    Ok(Original {
        head: b"",
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
