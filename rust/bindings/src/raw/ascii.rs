//! Plain ASCII texts as they lie in memory.

use std::mem;
use std::slice;
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::is_known_version;

/// Bits of [`LaidOut::state`]: the characters stand behind the head, and all of them are ASCII.
const IS_COMPACT_ASCII: u32 = 0b11 << 5;
/// What [`LaidOut::hash`] is before anybody has asked for it.
const NOT_HASHED: ffi::Py_hash_t = -1;

/// The head of a text as `CPython` has laid it out since 3.11, where it has a GIL.
///
/// The stable interface hides it, and answers each question by a call, of which there are several
/// for every result. So texts are read as they lie where [`layout`] has found them as it is written
/// here, and by calls elsewhere.
#[repr(C)]
struct LaidOut {
    references: ffi::Py_ssize_t,
    class: *mut ffi::PyTypeObject,
    length_chars: ffi::Py_ssize_t,
    hash: ffi::Py_hash_t,
    state: u32,
}

/// What differs between versions.
#[derive(Clone, Copy)]
struct Layout {
    /// From the beginning of a compact ASCII text to its first character.
    head_bytes: usize,
}

/// The bytes of a text, if it is ASCII and texts lie as expected; `None` says nothing.
#[inline]
pub(crate) fn known_ascii<'a>(text: &'a Bound<'_, PyString>) -> Option<&'a [u8]> {
    // SAFETY: it is a live text for as long as it is borrowed.
    unsafe { ascii_at(text.py(), text.as_ptr()) }
}

/// The same of a text that somebody else vouches for.
///
/// # Safety
///
/// `text` is a live object of type `str`, or of a subclass, for as long as the bytes are used.
#[inline]
pub(super) unsafe fn ascii_at<'a>(py: Python<'_>, text: *mut ffi::PyObject) -> Option<&'a [u8]> {
    let layout = layout(py)?;
    // SAFETY: the caller vouches for the text, and texts are laid out so. Only one whose characters
    // stand behind its head is compact: none of a subclass.
    unsafe {
        let head = &*text.cast::<LaidOut>();
        if head.state & IS_COMPACT_ASCII != IS_COMPACT_ASCII {
            return None;
        }
        let first = text.cast::<u8>().add(layout.head_bytes);
        Some(slice::from_raw_parts(
            first,
            head.length_chars.cast_unsigned(),
        ))
    }
}

/// The hash of a plain text, if somebody has asked for it before; `None` says nothing.
#[inline]
pub(crate) fn known_hash(text: &Bound<'_, PyString>) -> Option<isize> {
    layout(text.py())?;
    // SAFETY: it is a live text for as long as it is borrowed, and texts are laid out so.
    let hash = unsafe { (*text.as_ptr().cast::<LaidOut>()).hash };
    (hash != NOT_HASHED).then_some(hash)
}

/// Whether texts lie in memory as expected.
pub(super) fn is_laid_out_so(py: Python<'_>) -> bool {
    layout(py).is_some()
}

/// How texts lie in memory, if it is as expected. Found out once, from the version of the
/// interpreter and what stands in some.
#[inline]
fn layout(py: Python<'_>) -> Option<Layout> {
    static FOUND: OnceLock<Option<Layout>> = OnceLock::new();
    *FOUND.get_or_init(|| find(py))
}

/// Compares what lies in memory with what the interpreter says.
fn find(py: Python<'_>) -> Option<Layout> {
    if !is_known_version(py) {
        return None;
    }
    let layout = Layout {
        head_bytes: head_bytes(&PyString::new(py, "a text"))?,
    };
    let long = "text".repeat(99);
    let ascii = ["", "a", "some more", "\0\x7f", long.as_str()];
    let others = ["\u{80}", "a\u{ff}", "\u{20ac}b", "a\u{10000}"];
    let is_so = ascii.iter().all(|text| is_read_alike(py, text, layout))
        && others.iter().all(|text| {
            let text = PyString::new(py, text);
            // SAFETY: it is a live text, which is larger than the structure.
            let head = unsafe { &*text.as_ptr().cast::<LaidOut>() };
            head.state & IS_COMPACT_ASCII != IS_COMPACT_ASCII
        });
    is_so.then_some(layout)
}

/// How far into a text its own bytes begin: those of an ASCII text are asked for without a copy.
fn head_bytes(text: &Bound<'_, PyString>) -> Option<usize> {
    let first = text.to_str().ok()?.as_ptr() as usize;
    let head_bytes = first.checked_sub(text.as_ptr() as usize)?;
    (mem::size_of::<LaidOut>()..=2 * mem::size_of::<LaidOut>())
        .contains(&head_bytes)
        .then_some(head_bytes)
}

/// Whether an ASCII text, interned and not, lies in memory as expected.
fn is_read_alike(py: Python<'_>, text: &str, layout: Layout) -> bool {
    let made = [PyString::new(py, text), PyString::intern(py, text)];
    made.iter().all(|made| {
        let Ok(hash) = made.hash() else { return false };
        // SAFETY: it is a live text, which is larger than the structure; every value of its fields
        // is a valid one.
        let head = unsafe { &*made.as_ptr().cast::<LaidOut>() };
        head.class == made.get_type().as_type_ptr()
            && usize::try_from(head.length_chars) == Ok(text.len())
            && head.hash == hash
            && head.state & IS_COMPACT_ASCII == IS_COMPACT_ASCII
            && head_bytes(made) == Some(layout.head_bytes)
            && made.to_str().is_ok_and(|bytes| bytes == text)
    })
}
