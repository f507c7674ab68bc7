//! Rewritten messages of the call before, for as long as they are what new ones would be.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::raw::is_same_text;

/// Changed messages of the call before, each with what it has become.
pub(crate) struct Earlier<'py> {
    pairs: Vec<(usize, Option<Bound<'py, PyAny>>)>,
    /// The pair that comes next if messages come in the same order as in the call before.
    next: usize,
    /// Pairs by the address of the message, the first ones last; made when it is needed.
    places: Option<HashMap<usize, Vec<usize>>>,
}

impl<'py> Earlier<'py> {
    /// Reads what the call before gave: each message followed by what it has become.
    pub(crate) fn read(earlier: &Bound<'py, PyList>) -> PyResult<Self> {
        let mut pairs = Vec::with_capacity(earlier.len() / 2);
        for place in (1..earlier.len()).step_by(2) {
            let message = earlier.get_item(place - 1)?;
            pairs.push((message.as_ptr() as usize, Some(earlier.get_item(place)?)));
        }
        Ok(Self {
            pairs,
            next: 0,
            places: None,
        })
    }

    /// What a message has become. One message may stand in several places, each with an output of
    /// its own, so that each is given once.
    pub(crate) fn take(&mut self, message: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let address = message.as_ptr() as usize;
        let expected = self.pairs.get_mut(self.next);
        if let Some((other, rewritten)) = expected
            && *other == address
            && rewritten.is_some()
        {
            self.next += 1;
            return rewritten.take();
        }
        let pairs = &self.pairs;
        let places = self.places.get_or_insert_with(|| {
            let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
            for (place, (address, _)) in pairs.iter().enumerate().rev() {
                places.entry(*address).or_default().push(place);
            }
            places
        });
        let of_message = places.get_mut(&address)?;
        while let Some(place) = of_message.pop() {
            if let Some(rewritten) = self.pairs[place].1.take() {
                self.next = place + 1;
                return Some(rewritten);
            }
        }
        None
    }
}

/// Whether two rewritten messages are the same down to their changed blocks. No Python code takes
/// part in it.
pub(crate) fn is_same_rewriting(new: &Bound<'_, PyDict>, old: &Bound<'_, PyAny>) -> bool {
    let py = new.py();
    let new = new.as_any();
    is_same_dict(new, old, intern!(py, "message"), is_same_inner) || is_same_inner(new, old)
}

fn is_same_inner(new: &Bound<'_, PyAny>, old: &Bound<'_, PyAny>) -> bool {
    let name = intern!(new.py(), "content");
    is_same_dict(new, old, name, |new, old| {
        is_same_list(new, old, is_same_block)
    })
}

fn is_same_block(new: &Bound<'_, PyAny>, old: &Bound<'_, PyAny>) -> bool {
    let name = intern!(new.py(), "content");
    is_same_dict(new, old, name, |new, old| {
        is_same_content(new, old) || is_same_list(new, old, is_same_text_block)
    })
}

fn is_same_text_block(new: &Bound<'_, PyAny>, old: &Bound<'_, PyAny>) -> bool {
    is_same_dict(new, old, intern!(new.py(), "text"), is_same_content)
}

fn is_same_content(new: &Bound<'_, PyAny>, old: &Bound<'_, PyAny>) -> bool {
    match (new.cast_exact::<PyString>(), old.cast_exact::<PyString>()) {
        (Ok(new), Ok(old)) => is_same_text(new, old),
        _ => false,
    }
}

fn is_same_list<'py>(
    new: &Bound<'py, PyAny>,
    old: &Bound<'py, PyAny>,
    is_same_item: impl Fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> bool,
) -> bool {
    let (Ok(new), Ok(old)) = (new.cast_exact::<PyList>(), old.cast_exact::<PyList>()) else {
        return false;
    };
    new.len() == old.len()
        && new
            .iter()
            .zip(old.iter())
            .all(|(new, old)| new.is(&old) || is_same_item(&new, &old))
}

/// Compares two dicts entry by entry; the value of one key may be another object.
fn is_same_dict<'py>(
    new: &Bound<'py, PyAny>,
    old: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    is_same_value: impl Fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> bool,
) -> bool {
    let (Ok(new), Ok(old)) = (new.cast_exact::<PyDict>(), old.cast_exact::<PyDict>()) else {
        return false;
    };
    let is_name = |key: &Bound<'py, PyAny>| match key.cast_exact::<PyString>() {
        Ok(key) => is_same_text(key, name),
        // Of a subclass only the characters count.
        Err(_) => key
            .cast::<PyString>()
            .is_ok_and(|key| name.to_str().is_ok_and(|name| *key == *name)),
    };
    new.len() == old.len()
        && new
            .iter()
            .zip(old.iter())
            .all(|((key, value), (other_key, other))| {
                key.is(&other_key)
                    && (value.is(&other) || (is_name(&key) && is_same_value(&value, &other)))
            })
}
