//! Reading the elements of a message list.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::blocks::is_plain;
use super::layout::{Layout, NO_VALUES};
use super::text::Name;

/// A message of a plain dict, or of a record that is one and wraps one.
pub(crate) struct PlainMessage<'py> {
    pub(crate) is_assistant: bool,
    pub(crate) content: Option<Bound<'py, PyAny>>,
    /// Not empty; of an assistant message only.
    pub(crate) id: Option<Bound<'py, PyString>>,
    pub(crate) is_sidechain: bool,
    pub(crate) agent_id: Option<Bound<'py, PyString>>,
}

/// Reads elements that are plain dicts with plain texts.
pub(crate) struct MessageReader {
    pub(super) element: Layout<7>,
    pub(super) inner: Layout<3>,
    user: Name,
    assistant: Name,
}

/// The values of an element; each is null or borrowed from it.
struct Element {
    inner: *mut ffi::PyObject,
    role: *mut ffi::PyObject,
    content: *mut ffi::PyObject,
    id: *mut ffi::PyObject,
    is_sidechain: *mut ffi::PyObject,
    agent_id: *mut ffi::PyObject,
    kind: *mut ffi::PyObject,
}

/// What a role or type says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Missing,
    User,
    Assistant,
    Unknown,
}

impl MessageReader {
    pub(crate) fn new(py: Python<'_>) -> Self {
        let names = [
            "message",
            "role",
            "content",
            "id",
            "isSidechain",
            "agentId",
            "type",
        ];
        Self {
            element: Layout::new(py, names),
            inner: Layout::new(py, ["role", "content", "id"]),
            user: Name::new(py, "user"),
            assistant: Name::new(py, "assistant"),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            element: self.element.clone_ref(py),
            inner: self.inner.clone_ref(py),
            user: self.user.clone_ref(py),
            assistant: self.assistant.clone_ref(py),
        }
    }

    /// Reads one element. The outer `None`: it must be read in the general way; the inner one: it
    /// is no user or assistant message.
    #[expect(clippy::option_option, reason = "both are said above")]
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every message"
    )]
    pub(crate) fn read<'py>(
        &mut self,
        element: &Bound<'py, PyDict>,
    ) -> Option<Option<PlainMessage<'py>>> {
        let py = element.py();
        // A subclass may look its keys up in its own way.
        element.cast_exact::<PyDict>().ok()?;
        // SAFETY: the element is alive for as long as it is borrowed, and until the references are
        // taken in `to_message` nothing runs that could change it or a dict in it.
        unsafe {
            let mut values = NO_VALUES;
            self.element.read(py, element.as_ptr(), &mut values)?;
            let [inner, role, content, id, is_sidechain, agent_id, kind, ..] = values;
            let mut element = Element {
                inner,
                role,
                content,
                id,
                is_sidechain,
                agent_id,
                kind,
            };
            let Some(is_assistant) = self.is_assistant(py, &mut element)? else {
                return Some(None);
            };
            to_message(py, is_assistant, &element).map(Some)
        }
    }

    /// Tells what an element is, and puts what a record wraps in its place; as for [`Self::read`].
    ///
    /// # Safety
    ///
    /// The values are null or live objects.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every message"
    )]
    #[expect(clippy::option_option, reason = "as for `read`")]
    unsafe fn is_assistant(
        &mut self,
        py: Python<'_>,
        element: &mut Element,
    ) -> Option<Option<bool>> {
        // SAFETY: the caller vouches for the values; those of `inner` are borrowed from a live dict.
        unsafe {
            let mut kind = Kind::Missing;
            if !element.inner.is_null() {
                if ffi::PyDict_CheckExact(element.inner) == 0 {
                    return None;
                }
                kind = self.kind(py, element.kind)?;
                if kind == Kind::Unknown {
                    return Some(None);
                }
                let mut values = NO_VALUES;
                self.inner.read(py, element.inner, &mut values)?;
                [element.role, element.content, element.id, ..] = values;
                if is_empty(element.role) {
                    element.role = std::ptr::null_mut();
                }
            }
            let role = match self.kind(py, element.role)? {
                Kind::Missing => kind,
                role => role,
            };
            Some(match role {
                Kind::User => Some(false),
                Kind::Assistant => Some(true),
                Kind::Missing | Kind::Unknown => None,
            })
        }
    }

    /// What a role or type says; `None` if it is no plain text.
    ///
    /// # Safety
    ///
    /// `value` is null or a live object.
    unsafe fn kind(&self, py: Python<'_>, value: *mut ffi::PyObject) -> Option<Kind> {
        if value.is_null() {
            return Some(Kind::Missing);
        }
        // SAFETY: the caller vouches for `value`, and its type is looked at first.
        unsafe {
            if !is_plain(value) {
                None
            } else if self.user.is(py, value) {
                Some(Kind::User)
            } else if self.assistant.is(py, value) {
                Some(Kind::Assistant)
            } else {
                Some(Kind::Unknown)
            }
        }
    }
}

/// Takes references to what is needed of an element; `None` if a value is of an unusual type.
///
/// # Safety
///
/// The values are null or live objects.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "of two walks each calls it for every message"
)]
unsafe fn to_message<'py>(
    py: Python<'py>,
    is_assistant: bool,
    element: &Element,
) -> Option<PlainMessage<'py>> {
    // SAFETY: the caller vouches for the values.
    unsafe {
        let id = if is_assistant {
            optional_text(py, element.id)?
        } else {
            None
        };
        Some(PlainMessage {
            is_assistant,
            content: Bound::from_borrowed_ptr_or_opt(py, element.content),
            id: id.filter(|id| !is_empty(id.as_ptr())),
            is_sidechain: element.is_sidechain == ffi::Py_True(),
            agent_id: optional_text(py, element.agent_id)?,
        })
    }
}

/// A reference to a value that is a plain text or missing; `None` if it is something else.
///
/// # Safety
///
/// `value` is null or a live object.
#[expect(clippy::option_option, reason = "both are said above")]
unsafe fn optional_text(
    py: Python<'_>,
    value: *mut ffi::PyObject,
) -> Option<Option<Bound<'_, PyString>>> {
    if value.is_null() {
        return Some(None);
    }
    // SAFETY: the caller vouches for it, and its type is looked at first.
    unsafe {
        is_plain(value).then(|| Some(Bound::from_borrowed_ptr(py, value).cast_into_unchecked()))
    }
}

/// Whether a value is an empty text.
///
/// # Safety
///
/// `value` is null or a live object.
unsafe fn is_empty(value: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller vouches for it, and its type is looked at first.
    unsafe { is_plain(value) && ffi::PyUnicode_GetLength(value) == 0 }
}
