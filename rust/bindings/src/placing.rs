//! Storing plain texts, without the interpreter's lock.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toolbudget_core::TextHash;
use toolbudget_files::{Outcome, place};

use crate::guard::guarded;
use crate::text::ascii_bytes;

/// Size in bytes, hash in hex digits, and whether the file is new.
type Placed = (usize, String, bool);

/// Stores texts under their names; see `_native.pyi`.
#[pyfunction]
#[pyo3(name = "_place_texts", signature = (directory, texts, expects_free))]
pub(crate) fn place_texts(
    py: Python<'_>,
    directory: i32,
    texts: &Bound<'_, PyList>,
    expects_free: bool,
) -> PyResult<Vec<Option<Placed>>> {
    guarded(py, || {
        // References of our own: meanwhile another thread may change the list.
        let texts: Vec<(Bound<'_, PyString>, Bound<'_, PyAny>)> = texts.extract()?;
        let mut known = Vec::with_capacity(texts.len());
        for (name, text) in &texts {
            known.push((name.to_str()?, bytes_of(text)?));
        }
        let outcomes = py.detach(|| place(directory, &known, expects_free));
        let sizes = known.iter().map(|(_, text)| text.len());
        Ok(outcomes.into_iter().zip(sizes).map(told).collect())
    })
}

/// The bytes of an ASCII text as it lies there, or those given.
fn bytes_of<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = text.cast::<PyString>()
        && let Some(bytes) = ascii_bytes(text)?
    {
        return Ok(bytes);
    }
    Ok(text.cast::<PyBytes>()?.as_bytes())
}

fn told((outcome, size_bytes): (Outcome, usize)) -> Option<Placed> {
    let (hash, is_new): (TextHash, bool) = match outcome {
        Outcome::Written(hash) => (hash, true),
        Outcome::Found(hash) => (hash, false),
        Outcome::Left => return None,
    };
    Some((size_bytes, hash.to_string(), is_new))
}
