//! Fingerprints that are worked out when somebody looks at them.

use std::slice;

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::Fingerprint;

use crate::cache::{FingerprintCache, Memory};
use crate::text;

/// The fingerprint of a text, known or not. A plain text does not change, so that to hash it can
/// wait as long as it is held.
pub(crate) enum LateFingerprint {
    Known(Fingerprint),
    /// Of a text whose type is exactly `str`.
    Of(Py<PyAny>),
}

impl LateFingerprint {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Known(fingerprint) => Self::Known(*fingerprint),
            Self::Of(text) => Self::Of(text.clone_ref(py)),
        }
    }
}

/// Works fingerprints out, with what a cache knows: each is found there by the next call.
pub(crate) struct Hashing<'a> {
    cache: &'a Py<FingerprintCache>,
    memory: Option<Box<Memory>>,
}

impl<'a> Hashing<'a> {
    /// Takes out what is in the cache, until this is dropped.
    pub(crate) fn with(cache: &'a Py<FingerprintCache>) -> Self {
        let memory = cache.get().take();
        Self { cache, memory }
    }

    pub(crate) fn fingerprint(
        &mut self,
        py: Python<'_>,
        late: &LateFingerprint,
    ) -> PyResult<Fingerprint> {
        match (late, &mut self.memory) {
            (LateFingerprint::Known(fingerprint), _) => Ok(*fingerprint),
            (LateFingerprint::Of(text), Some(memory)) => memory.fingerprint_of(text.bind(py)),
            (LateFingerprint::Of(text), None) => {
                text::fingerprint(slice::from_ref(text.bind(py).cast::<PyString>()?))
            }
        }
    }
}

impl Drop for Hashing<'_> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.cache.get().put(memory);
        }
    }
}
