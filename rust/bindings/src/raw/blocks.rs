//! Reading the blocks of a message's content.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::layout::{Layout, NO_VALUES};
use super::lists::plain_items;
use super::text::Name;

/// One item of a list, as far as it was read.
pub(crate) enum Read<T> {
    /// There is no such item.
    End,
    /// A block of another type.
    Other,
    /// What was looked for.
    Block(T),
    /// It must be read in the general way.
    Odd,
}

/// A `tool_result` block with an id and content.
pub(crate) struct ToolResult<'py> {
    pub(crate) tool_use_id: Bound<'py, PyString>,
    pub(crate) content: Bound<'py, PyAny>,
    pub(crate) has_toolset: bool,
}

/// A `tool_use` block with an id and without a caller.
pub(crate) struct ToolCall<'py> {
    pub(crate) tool_use_id: Bound<'py, PyString>,
    pub(crate) tool_name: Option<Bound<'py, PyString>>,
}

/// Reads blocks that are plain dicts with plain texts.
pub(crate) struct BlockReader {
    pub(super) result: Layout<4>,
    pub(super) call: Layout<4>,
    pub(super) text: Layout<2>,
    pub(super) tool_result: Name,
    pub(super) tool_use: Name,
    pub(super) text_type: Name,
}

impl BlockReader {
    pub(crate) fn new(py: Python<'_>) -> Self {
        Self {
            result: Layout::new(py, ["type", "tool_use_id", "content", "toolset_name"]),
            call: Layout::new(py, ["type", "id", "name", "caller"]),
            text: Layout::new(py, ["type", "text"]),
            tool_result: Name::new(py, "tool_result"),
            tool_use: Name::new(py, "tool_use"),
            text_type: Name::new(py, "text"),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            result: self.result.clone_ref(py),
            call: self.call.clone_ref(py),
            text: self.text.clone_ref(py),
            tool_result: self.tool_result.clone_ref(py),
            tool_use: self.tool_use.clone_ref(py),
            text_type: self.text_type.clone_ref(py),
        }
    }

    /// Reads an item of a user message's content.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every block"
    )]
    pub(crate) fn result<'py>(
        &mut self,
        content: &Bound<'py, PyList>,
        index: usize,
    ) -> Read<ToolResult<'py>> {
        let py = content.py();
        let block = match item(content, index) {
            Read::Block(block) => block,
            other => return other.into_end_or_odd(),
        };
        // SAFETY: `item` gives live dicts only, and until the references are taken below nothing
        // runs that could change one.
        unsafe {
            let mut values = NO_VALUES;
            if self.result.read(py, block, &mut values).is_none() {
                return Read::Odd;
            }
            let [kind, tool_use_id, content, toolset_name, ..] = values;
            match is_of_type(py, kind, &self.tool_result) {
                Some(true) if is_plain(tool_use_id) && !content.is_null() => {}
                Some(false) => return Read::Other,
                _ => return Read::Odd,
            }
            Read::Block(ToolResult {
                tool_use_id: Bound::from_borrowed_ptr(py, tool_use_id).cast_into_unchecked(),
                content: Bound::from_borrowed_ptr(py, content),
                has_toolset: !toolset_name.is_null(),
            })
        }
    }

    /// Reads an item of an assistant message's content.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every block"
    )]
    pub(crate) fn call<'py>(
        &mut self,
        content: &Bound<'py, PyList>,
        index: usize,
    ) -> Read<ToolCall<'py>> {
        let py = content.py();
        let block = match item(content, index) {
            Read::Block(block) => block,
            other => return other.into_end_or_odd(),
        };
        // SAFETY: as in `result`.
        unsafe {
            let mut values = NO_VALUES;
            if self.call.read(py, block, &mut values).is_none() {
                return Read::Odd;
            }
            let [kind, tool_use_id, tool_name, caller, ..] = values;
            let has_plain_name = tool_name.is_null() || is_plain(tool_name);
            match is_of_type(py, kind, &self.tool_use) {
                Some(true) if is_plain(tool_use_id) && has_plain_name && caller.is_null() => {}
                Some(false) => return Read::Other,
                _ => return Read::Odd,
            }
            Read::Block(ToolCall {
                tool_use_id: Bound::from_borrowed_ptr(py, tool_use_id).cast_into_unchecked(),
                tool_name: Bound::from_borrowed_ptr_or_opt(py, tool_name)
                    .map(|name| name.cast_into_unchecked()),
            })
        }
    }

    /// Reads an item of a result's content: the text of a text block.
    pub(crate) fn text<'py>(
        &mut self,
        content: &Bound<'py, PyList>,
        index: usize,
    ) -> Read<Bound<'py, PyString>> {
        let py = content.py();
        let block = match item(content, index) {
            Read::Block(block) => block,
            other => return other.into_end_or_odd(),
        };
        // SAFETY: as in `result`.
        unsafe {
            let mut values = NO_VALUES;
            if self.text.read(py, block, &mut values).is_none() {
                return Read::Odd;
            }
            let [kind, text, ..] = values;
            match is_of_type(py, kind, &self.text_type) {
                Some(true) if is_plain(text) => {}
                Some(false) => return Read::Other,
                _ => return Read::Odd,
            }
            Read::Block(Bound::from_borrowed_ptr(py, text).cast_into_unchecked())
        }
    }
}

