//! A body that was scanned, as an object of Python's.

use std::mem;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};
use toolbudget_core::Fingerprint;
use toolbudget_core::json::{
    Earlier, JsonError, Leftover, Recalled, Scan, Surveyed, recall, survey, text_of,
};

use crate::classes::Classes;
use crate::error;
use crate::json_standing::Standing;
use crate::text::{self, PyText};

/// From so many bytes on, other threads may run meanwhile: less is done before one could begin.
const LARGE_BYTES: usize = 16 << 10;

/// Does work on so many bytes; other threads may run meanwhile if that is worth their while.
pub(crate) fn released<T: Send>(
    py: Python<'_>,
    size_bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> T {
    if size_bytes < LARGE_BYTES {
        work()
    } else {
        py.detach(work)
    }
}

/// The body with all that is known about it.
#[pyclass(frozen, module = "toolbudget._core._native")]
pub(crate) struct JsonScan {
    #[pyo3(get)]
    body: Py<PyBytes>,
    /// Whether the messages are those of the scan that was taken over, and no others.
    #[pyo3(get)]
    has_known_messages: bool,
    /// `None` once another scan has taken it over.
    known: Mutex<Option<Scanned>>,
}

/// What is known about a body.
pub(crate) struct Scanned {
    pub(crate) scan: Scan,
    /// Of each result.
    pub(crate) fingerprints: Vec<Fingerprint>,
    pub(crate) survey: Surveyed,
    /// Of each result, once any of them is asked for.
    objects: OnceLock<Vec<Objects>>,
    pub(crate) standing: Standing,
}

/// What was made for a result when it was asked for.
struct Objects {
    tool_use_id: PyOnceLock<Py<PyString>>,
    fingerprint: PyOnceLock<Py<PyAny>>,
}

impl JsonScan {
    /// Scans a body; takes over what an earlier scan knows.
    pub(crate) fn of(body: &Bound<'_, PyBytes>, earlier: Option<&Self>) -> PyResult<Self> {
        let py = body.py();
        let bytes = body.as_bytes();
        let before = earlier.and_then(|it| Some((it.body.as_bytes(py), it.take()?)));
        let read = released(py, bytes.len(), || Scanned::read(bytes, before));
        let (known, has_known_messages) =
            read.map_err(|problem| error::invalid_body(py, problem))?;
        Ok(Self {
            body: body.clone().unbind(),
            has_known_messages,
            known: Mutex::new(Some(known)),
        })
    }

    /// Tells whether this is what a scan of `body` would be: of the same bytes, and not taken over.
    pub(crate) fn is_of(&self, body: &Bound<'_, PyBytes>) -> bool {
        let py = body.py();
        let (own, other) = (self.body.as_bytes(py), body.as_bytes());
        if own.len() != other.len() || self.lock().is_none() {
            return false;
        }
        // The same object cannot have changed meanwhile.
        self.body.is(body) || released(py, own.len(), || own == other)
    }

    /// Takes what is known; it is put back by [`put`](Self::put), unless it is taken over.
    pub(crate) fn take(&self) -> Option<Scanned> {
        self.lock().take()
    }

    /// Puts back what was taken.
    pub(crate) fn put(&self, known: Scanned) {
        *self.lock() = Some(known);
    }

    /// Does something with what is known while it is taken.
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Scanned) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(mut known) = self.take() else {
            return Err(error::internal(py, "a later scan has taken this one over"));
        };
        let done = work(&mut known);
        self.put(known);
        done
    }

    pub(crate) fn body<'py>(&self, py: Python<'py>) -> &Bound<'py, PyBytes> {
        self.body.bind(py)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Scanned>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scanned {
    /// Also tells whether the messages are those of before, and no others.
    fn read(body: &[u8], before: Option<(&[u8], Self)>) -> Result<(Self, bool), JsonError> {
        let Some((earlier_body, mut earlier)) = before else {
            let scan = Scan::of(body)?;
            let recalled = recall(&scan, body, None);
            let known = Self {
                survey: survey(&scan, body, &recalled.fingerprints),
                scan,
                objects: OnceLock::new(),
                fingerprints: recalled.fingerprints,
                standing: Standing::default(),
            };
            return Ok((known, false));
        };
        let (scan, leftover) = earlier.scan.after(earlier_body, body)?;
        let left = earlier.fingerprints.split_off(leftover.first());
        let memory = Earlier {
            body: earlier_body,
            leftover: &leftover,
            fingerprints: &left,
        };
        let recalled = recall(&scan, body, Some(memory));
        let reused = scan.reused_results();
        earlier
            .standing
            .move_on(reused, leftover.first(), &recalled.origins);
        let mut fingerprints = earlier.fingerprints;
        fingerprints.truncate(reused);
        fingerprints.extend_from_slice(&recalled.fingerprints);
        let known = Self {
            survey: if leftover.is_nothing_else() {
                earlier.survey
            } else {
                survey(&scan, body, &fingerprints)
            },
            objects: match earlier.objects.into_inner() {
                Some(objects) => move_on(objects, reused, &leftover, &recalled).into(),
                None => OnceLock::new(),
            },
            scan,
            fingerprints,
            standing: earlier.standing,
        };
        Ok((known, leftover.is_nothing_else()))
    }

    fn objects(&self, result: usize) -> &Objects {
        let of_each = || self.fingerprints.iter().map(|_| Objects::new()).collect();
        &self.objects.get_or_init(of_each)[result]
    }

    /// The id of a result.
    pub(crate) fn tool_use_id<'py>(
        &self,
        result: usize,
        body: &[u8],
        py: Python<'py>,
    ) -> PyResult<PyText<'py>> {
        let known = self.objects(result).tool_use_id.get_or_try_init(py, || {
            let text = text_of(self.scan.results()[result].tool_use_id, body);
            text::from_wtf8(py, &text).map(Bound::unbind)
        })?;
        PyText::new(known.bind(py).clone())
    }

    /// The fingerprint of a result as a `Fingerprint`.
    pub(crate) fn fingerprint<'py>(
        &self,
        result: usize,
        py: Python<'py>,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let known = self.objects(result).fingerprint.get_or_try_init(py, || {
            let classes = Classes::get(py)?;
            let object = classes.new_fingerprint(py, self.fingerprints[result])?;
            PyResult::Ok(object.unbind())
        })?;
        Ok(known.bind(py))
    }
}

/// The objects of the first results, and those of the others that were found.
fn move_on(
    mut objects: Vec<Objects>,
    reused: usize,
    leftover: &Leftover,
    recalled: &Recalled,
) -> Vec<Objects> {
    let mut left = objects.split_off(leftover.first());
    objects.truncate(reused);
    let moved = recalled.origins.iter().map(|origin| {
        let known = origin.and_then(|origin| left.get_mut(origin));
        known.map_or_else(Objects::new, |known| mem::replace(known, Objects::new()))
    });
    objects.extend(moved);
    objects
}

impl Objects {
    const fn new() -> Self {
        Self {
            tool_use_id: PyOnceLock::new(),
            fingerprint: PyOnceLock::new(),
        }
    }
}
