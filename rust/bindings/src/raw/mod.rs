//! The one place with `unsafe` code: reading plain dicts, lists and texts without a call or a
//! reference for each value.
//!
//! Everything here looks at objects whose type is exactly `dict`, `list` or `str`, and runs no
//! Python code on the way: so what is borrowed from an object stays alive and where it is until a
//! function of this module returns. What it returns are references of its own. Where an object
//! is of another kind, the answer is that it must be read in the general way.

#![expect(
    unsafe_code,
    reason = "the safe interface takes two references and a call for each value"
)]

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

mod ascii;
mod blocks;
mod dicts;
mod layout;
mod lists;
mod messages;
mod recorder;
mod rewritten;
mod slotted;
mod tape;
mod text;
mod tuples;

pub(crate) use ascii::{known_ascii, known_hash};
pub(crate) use blocks::{BlockReader, Read, ToolResult};
pub(crate) use dicts::is_empty;
pub(crate) use lists::{begin_alike, begins_with, has_one_owner};
pub(crate) use messages::{MessageReader, PlainMessage};
pub(crate) use rewritten::RewrittenReader;
pub(crate) use slotted::SlottedClass;
pub(crate) use tape::Tape;
pub(crate) use text::{append, first_char, is_ascii, is_same_text, length_chars, part};
pub(crate) use tuples::named_tuple;

/// What reads messages and blocks, with what it has learned about the host's dicts.
pub(crate) struct Readers {
    pub(crate) messages: MessageReader,
    pub(crate) blocks: BlockReader,
}

impl Readers {
    /// Makes new ones; the names that they look for are looked up once for all of them.
    pub(crate) fn new(py: Python<'_>) -> Self {
        static UNUSED: PyOnceLock<Readers> = PyOnceLock::new();
        let unused = UNUSED.get_or_init(py, || Self {
            messages: MessageReader::new(py),
            blocks: BlockReader::new(py),
        });
        Self {
            messages: unused.messages.clone_ref(py),
            blocks: unused.blocks.clone_ref(py),
        }
    }
}
