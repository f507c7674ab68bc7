//! Python text as WTF-8 bytes. The one place where lone surrogates are met.
//!
//! ASCII text is borrowed. Of other text a bounded piece is encoded into a `bytes` object of its
//! own: to borrow it would leave a copy of the whole text inside the caller's string for as long
//! as that lives. Methods are those of `str` itself, so that a subclass is read as the `str` it is.

mod wtf8;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use pyo3::exceptions::{PyUnicodeDecodeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pyo3::{PyTypeInfo as _, intern};
use toolbudget_core::json::{decode_text, decode_whole_chars};
use toolbudget_core::{
    Fingerprint, Fingerprinter, Measure, REFERENCE_MAX_CHARS, Unit, is_framed_reference,
};

use crate::error;
use crate::raw::{self, first_char, is_ascii, is_same_text};
pub(crate) use wtf8::{OwnWtf8, Wtf8};

/// A Python text that can be a key: it is compared and hashed as Python does it.
#[derive(Clone)]
pub(crate) struct PyText<'py> {
    text: Bound<'py, PyString>,
    hash: isize,
}

impl<'py> PyText<'py> {
    /// `text` must be a plain `str`: a subclass may compare in its own way.
    pub(crate) fn new(text: Bound<'py, PyString>) -> PyResult<Self> {
        let hash = match raw::known_hash(&text) {
            Some(hash) => hash,
            None => text.hash()?,
        };
        Ok(Self { text, hash })
    }

    pub(crate) const fn as_object(&self) -> &Bound<'py, PyString> {
        &self.text
    }

    /// Its hash, by which different texts are different as a rule.
    pub(crate) const fn number(&self) -> usize {
        self.hash.cast_unsigned()
    }
}

impl Hash for PyText<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_isize(self.hash);
    }
}

impl PartialEq for PyText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && is_same_text(&self.text, &other.text)
    }
}

impl Eq for PyText<'_> {}

impl PartialEq<str> for PyText<'_> {
    fn eq(&self, other: &str) -> bool {
        is_same_text(&self.text, &PyString::new(self.text.py(), other))
    }
}

/// A Python text that can be a key, in one word: its hash is that which the text itself keeps.
#[derive(Clone)]
pub(crate) struct ThinText<'py>(Bound<'py, PyString>);

impl<'py> From<PyText<'py>> for ThinText<'py> {
    fn from(text: PyText<'py>) -> Self {
        Self(text.text)
    }
}

impl<'py> ThinText<'py> {
    pub(crate) const fn as_object(&self) -> &Bound<'py, PyString> {
        &self.0
    }
}

impl Hash for ThinText<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A plain text that was hashed before cannot fail to tell its hash.
        state.write_isize(self.0.hash().unwrap_or_default());
    }
}

impl PartialEq for ThinText<'_> {
    fn eq(&self, other: &Self) -> bool {
        is_same_text(&self.0, &other.0)
    }
}

impl Eq for ThinText<'_> {}

impl PartialEq<str> for ThinText<'_> {
    fn eq(&self, other: &str) -> bool {
        is_same_text(&self.0, &PyString::new(self.0.py(), other))
    }
}

/// The text of a value as a plain `str`, without what a subclass overrides; `None` if it is none.
pub(crate) fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    let Ok(text) = value.cast::<PyString>() else {
        return Ok(None);
    };
    if text.is_exact_instance_of::<PyString>() {
        return Ok(Some(text.clone()));
    }
    let py = value.py();
    let copy = PyString::type_object(py).call_method1(intern!(py, "__str__"), (text,))?;
    Ok(Some(copy.cast_into()?))
}

/// The beginning of a text in WTF-8.
pub(crate) struct Head<'py> {
    /// As a rule the whole text, to copy a part of which would take longer than to cut its bytes.
    text: Wtf8<'py>,
    max_bytes: usize,
}

