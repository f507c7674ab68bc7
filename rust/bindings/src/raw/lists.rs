//! Comparing the items of plain lists.

use std::mem;
use std::slice;
use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A list as `CPython` has laid it out in every version since 2.4.
///
/// The stable interface hides it, and gives items by a call each: for a comparison that takes less
/// than one instruction an item, that is more than a tenfold. So it is read as it lies where
/// [`is_laid_out_so`] has found it as it is written here, and by calls elsewhere.
#[repr(C)]
struct LaidOut {
    references: ffi::Py_ssize_t,
    kind: *mut ffi::PyTypeObject,
    size: ffi::Py_ssize_t,
    /// Addresses: as numbers they are compared many at a time, which pointers are not.
    items: *const usize,
    allocated: ffi::Py_ssize_t,
}

/// Whether a list begins with the very objects of another one.
pub(crate) fn begins_with(list: &Bound<'_, PyList>, beginning: &Bound<'_, PyList>) -> bool {
    begin_alike(list, beginning, beginning.len())
}

/// Whether two lists have at least so many items, and so many of the very same ones first.
pub(crate) fn begin_alike(
    one: &Bound<'_, PyList>,
    other: &Bound<'_, PyList>,
    items: usize,
) -> bool {
    if one.len() < items || other.len() < items {
        return false;
    }
    if !is_laid_out_so(one.py()) {
        let mut pairs = one.iter().zip(other.iter()).take(items);
        return pairs.all(|(item, wanted)| item.is(&wanted));
    }
    // SAFETY: both are live objects of type `list`, or of a subclass, which begins as a list does;
    // nothing runs below that could change one.
    let (first, second) = unsafe { (items_of(one), items_of(other)) };
    matches!((first.get(..items), second.get(..items)), (Some(a), Some(b)) if a == b)
}

/// Whether there is no other reference to a list than the one that is shown.
pub(crate) fn has_one_owner(list: &Bound<'_, PyList>) -> bool {
    // SAFETY: it is a live object, and the interpreter is held.
    unsafe { ffi::Py_REFCNT(list.as_ptr()) == 1 }
}

/// Shows each item of a list, until it is told to stop; tells whether it never was.
///
/// # Safety
///
/// `list` is a live object whose type is exactly `list`, and `visit` neither changes it nor runs
/// Python code.
#[inline]
pub(super) unsafe fn all_items(
    py: Python<'_>,
    list: *mut ffi::PyObject,
    mut visit: impl FnMut(*mut ffi::PyObject) -> bool,
) -> bool {
    // SAFETY: the caller vouches for the list.
    let list = unsafe { Bound::from_borrowed_ptr(py, list).cast_into_unchecked::<PyList>() };
    if is_laid_out_so(py) {
        // SAFETY: lists are laid out so, and the caller vouches that nothing changes this one.
        let items = unsafe { items_of(&list) };
        return items.iter().all(|item| visit(*item as *mut ffi::PyObject));
    }
    list.iter().all(|item| visit(item.as_ptr()))
}

/// The addresses of the items of an object, if it is a plain list and lists lie as expected.
///
/// # Safety
///
/// It is a live object, and nothing changes it while the slice is used.
#[inline]
pub(super) unsafe fn plain_items<'a>(
    py: Python<'_>,
    object: *mut ffi::PyObject,
) -> Option<&'a [usize]> {
    // SAFETY: the caller vouches for it, and only its type is looked at.
    if unsafe { ffi::PyList_CheckExact(object) } == 0 || !is_laid_out_so(py) {
        return None;
    }
    // SAFETY: lists are laid out so, and the caller vouches that nothing changes this one.
    Some(unsafe { items_at(object.cast::<LaidOut>()) })
}

/// The addresses of a list's items.
///
/// # Safety
///
/// Lists are laid out as [`LaidOut`] says, and nothing changes the list while the slice is used.
unsafe fn items_of<'a>(list: &'a Bound<'_, PyList>) -> &'a [usize] {
    // SAFETY: the caller vouches for it, and the list is alive for as long as it is borrowed.
    unsafe { items_at(list.as_ptr().cast::<LaidOut>()) }
}

/// # Safety
///
/// There is a live list, laid out so, which nothing changes while the slice is used.
unsafe fn items_at<'a>(list: *const LaidOut) -> &'a [usize] {
    // SAFETY: the caller vouches for it.
    let laid_out = unsafe { &*list };
    let size = usize::try_from(laid_out.size).unwrap_or(0);
    if size == 0 {
        return &[];
    }
    // SAFETY: a list with items has so many of them there.
    unsafe { slice::from_raw_parts(laid_out.items, size) }
}

/// Whether lists lie in memory as expected. Found out once, from the size that `list` names for its
/// objects and from what stands in one.
#[inline]
pub(super) fn is_laid_out_so(py: Python<'_>) -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| has_expected_size(py) && has_expected_fields(py).unwrap_or(false))
}

fn has_expected_size(py: Python<'_>) -> bool {
    let size = py.get_type::<PyList>().getattr("__basicsize__");
    size.and_then(|size| size.extract::<usize>())
        .is_ok_and(|size| size == mem::size_of::<LaidOut>())
}

fn has_expected_fields(py: Python<'_>) -> PyResult<bool> {
    let list = PyList::new(py, ["first", "second", "third"])?;
    // SAFETY: an object of this type is as large as the structure, so that reading it stays inside;
    // every value of its fields is a valid one.
    let laid_out = unsafe { &*list.as_ptr().cast::<LaidOut>() };
    let is_so = laid_out.kind == list.get_type().as_type_ptr()
        && laid_out.size == 3
        && laid_out.allocated >= 3
        && !laid_out.items.is_null();
    if !is_so {
        return Ok(false);
    }
    // SAFETY: type, size and allocation stand where they are expected, and so do the items then.
    let items = unsafe { items_of(&list) };
    Ok(items
        .iter()
        .zip(list.iter())
        .all(|(item, expected)| *item == expected.as_ptr() as usize))
}
