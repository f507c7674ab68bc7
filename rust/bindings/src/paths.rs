//! The paths that replacements show.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::raw;
use crate::text::{self, PyText, Wtf8};

/// An id with more characters is no file name.
const MOST_ID_CHARS: usize = 100;
/// Names of devices that no file may have are no longer.
const MOST_DEVICE_CHARS: usize = 4;
/// What a name ends with that was made of an odd id: a dash and the digits of a hash.
const HASHED_END_CHARS: usize = 1 + 40;

/// By byte, whether it may stand in a name; one that begins with a dash is another name.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        is_plain[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        byte += 1;
    }
    is_plain
};

/// What [`named_path`] is told of a text that is stored as it is.
pub(crate) const IS_NO_JSON: bool = false;

/// The path of a file named after an id, put together here; `None` for an id that may have another
/// name, which is for the store to say.
pub(crate) fn plain_path<'py>(
    prefix: &Wtf8<'py>,
    tool_use_id: &PyText<'py>,
    is_json: bool,
) -> PyResult<Option<Bound<'py, PyString>>> {
    if plain_name(tool_use_id)?.is_none() {
        return Ok(None);
    }
    named_path(prefix, tool_use_id.as_object(), is_json).map(Some)
}

/// The bytes of an id that is surely its own file name.
pub(crate) fn plain_name<'a>(tool_use_id: &'a PyText<'_>) -> PyResult<Option<&'a [u8]>> {
    let tool_use_id = tool_use_id.as_object();
    let name = match raw::known_ascii(tool_use_id) {
        Some(name) => Some(name),
        None => text::ascii_bytes(tool_use_id)?,
    };
    Ok(name.filter(|name| is_surely_plain(name)))
}

/// The path of a file that is named after such an id.
pub(crate) fn named_path<'py>(
    prefix: &Wtf8<'py>,
    tool_use_id: &Bound<'py, PyString>,
    is_json: bool,
) -> PyResult<Bound<'py, PyString>> {
    let name = text::ascii_bytes(tool_use_id)?.unwrap_or_default();
    let path = [prefix.as_bytes()?, name, extension(is_json)].concat();
    text::from_wtf8(tool_use_id.py(), &path)
}

pub(crate) const fn extension(is_json: bool) -> &'static [u8] {
    if is_json { b".json" } else { b".txt" }
}

/// Whether an id is its own file name. To say no is never wrong.
fn is_surely_plain(name: &[u8]) -> bool {
    if !(MOST_DEVICE_CHARS + 1..=MOST_ID_CHARS).contains(&name.len()) || name[0] == b'-' {
        return false;
    }
    let may_be_hashed = name
        .len()
        .checked_sub(HASHED_END_CHARS)
        .is_some_and(|dash| name[dash] == b'-');
    // Nearly always all of them are: no branch for each of them is quicker.
    !may_be_hashed
        && name.iter().fold(true, |is_plain, byte| {
            is_plain & IS_PLAIN[usize::from(*byte)]
        })
}
