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

/// The last version of `CPython` that was run to see that dicts and texts lie in memory as they are
/// read here. A later one is read by calls, until somebody has run the tests with it.
const LAST_KNOWN_VERSION: (u8, u8) = (3, 15);

/// The types whose objects are read as they lie in memory; all others are read by calls.
pub(crate) fn read_in_place(py: Python<'_>) -> Vec<&'static str> {
    let found = [
        ("dict", dicts::is_laid_out_so(py)),
        ("list", lists::is_laid_out_so(py)),
        ("str", ascii::is_laid_out_so(py)),
    ];
    let laid_out_so = found.into_iter().filter(|(_, is_so)| *is_so);
    laid_out_so.map(|(name, _)| name).collect()
}

/// Whether this interpreter is none that came after the last known one.
fn is_known_version(py: Python<'_>) -> bool {
    let version = py.version_info();
    (version.major, version.minor) <= LAST_KNOWN_VERSION
}

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
