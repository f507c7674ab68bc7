//! Taking down on a [`Tape`] what reading a plain message depends on.
//!
//! It follows the readers of messages and blocks: whatever they look at is taken down.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Readers;
use super::blocks::{BlockReader, is_of_type, is_plain};
use super::dicts::{all_entries, size_of};
use super::layout::{Layout, NO_VALUES};
use super::lists::all_items;
use super::tape::{Entry, Tape, dict_of, list_of};

/// How a value of a dict counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// Not at all.
    No,
    /// It must stay the very same object, and be one that does not change.
    Same,
    /// It is a dict or a list that is gone through itself.
    Inside,
}

impl Tape {
    /// Takes a message down; `false` if something that counts in it may change unseen, or may be
    /// read by Python code: then nothing is taken down.
    ///
    /// No Python code runs meanwhile, nor while a message is read that was taken down.
    pub(crate) fn record(&mut self, readers: &mut Readers, message: &Bound<'_, PyAny>) -> bool {
        let is_done = self.record_message(readers, message).is_some();
        if is_done {
            self.end_message();
        } else {
            self.truncate(self.len());
        }
        is_done
    }

    fn record_message(&mut self, readers: &mut Readers, message: &Bound<'_, PyAny>) -> Option<()> {
        let py = message.py();
        let element = message.cast_exact::<PyDict>().ok()?;
        let plain = readers.messages.read(element)?;
        let is_assistant = plain.map(|message| message.is_assistant);
        let id_counts = if is_assistant == Some(true) {
            Counts::Same
        } else {
            Counts::No
        };
        let element = element.as_ptr();
        // SAFETY: the element is alive, and below nothing runs that could change it or what is in it.
        unsafe {
            let mut values = NO_VALUES;
            readers.messages.element.read(py, element, &mut values)?;
            let [wrapped, _, content, ..] = values;
            let layout = &mut readers.messages.element;
            let same = Counts::Same;
            if wrapped.is_null() {
                let content_counts = how_content_counts(is_assistant, content);
                let counts = [
                    same,
                    same,
                    content_counts,
                    id_counts,
                    same,
                    same,
                    Counts::No,
                ];
                self.record_dict(py, layout, element, counts)?;
                return self.record_content(py, &mut readers.blocks, is_assistant, content);
            }
            // What wraps a message has no say in what that says itself.
            let no = Counts::No;
            let counts = [Counts::Inside, no, no, no, same, same, same];
            self.record_dict(py, layout, element, counts)?;
            let mut values = NO_VALUES;
            readers.messages.inner.read(py, wrapped, &mut values)?;
            let [_, content, ..] = values;
            let counts = [same, how_content_counts(is_assistant, content), id_counts];
            self.record_dict(py, &mut readers.messages.inner, wrapped, counts)?;
            self.record_content(py, &mut readers.blocks, is_assistant, content)
        }
    }

    /// Takes down the blocks of a message's content, if it is a list of them.
    ///
    /// # Safety
    ///
    /// `content` is null or a live object.
    unsafe fn record_content(
        &mut self,
        py: Python<'_>,
        blocks: &mut BlockReader,
        is_assistant: Option<bool>,
        content: *mut ffi::PyObject,
    ) -> Option<()> {
        // SAFETY: the caller vouches for the content; its items are dicts where that is needed.
        unsafe {
            match (how_content_counts(is_assistant, content), is_assistant) {
                (Counts::Inside, Some(true)) => self.record_list(py, content, |tape, block| {
                    tape.record_call(py, blocks, block)
                }),
                (Counts::Inside, _) => self.record_list(py, content, |tape, block| {
                    tape.record_result(py, blocks, block)
                }),
                _ => Some(()),
            }
        }
    }

    /// # Safety
    ///
    /// `block` is a live object whose type is exactly `dict`.
    unsafe fn record_call(
        &mut self,
        py: Python<'_>,
        blocks: &mut BlockReader,
        block: *mut ffi::PyObject,
    ) -> Option<()> {
        // SAFETY: the caller vouches for the block.
        unsafe {
            let mut values = NO_VALUES;
            blocks.call.read(py, block, &mut values)?;
            let [kind, ..] = values;
            let counts = if is_of_type(py, kind, &blocks.tool_use)? {
                [Counts::Same; 4]
            } else {
                [Counts::Same, Counts::No, Counts::No, Counts::No]
            };
            self.record_dict(py, &mut blocks.call, block, counts)
        }
    }

