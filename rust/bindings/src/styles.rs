//! Preview styles: parts of Python texts, read where the core asks for them.

use std::collections::TryReserveError;
use std::ops::Range;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString, PyTuple};
use toolbudget_core::{Preview, Shown, ShownStyle, Source, Style};

use crate::classes::Classes;
use crate::items::Items;
use crate::text::{self, Wtf8};
use crate::{error, number};

/// Texts as one, of which nothing is joined: each is read in place if it is ASCII, else in encoded
/// parts.
struct Joined<'a, 'py> {
    texts: Vec<Piece<'a, 'py>>,
    length_chars: usize,
}

struct Piece<'a, 'py> {
    /// Where it begins in the whole.
    start: usize,
    length_chars: usize,
    text: &'a Bound<'py, PyString>,
    ascii: Option<&'a [u8]>,
}

enum Part<'a, 'py> {
    Ascii(&'a [u8]),
    Encoded(Bound<'py, PyBytes>),
    Gathered(Vec<u8>),
}

impl AsRef<[u8]> for Part<'_, '_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Ascii(bytes) => bytes,
            Self::Encoded(bytes) => bytes.as_bytes(),
            Self::Gathered(bytes) => bytes,
        }
    }
}

/// Why a part cannot be read, as Python is told.
struct Unreadable(PyErr);

impl From<TryReserveError> for Unreadable {
    fn from(problem: TryReserveError) -> Self {
        Self(error::out_of_memory(problem))
    }
}

impl<'a, 'py> Joined<'a, 'py> {
    fn of(texts: &'a [Bound<'py, PyString>]) -> PyResult<Self> {
        let mut start = 0_usize;
        let mut pieces = Vec::with_capacity(texts.len());
        for text in texts {
            let length_chars = text.code_point_len()?;
            pieces.push(Piece {
                start,
                length_chars,
                text,
                ascii: text::ascii_bytes(text)?,
            });
            start = start.saturating_add(length_chars);
        }
        Ok(Self {
            texts: pieces,
            length_chars: start,
        })
    }
}

impl<'a, 'py> Piece<'a, 'py> {
    /// What of a part of the whole lies in this text.
    fn read(&self, range: &Range<usize>) -> Result<Part<'a, 'py>, Unreadable> {
        let start = range.start.saturating_sub(self.start);
        let end = range.end.saturating_sub(self.start).min(self.length_chars);
        match self.ascii {
            Some(bytes) => Ok(Part::Ascii(&bytes[start..end])),
            None => text::encoded_part(self.text, start..end)
                .map(Part::Encoded)
                .map_err(Unreadable),
        }
    }
}

impl<'a, 'py> Source for Joined<'a, 'py> {
    type Bytes<'b>
        = Part<'a, 'py>
    where
        Self: 'b;
    type Error = Unreadable;

    fn length_chars(&self) -> usize {
        self.length_chars
    }

    fn read(&self, range: Range<usize>) -> Result<Part<'a, 'py>, Unreadable> {
        let ends_before = |piece: &Piece<'_, '_>| piece.start + piece.length_chars <= range.start;
        let first = self.texts.partition_point(ends_before);
        let mut others = self.texts[first..]
            .iter()
            .take_while(|piece| piece.start < range.end);
        let Some(piece) = others.next() else {
            return Ok(Part::Ascii(b""));
        };
        if range.end <= piece.start + piece.length_chars {
            return piece.read(&range);
        }
        let mut bytes = piece.read(&range)?.as_ref().to_vec();
        for piece in others {
            let part = piece.read(&range)?;
            bytes.try_reserve(part.as_ref().len())?;
            bytes.extend_from_slice(part.as_ref());
        }
        Ok(Part::Gathered(bytes))
    }
}

/// Shows the beginning and the end of `text`.
pub(crate) fn head_tail_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::head_tail_preview)
}

/// Shows what a JSON text is made of.
pub(crate) fn json_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::json_preview)
}

/// Shows the lines of `text` that matter most.
pub(crate) fn salient_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::salient_preview)
}

/// Shows the header and some rows of a table.
pub(crate) fn table_preview<'py>(
    text: &Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    show(text, max_bytes, toolbudget_core::table_preview)
}