impl<T> Read<T> {
    /// The same of something else, for what is no block.
    pub(crate) fn without_block<U>(self) -> Read<U> {
        match self {
            Self::End => Read::End,
            Self::Other => Read::Other,
            Self::Block(_) | Self::Odd => Read::Odd,
        }
    }
}

impl Read<*mut ffi::PyObject> {
    /// What is to be said of an item that is no dict.
    fn into_end_or_odd<T>(self) -> Read<T> {
        match self {
            Self::End => Read::End,
            _ => Read::Odd,
        }
    }
}

/// An item whose type is exactly `dict`, borrowed from a plain list.
#[inline]
fn item(list: &Bound<'_, PyList>, index: usize) -> Read<*mut ffi::PyObject> {
    // SAFETY: the list is alive for as long as it is borrowed, and nothing changes it here.
    let item = match unsafe { plain_items(list.py(), list.as_ptr()) } {
        Some(items) => items.get(index).map(|item| *item as *mut ffi::PyObject),
        None => item_by_call(list, index),
    };
    let Some(item) = item else {
        return Read::End;
    };
    // SAFETY: the list keeps the item alive while it is not changed; only its type is looked at.
    if unsafe { ffi::PyDict_CheckExact(item) } == 0 {
        return Read::Odd;
    }
    Read::Block(item)
}

/// An item borrowed from a list of any type.
#[cold]
fn item_by_call(list: &Bound<'_, PyList>, index: usize) -> Option<*mut ffi::PyObject> {
    let position = ffi::Py_ssize_t::try_from(index).ok()?;
    // SAFETY: the list is alive for as long as it is borrowed, and has the item that is asked for.
    unsafe {
        let has_item = position < ffi::PyList_Size(list.as_ptr());
        has_item.then(|| ffi::PyList_GetItem(list.as_ptr(), position))
    }
}

/// Whether a value that was read is a plain text.
///
/// # Safety
///
/// `value` is null or a live object.
pub(super) unsafe fn is_plain(value: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller vouches for it.
    !value.is_null() && unsafe { ffi::PyUnicode_CheckExact(value) } != 0
}

/// Whether the `type` of a block is `expected`; `None` if it is no plain text.
///
/// # Safety
///
/// `kind` is null or a live object.
pub(super) unsafe fn is_of_type(
    py: Python<'_>,
    kind: *mut ffi::PyObject,
    expected: &Name,
) -> Option<bool> {
    if kind.is_null() {
        return Some(false);
    }
    // SAFETY: the caller vouches for `kind`, and its type is looked at first.
    unsafe { is_plain(kind).then(|| expected.is(py, kind)) }
}