    /// # Safety
    ///
    /// `block` is a live object whose type is exactly `dict`.
    unsafe fn record_result(
        &mut self,
        py: Python<'_>,
        blocks: &mut BlockReader,
        block: *mut ffi::PyObject,
    ) -> Option<()> {
        // SAFETY: the caller vouches for the block, and its content is a list if it is gone through.
        unsafe {
            let mut values = NO_VALUES;
            blocks.result.read(py, block, &mut values)?;
            let [kind, _, content, ..] = values;
            if !is_of_type(py, kind, &blocks.tool_result)? {
                let counts = [Counts::Same, Counts::No, Counts::No, Counts::No];
                return self.record_dict(py, &mut blocks.result, block, counts);
            }
            let content_counts = how_content_counts(Some(false), content);
            let counts = [Counts::Same, Counts::Same, content_counts, Counts::Same];
            self.record_dict(py, &mut blocks.result, block, counts)?;
            if content_counts != Counts::Inside {
                return Some(());
            }
            self.record_list(py, content, |tape, block| {
                let mut values = NO_VALUES;
                blocks.text.read(py, block, &mut values)?;
                let [kind, ..] = values;
                let counts = if is_of_type(py, kind, &blocks.text_type)? {
                    [Counts::Same; 2]
                } else {
                    [Counts::Same, Counts::No]
                };
                tape.record_dict(py, &mut blocks.text, block, counts)
            })
        }
    }

    /// Takes down how long a list is, and its items, which must be dicts.
    ///
    /// # Safety
    ///
    /// `list` is a live object whose type is exactly `list`; `record_item` changes nothing.
    unsafe fn record_list(
        &mut self,
        py: Python<'_>,
        list: *mut ffi::PyObject,
        mut record_item: impl FnMut(&mut Self, *mut ffi::PyObject) -> Option<()>,
    ) -> Option<()> {
        // SAFETY: the caller vouches for the list and for what is done with its items.
        unsafe {
            self.counts.push(list_of(ffi::PyList_Size(list)));
            all_items(py, list, |item| {
                ffi::PyDict_CheckExact(item) != 0 && record_item(self, item).is_some()
            })
            .then_some(())
        }
    }

    /// Takes down the keys of a dict and the values that count.
    ///
    /// # Safety
    ///
    /// `dict` is a live object whose type is exactly `dict`.
    unsafe fn record_dict<const N: usize>(
        &mut self,
        py: Python<'_>,
        layout: &mut Layout<N>,
        dict: *mut ffi::PyObject,
        counts: [Counts; N],
    ) -> Option<()> {
        let mut entry = 0;
        // SAFETY: the caller vouches for the dict, which keeps its keys and values alive; nothing
        // below changes it or runs Python code.
        unsafe {
            let size = size_of(py, dict);
            self.counts.push(dict_of(size));
            all_entries(py, dict, |key, value| {
                let known = layout.field_at(py, size.cast_unsigned(), entry, key);
                let Some(field) = known else {
                    return false;
                };
                let counts = counts.get(field).copied().unwrap_or(Counts::No);
                let value = match counts {
                    Counts::No => None,
                    Counts::Inside => Some(self.mark.clone_ref(py)),
                    Counts::Same if does_not_change(value) => {
                        Some(Bound::from_borrowed_ptr(py, value).unbind())
                    }
                    Counts::Same => return false,
                };
                let key = Bound::from_borrowed_ptr(py, key).unbind();
                self.entries.push(Entry { key, value });
                entry += 1;
                true
            })
            .then_some(())
        }
    }
}

/// # Safety
///
/// `content` is null or a live object.
unsafe fn how_content_counts(is_assistant: Option<bool>, content: *mut ffi::PyObject) -> Counts {
    if is_assistant.is_none() {
        return Counts::No;
    }
    // SAFETY: the caller vouches for the content.
    if !content.is_null() && unsafe { ffi::PyList_CheckExact(content) } != 0 {
        Counts::Inside
    } else {
        Counts::Same
    }
}

/// Whether an object is one of those that stay what they are.
///
/// # Safety
///
/// `value` is a live object.
unsafe fn does_not_change(value: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller vouches for the value; the others are alive as long as the interpreter.
    unsafe {
        is_plain(value)
            || value == ffi::Py_None()
            || value == ffi::Py_True()
            || value == ffi::Py_False()
    }
}