fn show<'a, 'py>(
    text: &'a Bound<'py, PyString>,
    max_bytes: &Bound<'py, PyAny>,
    style: impl FnOnce(&Joined<'a, 'py>, usize) -> Result<Preview, Unreadable>,
) -> PyResult<(Bound<'py, PyString>, bool)> {
    let max_bytes = number::room_bytes(max_bytes)?;
    let joined = Joined::of(std::slice::from_ref(text))?;
    let preview = style(&joined, max_bytes).map_err(|Unreadable(problem)| problem)?;
    let shown = PyString::from_bytes(text.py(), preview.text.as_bytes())?;
    Ok((shown, preview.has_more))
}

/// Shows the text that `parts` make when they are joined, in a style.
pub(crate) fn show_preview<'py>(
    parts: &Bound<'py, PyAny>,
    max_bytes: &Bound<'py, PyAny>,
    style: &Bound<'py, PyAny>,
    outline: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let texts: Vec<Bound<'py, PyString>> = Items::of(parts)?
        .map(|part| Ok(part?.cast_into()?))
        .collect::<PyResult<_>>()?;
    let max_bytes = number::saturating_i128(max_bytes)?;
    let shown = shown(parts.py(), &texts, max_bytes, read_style(style)?, outline)?;
    to_python(parts.py(), &shown)
}

/// Shows the text that `texts` make when they are joined.
pub(crate) fn shown<'py>(
    py: Python<'py>,
    texts: &[Bound<'py, PyString>],
    max_bytes: i128,
    style: Style,
    outline: Option<&Bound<'py, PyAny>>,
) -> PyResult<Shown> {
    let max_bytes = usize::try_from(max_bytes.max(0)).unwrap_or(usize::MAX);
    let joined = Joined::of(texts)?;
    let shown = toolbudget_core::show_preview(&joined, max_bytes, style, |max_bytes| {
        let made = outline.map(|outline| outlined(py, texts, max_bytes, outline));
        made.transpose().map(Option::flatten).map_err(Unreadable)
    });
    shown.map_err(|Unreadable(problem)| problem)
}

/// Asks for the outline of source code.
fn outlined<'py>(
    py: Python<'py>,
    texts: &[Bound<'py, PyString>],
    max_bytes: usize,
    outline: &Bound<'py, PyAny>,
) -> PyResult<Option<Vec<u8>>> {
    let text = match texts {
        [text] => text::plain(text)?.unwrap_or_else(|| text.clone()),
        _ => text::join(py, texts)?,
    };
    let made = outline.call1((text, max_bytes))?;
    if made.is_none() {
        return Ok(None);
    }
    let preview = made.get_item(0)?.cast_into::<PyString>()?;
    Ok(Some(Wtf8::of(&preview)?.as_bytes()?.to_vec()))
}

/// The style of a name.
pub(crate) fn read_style(style: &Bound<'_, PyAny>) -> PyResult<Style> {
    let py = style.py();
    // The usual one is that of the class itself: nothing need be compared.
    Ok(
        if style.is(intern!(py, "head")) || style.eq(intern!(py, "head"))? {
            Style::Head
        } else if style.eq(intern!(py, "auto"))? {
            Style::Auto
        } else if style.eq(intern!(py, "salient"))? {
            Style::Salient
        } else if style.eq(intern!(py, "json"))? {
            Style::Json
        } else if style.eq(intern!(py, "outline"))? {
            Style::Outline
        } else {
            Style::HeadTail
        },
    )
}

/// Makes a `Shown`.
pub(crate) fn to_python<'py>(py: Python<'py>, shown: &Shown) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::get(py)?;
    let preview = PyString::from_bytes(py, shown.preview.text.as_bytes())?;
    let has_more = PyBool::new(py, shown.preview.has_more);
    let fields = (preview, has_more, shown.style.name()).into_pyobject(py)?;
    classes.named_tuple(&classes.shown, &fields)
}

/// Makes a `Shown`, or `None`.
pub(crate) fn optional<'py>(py: Python<'py>, shown: Option<&Shown>) -> PyResult<Bound<'py, PyAny>> {
    match shown {
        Some(shown) => to_python(py, shown),
        None => Ok(py.None().into_bound(py)),
    }
}

/// Reads a `Shown`.
pub(crate) fn of_python(shown: &Bound<'_, PyAny>) -> PyResult<Shown> {
    let fields = shown.cast::<PyTuple>()?;
    let preview = fields.get_item(0)?.cast_into::<PyString>()?;
    let style = fields.get_item(2)?.extract::<String>()?;
    Ok(Shown {
        preview: Preview {
            text: preview.to_str()?.to_owned(),
            has_more: fields.get_item(1)?.is_truthy()?,
        },
        style: ShownStyle::named(&style).unwrap_or(ShownStyle::Head),
    })
}
