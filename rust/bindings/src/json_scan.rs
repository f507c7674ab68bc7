//! A body that was scanned, as an object of Python's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};
use toolbudget_core::Fingerprint;
use toolbudget_core::json::{Earlier, JsonError, JsonText, Recalled, Scan, recall};

use crate::classes::Classes;
use crate::error;
use crate::json_standing::Standing;
use crate::text::{self, PyText};

/// From so many bytes on, other threads may run meanwhile: less is done before one could begin.
pub(crate) const LARGE_BYTES: usize = 16 << 10;

/// The body with all that is known about it; it does not change.
#[pyclass(frozen, module = "toolbudget._core._native")]
pub(crate) struct JsonScan {
    #[pyo3(get)]
    body: Py<PyBytes>,
    pub(crate) scan: Scan,
    pub(crate) fingerprints: Vec<Fingerprint>,
    objects: Vec<Objects>,
    standing: Mutex<Standing>,
}

/// What was made for a result when it was asked for; the next scan takes it over.
struct Objects {
    tool_use_id: PyOnceLock<Py<PyString>>,
    fingerprint: PyOnceLock<Py<PyAny>>,
}

impl JsonScan {
    /// Scans a body.
    pub(crate) fn of(body: &Bound<'_, PyBytes>, earlier: Option<&Self>) -> PyResult<Self> {
        let py = body.py();
        let bytes = body.as_bytes();
        let before = earlier.map(|earlier| Earlier {
            body: earlier.bytes(py),
            scan: &earlier.scan,
            fingerprints: &earlier.fingerprints,
        });
        let work = || read(bytes, before);
        let read = if bytes.len() < LARGE_BYTES {
            work()
        } else {
            py.detach(work)
        };
        let (scan, recalled) = read.map_err(|problem| error::invalid_body(py, problem))?;
        let origins = recalled.origins.iter();
        let objects = origins.map(|origin| match (origin, earlier) {
            (Some(origin), Some(earlier)) => earlier.objects[*origin].share(py),
            _ => Objects::new(),
        });
        let standing = earlier.map(|earlier| earlier.standing().share(&recalled.origins, py));
        Ok(Self {
            body: body.clone().unbind(),
            standing: Mutex::new(standing.unwrap_or_default()),
            objects: objects.collect(),
            scan,
            fingerprints: recalled.fingerprints,
        })
    }

    pub(crate) fn body<'py>(&self, py: Python<'py>) -> &Bound<'py, PyBytes> {
        self.body.bind(py)
    }

    pub(crate) fn bytes<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        self.body.as_bytes(py)
    }

    /// What is remembered about decisions.
    pub(crate) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of a result.
    pub(crate) fn tool_use_id<'py>(&self, result: usize, py: Python<'py>) -> PyResult<PyText<'py>> {
        let known = self.objects[result].tool_use_id.get_or_try_init(py, || {
            let span = self.scan.results()[result].tool_use_id;
            let text = JsonText::new(span, self.bytes(py));
            text::from_wtf8(py, text.as_bytes()).map(Bound::unbind)
        })?;
        PyText::new(known.bind(py).clone())
    }

    /// The fingerprint of a result as a `Fingerprint`.
    pub(crate) fn fingerprint<'py>(
        &self,
        result: usize,
        py: Python<'py>,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let known = self.objects[result].fingerprint.get_or_try_init(py, || {
            let classes = Classes::get(py)?;
            let object = classes.new_fingerprint(py, self.fingerprints[result])?;
            PyResult::Ok(object.unbind())
        })?;
        Ok(known.bind(py))
    }
}

impl Objects {
    const fn new() -> Self {
        Self {
            tool_use_id: PyOnceLock::new(),
            fingerprint: PyOnceLock::new(),
        }
    }

    fn share(&self, py: Python<'_>) -> Self {
        let shared = Self::new();
        if let Some(tool_use_id) = self.tool_use_id.get(py) {
            let _ = shared.tool_use_id.set(py, tool_use_id.clone_ref(py));
        }
        if let Some(fingerprint) = self.fingerprint.get(py) {
            let _ = shared.fingerprint.set(py, fingerprint.clone_ref(py));
        }
        shared
    }
}

fn read(body: &[u8], earlier: Option<Earlier<'_>>) -> Result<(Scan, Recalled), JsonError> {
    let before = earlier.map(|earlier| (earlier.body, earlier.scan));
    let scan = Scan::of(body, before)?;
    let recalled = recall(&scan, body, earlier);
    Ok((scan, recalled))
}
