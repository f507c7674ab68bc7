//! Reading keys and decisions, before a table is locked for them.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};
use toolbudget_core::{Fingerprint, TextHash};

use crate::decisions::{Decided, Decisions, Mark};
use crate::lookups;
use crate::plan_items::PlanItems;
use crate::text::{PyText, ascii_bytes};

/// A decision about an id.
pub(crate) type ReadDecision<'py> = (PyText<'py>, Decided);

pub(crate) fn read_decisions<'py>(
    decisions: &Bound<'py, PyAny>,
) -> PyResult<Vec<ReadDecision<'py>>> {
    let read = decisions.try_iter()?.map(|pair| {
        let (key, replacement): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
        let (tool_use_id, mark) = read_key(&key)?;
        Ok((tool_use_id, decided(mark, &replacement)?))
    });
    read.collect()
}

pub(crate) fn decided(mark: Mark, replacement: &Bound<'_, PyAny>) -> PyResult<Decided> {
    let text = match replacement.cast_exact::<PyString>() {
        Ok(text) => Some(text.clone()),
        Err(_) if replacement.is_none() => None,
        Err(_) => Some(
            lookups::READ_REPLACEMENT
                .get(replacement.py())?
                .call1((replacement,))?
                .cast_into()?,
        ),
    };
    Ok(Decided {
        mark,
        replacement: text.map(Bound::unbind),
    })
}

/// Results that are to be kept.
pub(crate) enum Kept<'py> {
    /// Of a plan, of whose items no object is made.
    Planned(Vec<(PyText<'py>, Fingerprint)>),
    Read(Vec<(PyText<'py>, Mark)>),
}

impl<'py> Kept<'py> {
    pub(crate) fn read(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        if let Ok(items) = keys.cast_exact::<PlanItems>()
            && let Some(keys) = items.get().keys(py)?
        {
            let read = keys.map(|(tool_use_id, fingerprint)| {
                let tool_use_id = tool_use_id.bind(py).clone();
                Ok((PyText::new(tool_use_id)?, fingerprint))
            });
            return Ok(Self::Planned(read.collect::<PyResult<_>>()?));
        }
        let keys = keys.try_iter()?.map(|key| read_key(&key?));
        Ok(Self::Read(keys.collect::<PyResult<_>>()?))
    }

    pub(crate) fn read_entries(entries: &Bound<'py, PyAny>) -> PyResult<Self> {
        let keys = entries.try_iter()?.map(|entry| {
            let entry = entry?;
            if let Ok(fields) = entry.cast::<PyTuple>()
                && fields.len() == 3
                && let (id, size, hash) = (
                    fields.get_borrowed_item(0)?,
                    fields.get_borrowed_item(1)?,
                    fields.get_borrowed_item(2)?,
                )
                && let Some(read) = read_plain(&id, &size, &hash)?
            {
                return Ok(read);
            }
            let (id, size, hash): (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>) =
                entry.extract()?;
            read_key((id, (size, hash)).into_pyobject(entry.py())?.as_any())
        });
        Ok(Self::Read(keys.collect::<PyResult<_>>()?))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Planned(keys) => keys.len(),
            Self::Read(keys) => keys.len(),
        }
    }

    pub(crate) fn take_over(self, decisions: &mut Decisions) {
        let mut keep = |tool_use_id: &PyText<'_>, mark| {
            let replacement = None;
            decisions.add(tool_use_id, Decided { mark, replacement });
        };
        match self {
            Self::Planned(keys) => keys
                .iter()
                .for_each(|(tool_use_id, fingerprint)| keep(tool_use_id, (*fingerprint).into())),
            Self::Read(keys) => keys
                .into_iter()
                .for_each(|(tool_use_id, mark)| keep(&tool_use_id, mark)),
        }
    }
}

/// An id and a fingerprint; what is not as plain as it nearly always is, the pure core reads.
pub(crate) fn read_key<'py>(key: &Bound<'py, PyAny>) -> PyResult<(PyText<'py>, Mark)> {
    if let Some(read) = read_plain_key(key)? {
        return Ok(read);
    }
    let key = lookups::READ_KEY.get(key.py())?.call1((key,))?;
    let (id, fingerprint): (Bound<'py, PyString>, Bound<'py, PyAny>) = key.extract()?;
    let fields = fingerprint.cast::<PyTuple>()?;
    let (size, hash) = (fields.get_borrowed_item(0)?, fields.get_borrowed_item(1)?);
    match read_plain(&id, &size, &hash)? {
        Some(read) => Ok(read),
        None => Ok((PyText::new(id)?, Mark::Odd(fingerprint.unbind()))),
    }
}

fn read_plain_key<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<(PyText<'py>, Mark)>> {
    let Ok(fields) = key.cast::<PyTuple>() else {
        return Ok(None);
    };
    if fields.len() != 2 {
        return Ok(None);
    }
    let fingerprint = fields.get_borrowed_item(1)?;
    let Ok(parts) = fingerprint.cast::<PyTuple>() else {
        return Ok(None);
    };
    if parts.len() != 2 {
        return Ok(None);
    }
    let (size, hash) = (parts.get_borrowed_item(0)?, parts.get_borrowed_item(1)?);
    let id = fields.get_borrowed_item(0)?;
    read_plain(&id, &size, &hash)
}

/// The same of its parts; `None` if one of them is no plain value, or if no text has such a hash.
fn read_plain<'py>(
    tool_use_id: &Bound<'py, PyAny>,
    size_chars: &Bound<'py, PyAny>,
    hash: &Bound<'py, PyAny>,
) -> PyResult<Option<(PyText<'py>, Mark)>> {
    let (Ok(id), Ok(size), Ok(hash)) = (
        tool_use_id.cast_exact::<PyString>(),
        size_chars.cast_exact::<PyInt>(),
        hash.cast_exact::<PyString>(),
    ) else {
        return Ok(None);
    };
    let digits = ascii_bytes(hash)?.and_then(|digits| str::from_utf8(digits).ok());
    let hash = digits.and_then(TextHash::from_hex);
    let (Ok(size_chars), Some(hash)) = (size.extract::<u64>(), hash) else {
        return Ok(None);
    };
    let fingerprint = Fingerprint { size_chars, hash };
    Ok(Some((PyText::new(id.clone())?, fingerprint.into())))
}