impl<'py> Head<'py> {
    /// The first `max_chars` characters of the text that `parts` make when they are joined.
    pub(crate) fn of(
        py: Python<'py>,
        parts: &[Bound<'py, PyString>],
        max_chars: usize,
    ) -> PyResult<Self> {
        if let [whole] = parts
            && is_ascii(whole)?
        {
            return Ok(Self {
                text: Wtf8::Ascii(whole.clone()),
                max_bytes: max_chars,
            });
        }
        Ok(Self {
            text: Wtf8::of(&joined_head(py, parts, max_chars)?)?,
            max_bytes: usize::MAX,
        })
    }

    pub(crate) fn as_bytes(&self) -> PyResult<&[u8]> {
        let bytes = self.text.as_bytes()?;
        Ok(&bytes[..bytes.len().min(self.max_bytes)])
    }

    pub(crate) const fn is_ascii(&self) -> bool {
        matches!(self.text, Wtf8::Ascii(_))
    }
}

/// The bytes of a text that is ASCII, without a copy.
pub(crate) fn ascii_bytes<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Option<&'a [u8]>> {
    if let Some(ascii) = raw::known_ascii(text) {
        Ok(Some(ascii))
    } else if is_ascii(text)? {
        text.to_str().map(|text| Some(text.as_bytes()))
    } else {
        Ok(None)
    }
}

/// The bytes of a part of a text.
pub(crate) fn encoded_part<'py>(
    text: &Bound<'py, PyString>,
    range: Range<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    encode(&raw::part(text, range)?)
}

/// The text that WTF-8 bytes stand for.
pub(crate) fn from_wtf8<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, bytes).or_else(|error| {
        if !error.is_instance_of::<PyUnicodeDecodeError>(py) {
            return Err(error);
        }
        let bytes = PyBytes::new_with(py, bytes.len(), |copy| {
            copy.copy_from_slice(bytes);
            Ok(())
        })?;
        PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass"))
    })
}

/// Above this a text is decoded piece by piece, so that it is never there twice.
const MOST_AT_ONCE_BYTES: usize = 1 << 23;
const PIECE_BYTES: usize = 1 << 22;

/// The text that stands between the quotes of a JSON string with escapes.
pub(crate) fn from_json<'py>(py: Python<'py>, raw: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if raw.len() <= MOST_AT_ONCE_BYTES {
        return from_wtf8(py, &decode_text(raw));
    }
    let mut text = Some(PyString::new(py, ""));
    decode_whole_chars(raw, PIECE_BYTES, |piece| {
        let piece = from_wtf8(py, piece)?;
        text = match text.take() {
            Some(begun) => Some(raw::append(begun, &piece)?),
            None => None,
        };
        PyResult::Ok(())
    })?;
    text.ok_or_else(|| error::internal(py, "a text was lost while it was decoded"))
}

/// Counts the bytes of `text` in UTF-8; a lone surrogate takes three.
pub(crate) fn utf8_length(text: &Bound<'_, PyString>) -> PyResult<usize> {
    let length_chars = raw::length_chars(text)?;
    if is_ascii(text)? {
        return Ok(length_chars);
    }
    toolbudget_core::pieces(length_chars)
        .map(|range| encode(&raw::part(text, range)?).map(|bytes| bytes.as_bytes().len()))
        .sum()
}

