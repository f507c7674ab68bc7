//! Going over the entries of plain dicts.

use std::mem;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::is_known_version;

/// What [`LaidOutKeys::kind`] says of keys that are all texts and belong to one dict.
const TEXTS_OF_ONE_DICT: u8 = 1;

/// A dict as `CPython` has laid it out since 3.11, where it has a GIL.
///
/// The stable interface hides it, and gives entries by a call each: that is most of what it takes
/// to tell that a conversation is the same as before. So dicts are read as they lie where
/// [`is_laid_out_so`] has found them as it is written here, and by calls elsewhere.
#[repr(C)]
struct LaidOut {
    references: ffi::Py_ssize_t,
    class: *mut ffi::PyTypeObject,
    used: ffi::Py_ssize_t,
    /// A version of the contents up to 3.13, what belongs to watchers from 3.14 on; not read.
    tag: u64,
    keys: *const LaidOutKeys,
    /// Null unless the keys are shared with other dicts.
    values: *const u8,
}

/// What stands before the index and the entries of a dict.
#[repr(C)]
struct LaidOutKeys {
    references: ffi::Py_ssize_t,
    log2_size: u8,
    log2_index_bytes: u8,
    kind: u8,
    version: u32,
    usable: ffi::Py_ssize_t,
    entries: ffi::Py_ssize_t,
}

/// One entry; the value is null if it was taken out.
#[repr(C)]
pub(super) struct LaidOutEntry {
    pub(super) key: *mut ffi::PyObject,
    pub(super) value: *mut ffi::PyObject,
}

/// How many entries a dict has.
///
/// # Safety
///
/// `dict` is a live object whose type is exactly `dict`.
#[inline]
pub(super) unsafe fn size_of(py: Python<'_>, dict: *mut ffi::PyObject) -> ffi::Py_ssize_t {
    if is_laid_out_so(py) {
        // SAFETY: the caller vouches for the dict, and dicts are laid out so.
        return unsafe { (*dict.cast::<LaidOut>()).used };
    }
    // SAFETY: the caller vouches for the dict.
    unsafe { ffi::PyDict_Size(dict) }
}

/// Whether a dict has no entry; it is asked for every result.
#[inline]
pub(crate) fn is_empty(dict: &Bound<'_, PyDict>) -> bool {
    if !dict.is_exact_instance_of::<PyDict>() {
        return dict.len() == 0;
    }
    // SAFETY: it is a live dict for as long as it is borrowed, of exactly that type.
    unsafe { size_of(dict.py(), dict.as_ptr()) == 0 }
}

/// The entries of a dict in which they lie as expected and none was taken out; as for
/// [`all_entries`], nothing may change the dict while they are used.
///
/// # Safety
///
/// `dict` is a live object whose type is exactly `dict`.
#[inline]
pub(super) unsafe fn whole_entries<'a>(
    py: Python<'_>,
    dict: *mut ffi::PyObject,
) -> Option<&'a [LaidOutEntry]> {
    if !is_laid_out_so(py) {
        return None;
    }
    // SAFETY: the caller vouches for the dict, and dicts are laid out so.
    unsafe {
        let used = (*dict.cast::<LaidOut>()).used;
        entries_of(dict).filter(|entries| entries.len() == used.cast_unsigned())
    }
}

/// Shows each key and value of a dict, until it is told to stop; tells whether it never was.
///
/// # Safety
///
/// `dict` is a live object whose type is exactly `dict`, and `visit` neither changes it nor runs
/// Python code.
#[inline]
pub(super) unsafe fn all_entries(
    py: Python<'_>,
    dict: *mut ffi::PyObject,
    mut visit: impl FnMut(*mut ffi::PyObject, *mut ffi::PyObject) -> bool,
) -> bool {
    if is_laid_out_so(py) {
        // SAFETY: the caller vouches for the dict, and dicts are laid out so.
        if let Some(entries) = unsafe { entries_of(dict) } {
            return entries
                .iter()
                .all(|entry| entry.value.is_null() || visit(entry.key, entry.value));
        }
    }
    // SAFETY: the caller vouches for the dict.
    unsafe { all_entries_by_calls(dict, visit) }
}

