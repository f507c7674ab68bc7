//! Lists that were given out, to be used again once nobody has them any more.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::raw;

/// A host that puts the new list in the place of the old one has the old one until then.
const MOST_SPARES: usize = 2;

/// The lists that were given out last, the newest one at the end.
///
/// A long list that is copied has every one of its objects touched, to be counted once more, and
/// once more when the copy goes. A list that only we refer to is one that nobody can look at: if
/// its beginning is still the right one, only its end need be changed.
#[derive(Default)]
pub(crate) struct Spares(VecDeque<Spare>);

struct Spare {
    list: Py<PyList>,
    /// How many items of the common beginning it was made with.
    beginning: usize,
}

impl Spares {
    /// Gives a list of a beginning, which only grows from call to call, and an end.
    pub(crate) fn joined<'py>(
        &mut self,
        beginning: &Bound<'py, PyList>,
        end: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = match self.take_free(beginning) {
            Some(spare) => spare.with(beginning, end)?,
            None => concat(beginning, end)?,
        };
        self.0.push_back(Spare {
            list: list.clone().unbind(),
            beginning: beginning.len(),
        });
        if self.0.len() > MOST_SPARES {
            self.0.pop_front();
        }
        Ok(list)
    }

    /// The lists, for the collector of cycles.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &Py<PyList>> {
        self.0.iter().map(|spare| &spare.list)
    }

    fn take_free(&mut self, beginning: &Bound<'_, PyList>) -> Option<Spare> {
        let is_free = |spare: &Spare| raw::has_one_owner(spare.list.bind(beginning.py()));
        let spare = self.0.remove(self.0.iter().position(is_free)?)?;
        // Whoever had it may have changed it.
        let list = spare.list.bind(beginning.py());
        raw::begin_alike(list, beginning, spare.beginning).then_some(spare)
    }
}

impl Spare {
    fn with<'py>(
        self,
        beginning: &Bound<'py, PyList>,
        end: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = self.list.into_bound(beginning.py());
        let more = beginning.get_slice(self.beginning, beginning.len());
        let end = concat(&more, end)?;
        list.set_slice(self.beginning, list.len(), end.as_any())?;
        Ok(list)
    }
}

fn concat<'py>(
    beginning: &Bound<'py, PyList>,
    end: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyList>> {
    let list = beginning.as_sequence().concat(end.as_sequence())?;
    Ok(list.into_any().cast_into::<PyList>()?)
}