/// The same of the text that `parts` make when they are joined.
pub(crate) fn joined_utf8_length(parts: &[Bound<'_, PyString>]) -> PyResult<usize> {
    let mut size_bytes = 0_usize;
    for part in parts {
        size_bytes = size_bytes.saturating_add(utf8_length(part)?);
    }
    Ok(size_bytes)
}

/// Fingerprints the text that `parts` make when they are joined, without joining them.
pub(crate) fn fingerprint(parts: &[Bound<'_, PyString>]) -> PyResult<Fingerprint> {
    if let [text] = parts
        && is_ascii(text)?
    {
        let bytes = text.to_str()?.as_bytes();
        return Ok(Fingerprint::of(bytes, bytes.len() as u64));
    }
    let mut fingerprinter = Fingerprinter::new();
    for text in parts {
        for range in toolbudget_core::pieces(text.code_point_len()?) {
            let size_chars = range.len() as u64;
            let piece = Wtf8::of(&raw::part(text, range)?)?;
            fingerprinter.push(piece.as_bytes()?, size_chars);
        }
    }
    Ok(fingerprinter.finish())
}

/// Measures the text that `parts` make when they are joined, without joining them.
pub(crate) fn measure(parts: &[Bound<'_, PyString>], unit: Unit) -> PyResult<u64> {
    let mut measure = Measure::new(unit);
    for text in parts {
        if is_ascii(text)? {
            measure.push(text.to_str()?.as_bytes());
            continue;
        }
        for range in toolbudget_core::pieces(text.code_point_len()?) {
            measure.push(Wtf8::of(&raw::part(text, range)?)?.as_bytes()?);
        }
    }
    Ok(measure.finish())
}

/// The first `max_chars` characters of `text`; the text itself if it has no more.
pub(crate) fn head<'py>(
    text: &Bound<'py, PyString>,
    max_chars: usize,
) -> PyResult<Bound<'py, PyString>> {
    if text.code_point_len()? <= max_chars {
        return Ok(text.clone());
    }
    raw::part(text, 0..max_chars)
}

/// The first `max_chars` characters of the text that `parts` make when they are joined.
pub(crate) fn joined_head<'py>(
    py: Python<'py>,
    parts: &[Bound<'py, PyString>],
    max_chars: usize,
) -> PyResult<Bound<'py, PyString>> {
    if let [text] = parts {
        return head(text, max_chars);
    }
    let mut heads = Vec::new();
    let mut room_chars = max_chars;
    for part in parts {
        let head = head(part, room_chars)?;
        room_chars = room_chars.saturating_sub(head.code_point_len()?);
        heads.push(head);
        if room_chars == 0 {
            break;
        }
    }
    join(py, &heads)
}

/// The text that `parts` make when they are joined; a single one is not copied.
pub(crate) fn join<'py>(
    py: Python<'py>,
    parts: &[Bound<'py, PyString>],
) -> PyResult<Bound<'py, PyString>> {
    if let [text] = parts {
        return Ok(text.clone());
    }
    let joined = intern!(py, "").call_method1(intern!(py, "join"), (parts,))?;
    Ok(joined.cast_into()?)
}

/// A value as it stands in a text that it is formatted into.
pub(crate) fn formatted<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return Ok(text.clone());
    }
    let py = value.py();
    let text = value.call_method1(intern!(py, "__format__"), (intern!(py, ""),))?;
    Ok(text.cast_into()?)
}

/// Tells whether the text that plain `parts` make looks like another program's reference.
#[inline]
pub(crate) fn is_framed<'py>(py: Python<'py>, parts: &[Bound<'py, PyString>]) -> PyResult<bool> {
    if let [text] = parts
        && let Some(ascii) = raw::known_ascii(text)
        && ascii.first() != Some(&b'<')
    {
        return Ok(false);
    }
    is_framed_odd(py, parts)
}

/// The same of a text that may be one by its first character.
#[cold]
fn is_framed_odd<'py>(py: Python<'py>, parts: &[Bound<'py, PyString>]) -> PyResult<bool> {
    let mut size_chars = 0_u64;
    let mut first = None;
    for part in parts {
        let part_chars = raw::length_chars(part)? as u64;
        size_chars = size_chars.saturating_add(part_chars);
        if size_chars > REFERENCE_MAX_CHARS {
            return Ok(false);
        }
        if first.is_none() && part_chars > 0 {
            first = first_char(part)?;
        }
    }
    // Ordinary text need not be read any further.
    if first != Some(u32::from('<')) {
        return Ok(false);
    }
    let text = Wtf8::of(&join(py, parts)?)?;
    Ok(is_framed_reference(text.as_bytes()?, size_chars))
}

fn encode<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
    let py = text.py();
    text.encode_utf8().or_else(|error| {
        if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
            return Err(error);
        }
        let arguments = (text, intern!(py, "utf-8"), intern!(py, "surrogatepass"));
        let bytes = PyString::type_object(py).call_method1(intern!(py, "encode"), arguments)?;
        Ok(bytes.cast_into()?)
    })
}