/// # Safety
///
/// As for [`all_entries`].
unsafe fn all_entries_by_calls(
    dict: *mut ffi::PyObject,
    mut visit: impl FnMut(*mut ffi::PyObject, *mut ffi::PyObject) -> bool,
) -> bool {
    let mut position: ffi::Py_ssize_t = 0;
    let (mut key, mut value) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller vouches for the dict; nothing in this loop changes it, so that `position`
    // stays what the function made of it.
    while unsafe { ffi::PyDict_Next(dict, &raw mut position, &raw mut key, &raw mut value) } != 0 {
        if !visit(key, value) {
            return false;
        }
    }
    true
}

/// The entries of a dict with keys of its own that are all texts, as nearly all are.
///
/// # Safety
///
/// `dict` is a live object whose type is exactly `dict`, dicts are laid out as [`LaidOut`] says, and
/// nothing changes this one while the slice is used.
#[inline]
unsafe fn entries_of<'a>(dict: *mut ffi::PyObject) -> Option<&'a [LaidOutEntry]> {
    // SAFETY: the caller vouches for it; a dict always has keys, if only those of the empty one.
    let (keys, is_shared, head) = unsafe {
        let laid_out = &*dict.cast::<LaidOut>();
        (laid_out.keys, !laid_out.values.is_null(), &*laid_out.keys)
    };
    if is_shared || head.kind != TEXTS_OF_ONE_DICT {
        return None;
    }
    let count = usize::try_from(head.entries).ok()?;
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: behind the head stand an index of so many bytes, and then the entries, which are
    // aligned as pointers are. All of it is one piece of memory.
    Some(unsafe {
        let index_bytes = 1_usize << head.log2_index_bytes;
        let first = keys.add(1).byte_add(index_bytes).cast::<LaidOutEntry>();
        slice::from_raw_parts(first, count)
    })
}

/// Whether dicts lie in memory as expected. Found out once, from the version of the interpreter,
/// the size that `dict` names for its objects, and what stands in some.
#[inline]
pub(super) fn is_laid_out_so(py: Python<'_>) -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| is_known(py) && holds_for_some(py).unwrap_or(false))
}

fn is_known(py: Python<'_>) -> bool {
    let size = py.get_type::<PyDict>().getattr("__basicsize__");
    is_known_version(py)
        && size
            .and_then(|size| size.extract::<usize>())
            .is_ok_and(|size| size == mem::size_of::<LaidOut>())
}

/// Compares what lies in memory with what the interpreter says: of dicts of several sizes, one with
/// a gap, and one whose keys are no texts.
fn holds_for_some(py: Python<'_>) -> PyResult<bool> {
    for entries in [1, 3, 5, 6, 200] {
        let dict = PyDict::new(py);
        for number in 0..entries {
            dict.set_item(format!("key {number}"), number)?;
        }
        if !is_read_alike(&dict) {
            return Ok(false);
        }
        dict.del_item("key 0")?;
        if !is_read_alike(&dict) {
            return Ok(false);
        }
        dict.set_item(0, 0)?;
        // SAFETY: it is a live dict, as large as the structure; what `keys` points to is checked
        // by what was read of the same dict before.
        if unsafe { entries_of(dict.as_ptr()) }.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a dict with keys that are all texts, which was just made, lies in memory as expected.
fn is_read_alike(dict: &Bound<'_, PyDict>) -> bool {
    let mut expected = Vec::new();
    // SAFETY: it is a live dict, and nothing changes it.
    unsafe {
        all_entries_by_calls(dict.as_ptr(), |key, value| {
            expected.push((key, value));
            true
        });
    }
    // SAFETY: an object of this type is as large as the structure, so that reading it stays inside;
    // every value of its fields is a valid one.
    let laid_out = unsafe { &*dict.as_ptr().cast::<LaidOut>() };
    if laid_out.class != dict.get_type().as_type_ptr()
        || laid_out.used != ffi::Py_ssize_t::try_from(dict.len()).unwrap_or(-1)
        || !laid_out.values.is_null()
        || laid_out.keys.is_null()
    {
        return false;
    }
    // SAFETY: type, size and values stand where they are expected, and so do the keys then.
    let Some(entries) = (unsafe { entries_of(dict.as_ptr()) }) else {
        return false;
    };
    let found = entries.iter().filter(|entry| !entry.value.is_null());
    found.map(|entry| (entry.key, entry.value)).eq(expected)
}
