//! Objects of classes with slots, made without running their `__init__`.

use std::mem;
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A class whose `__init__` does nothing but fill `__slots__`, as that of a dataclass, or nothing at
/// all if it is given nothing.
pub(crate) struct SlottedClass<const N: usize> {
    class: Py<PyType>,
    no_arguments: Py<PyTuple>,
    new: ffi::newfunc,
    slots: [Slot; N],
}

/// What fills one slot: the descriptor of the class, and the function of its type.
struct Slot {
    descriptor: Py<PyAny>,
    set: ffi::descrsetfunc,
}

impl<const N: usize> SlottedClass<N> {
    /// Looks up what is needed to fill the named slots.
    pub(crate) fn new(class: Bound<'_, PyType>, names: [&str; N]) -> PyResult<Self> {
        let py = class.py();
        let mut slots = Vec::with_capacity(N);
        for name in names {
            slots.push(Slot::of(&class.getattr(name)?)?);
        }
        // SAFETY: the class is alive; since Python 3.10 the slot of any type may be asked for.
        let new = unsafe { ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_new) };
        // SAFETY: a slot of this number holds a function of this type, or nothing, which is null as
        // the `None` of the option is.
        let new = unsafe { mem::transmute::<*mut std::ffi::c_void, Option<ffi::newfunc>>(new) };
        let (Some(new), Ok(slots)) = (new, slots.try_into()) else {
            return Err(PyTypeError::new_err("no class with slots"));
        };
        Ok(Self {
            class: class.unbind(),
            no_arguments: PyTuple::empty(py).unbind(),
            new,
            slots,
        })
    }

    /// Makes an object with these values in its slots.
    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        values: [Bound<'py, PyAny>; N],
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: this is `class.__new__(class)`; class and arguments are alive.
        let made = unsafe {
            (self.new)(
                self.class.as_ptr().cast(),
                self.no_arguments.as_ptr(),
                ptr::null_mut(),
            )
        };
        // SAFETY: it is null with an error set, or a new reference.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
        for (slot, value) in self.slots.iter().zip(values) {
            // SAFETY: descriptor, object and value are alive, and the function is that of the
            // descriptor's own type; it takes a reference of its own, and checks the object.
            let failed =
                unsafe { (slot.set)(slot.descriptor.as_ptr(), made.as_ptr(), value.as_ptr()) };
            if failed != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(made)
    }
}

impl Slot {
    fn of(descriptor: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = descriptor.get_type();
        // SAFETY: the type is alive; since Python 3.10 the slot of any type may be asked for.
        let set = unsafe { ffi::PyType_GetSlot(kind.as_type_ptr(), ffi::Py_tp_descr_set) };
        // SAFETY: a slot of this number holds a function of this type, or nothing, which is null as
        // the `None` of the option is.
        let set =
            unsafe { mem::transmute::<*mut std::ffi::c_void, Option<ffi::descrsetfunc>>(set) };
        Ok(Self {
            set: set.ok_or_else(|| PyTypeError::new_err("no slot"))?,
            descriptor: descriptor.clone().unbind(),
        })
    }
}
