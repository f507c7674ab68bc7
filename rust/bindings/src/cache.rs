//! What is remembered about the texts of a conversation from call to call.

use std::collections::{HashMap, HashSet};
use std::slice;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use toolbudget_core::{Decision, Fingerprint, Recorded as _, Unit};

use crate::address::NumberMap;
use crate::cache_entry::{Decided, Entry, address};
use crate::classes::Classes;
use crate::guard::guarded;
use crate::known::PyReplacement;
use crate::late::LateFingerprint;
use crate::raw::{self, Readers};
use crate::standing::KeptStanding;
use crate::text::{self, PyText};
use crate::texts::Texts;

/// The cache as Python holds it; a call takes out what is in it and puts it back at its end.
///
/// A call that is made meanwhile, by a callback or another thread, finds it empty.
#[pyclass(frozen, module = "toolbudget._core._native")]
pub(crate) struct FingerprintCache(Mutex<Option<Box<Memory>>>);

#[pymethods]
impl FingerprintCache {
    #[new]
    #[pyo3(signature = ())]
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    #[pyo3(signature = (texts, /))]
    fn find<'py>(&self, texts: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(texts.py(), || {
            // Taken out, not locked: to make an object may run a finalizer, which may ask again.
            let Some(mut memory) = self.take() else {
                return Ok(None);
            };
            let objects: Vec<Bound<'py, PyAny>> = texts.iter().collect();
            let found = memory
                .find(&objects)
                .map(|index| memory.fingerprint_object(texts.py(), index))
                .transpose();
            self.put(memory);
            found
        })
    }

    /// How many texts are remembered; one that a pass has met twice may have two entries.
    fn __len__(&self) -> usize {
        let content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = content.iter().flat_map(|memory| &memory.entries);
        let texts: HashSet<Vec<usize>> = entries.map(|entry| entry.objects().collect()).collect();
        texts.len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(content) = self.0.try_lock() else {
            return Ok(());
        };
        let entries = content.iter().flat_map(|memory| &memory.entries);
        // Plain texts and what belongs to them refer to nothing; a subclass may.
        for entry in entries.filter(|entry| entry.may_refer()) {
            visit.call(&entry.first)?;
            for object in entry.others() {
                visit.call(object)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        drop(self.take());
    }
}

impl FingerprintCache {
    pub(crate) fn take(&self) -> Option<Box<Memory>> {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        content.take()
    }

    pub(crate) fn put(&self, memory: Box<Memory>) {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = content.replace(memory);
        // What a reference counts down to may be Python code, which may look into the cache.
        drop(content);
        drop(replaced);
    }
}

/// How many times as much room as there are entries is kept.
const MOST_ROOM: usize = 16;

/// The content of a cache.
pub(crate) struct Memory {
    pub(crate) readers: Readers,
    entries: Vec<Entry>,
    /// Where a text is among the first so many entries. Those of the pass that runs are not looked
    /// for: nearly always each of its texts is another object, and if not, it has two entries.
    indices: NumberMap<usize>,
    indexed: usize,
    before: usize,
    /// The entry that comes next if the texts come in the same order as in the call before.
    expected: usize,
    /// Counts calls, so that it can be told what a call did not use.
    call: u64,
    used: usize,
    /// What remembered decisions hold under, and its number among those that there were.
    epoch: Option<Py<PyAny>>,
    epoch_number: u64,
    pub(crate) standing: KeptStanding,
    /// How many entries are [`Entry::is_past`].
    past: usize,
}

impl Memory {
    pub(crate) fn new(py: Python<'_>) -> Box<Self> {
        Box::new(Self {
            readers: Readers::new(py),
            entries: Vec::new(),
            indices: NumberMap::default(),
            indexed: 0,
            before: 0,
            expected: 0,
            call: 0,
            used: 0,
            epoch: None,
            epoch_number: 0,
            standing: KeptStanding::default(),
            past: 0,
        })
    }

    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Begins a call; decisions that were remembered under another token no longer hold.
    pub(crate) fn begin(&mut self, epoch: &Bound<'_, PyAny>) {
        self.call += 1;
        self.used = self.past;
        self.expected = 0;
        if !self.epoch.as_ref().is_some_and(|known| known.is(epoch)) {
            self.epoch = (!epoch.is_none()).then(|| epoch.clone().unbind());
            self.epoch_number += 1;
        }
    }

    /// A number that stays the same as long as the token of calls does; `None` without one.
    pub(crate) fn epoch_number(&self) -> Option<u64> {
        self.epoch.as_ref().map(|_| self.epoch_number)
    }

    /// Keeps an entry that the call has met, though later calls do not meet it.
    pub(crate) fn make_past(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        self.past += usize::from(!entry.is_past);
        entry.is_past = true;
    }

    /// Lets later calls meet again what they need not have met.
    pub(crate) fn forget_past(&mut self) {
        if self.past == 0 {
            return;
        }
        self.past = 0;
        self.used = 0;
        for entry in &mut self.entries {
            entry.is_past = false;
            self.used += usize::from(entry.call == self.call);
        }
    }

    /// Begins a pass, and makes room for its texts.
    pub(crate) fn expect(&mut self, texts: usize) {
        let more = texts.saturating_sub(self.entries.len());
        self.entries.reserve(more);
        self.before = self.entries.len();
    }

    /// Forgets every text that the call did not meet.
    pub(crate) fn finish(&mut self) {
        if self.used == self.entries.len() {
            return;
        }
        let call = self.call;
        self.entries
            .retain(|entry| entry.call == call || entry.is_past);
        // Clearing costs what there was room for: of a long list, after which only its end is read.
        if self.indices.capacity() > MOST_ROOM * (self.entries.len() + 1) {
            self.entries.shrink_to_fit();
            self.indices = HashMap::default();
        }
        self.indices.clear();
        self.indexed = 0;
    }

    /// The entry of a text; a new one is hashed only if it may be another one later.
    #[inline]
    pub(crate) fn entry_of(&mut self, py: Python<'_>, texts: &Texts<'_>) -> PyResult<usize> {
        // A first pass looks for none.
        let found = match self.before {
            0 => None,
            _ => self.find(texts.objects()),
        };
        let Some(index) = found else {
            return self.add(py, texts);
        };
        let entry = &mut self.entries[index];
        if entry.call != self.call {
            entry.call = self.call;
            self.used += usize::from(!entry.is_past);
        }
        Ok(index)
    }

    /// The entry of a text that an earlier call has met.
    #[inline]
    fn find(&mut self, objects: &[Bound<'_, PyAny>]) -> Option<usize> {
        let next = self.entries.get(self.expected);
        let index = if next.is_some_and(|entry| entry.is_of(objects)) {
            self.expected
        } else if self.before > 0 {
            self.look_up(objects)?
        } else {
            return None;
        };
        self.expected = index + 1;
        Some(index)
    }

    /// The same, for a text that is not the expected one.
    fn look_up(&mut self, objects: &[Bound<'_, PyAny>]) -> Option<usize> {
        let not_indexed = self.indexed..self.before;
        for (index, entry) in not_indexed.clone().zip(&self.entries[not_indexed]) {
            self.indices.insert(address(entry.objects()), index);
        }
        self.indexed = self.indexed.max(self.before);
        let addresses = objects.iter().map(|object| object.as_ptr() as usize);
        let index = *self.indices.get(&address(addresses))?;
        self.entries[index].is_of(objects).then_some(index)
    }

    /// Ends a call: what it has met is looked for from now on.
    pub(crate) fn end(&mut self) {
        self.before = self.entries.len();
        self.expected = 0;
    }

    #[inline]
    fn add(&mut self, py: Python<'_>, texts: &Texts<'_>) -> PyResult<usize> {
        let is_framed = text::is_framed(py, texts.parts())?;
        let entry = match texts {
            Texts::Plain(text) => Entry::of_plain(text, is_framed, self.call),
            Texts::Odd(_) => self.odd_entry(texts, is_framed)?,
        };
        let index = self.entries.len();
        self.entries.push(entry);
        self.used += 1;
        self.expected = index + 1;
        Ok(index)
    }

    #[cold]
    fn odd_entry(&self, texts: &Texts<'_>, is_framed: bool) -> PyResult<Entry> {
        let fingerprint = text::fingerprint(texts.parts())?;
        Entry::of_odd(texts.objects(), fingerprint, is_framed, self.call)
            .ok_or_else(|| PyValueError::new_err("a text without an object"))
    }

    pub(crate) fn fingerprint(&mut self, py: Python<'_>, index: usize) -> PyResult<Fingerprint> {
        let entry = &mut self.entries[index];
        if let Some(fingerprint) = entry.fingerprint {
            return Ok(fingerprint);
        }
        let text = entry.first.bind(py).cast::<PyString>()?;
        let fingerprint = text::fingerprint(slice::from_ref(text))?;
        entry.fingerprint = Some(fingerprint);
        Ok(fingerprint)
    }

    /// The same, or what it can be made of beyond this call.
    pub(crate) fn late_fingerprint(&self, py: Python<'_>, index: usize) -> LateFingerprint {
        let entry = &self.entries[index];
        match entry.fingerprint {
            Some(fingerprint) => LateFingerprint::Known(fingerprint),
            None => LateFingerprint::Of(entry.first.clone_ref(py)),
        }
    }

    /// The fingerprint of a plain text, which is remembered if the text is.
    pub(crate) fn fingerprint_of(&mut self, text: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
        if let Some(index) = self.find(slice::from_ref(text)) {
            return self.fingerprint(text.py(), index);
        }
        text::fingerprint(slice::from_ref(text.cast::<PyString>()?))
    }

    /// The size of an entry's text, which `parts` make, in another unit than characters.
    pub(crate) fn measure(
        &mut self,
        index: usize,
        parts: &[Bound<'_, PyString>],
        unit: Unit,
    ) -> PyResult<u64> {
        let entry = &mut self.entries[index];
        if let Some((known, size)) = entry.more().and_then(|more| more.measured)
            && known == unit
        {
            return Ok(size);
        }
        let size = text::measure(parts, unit)?;
        entry.more_mut().measured = Some((unit, size));
        Ok(size)
    }

    /// Whether the text looks like another program's reference.
    pub(crate) fn is_framed(&self, index: usize) -> bool {
        self.entries[index].is_framed
    }

    /// The fingerprint as a Python object, the same one each time.
    pub(crate) fn fingerprint_object<'py>(
        &mut self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = self.entries[index].more();
        if let Some(object) = known.and_then(|more| more.object.as_ref()) {
            return Ok(object.bind(py).clone());
        }
        let fingerprint = self.fingerprint(py, index)?;
        let object = Classes::get(py)?.new_fingerprint(py, fingerprint)?;
        self.entries[index].more_mut().object = Some(object.clone().unbind());
        Ok(object)
    }

    /// What is remembered about an id and the text of an entry.
    fn decided(&self, index: usize, tool_use_id: &PyText<'_>) -> Option<&Decided> {
        let decided = self.entries[index].decided.as_ref()?;
        let tool_use_id = tool_use_id.as_object();
        let holds = decided.epoch_number == self.epoch_number
            && raw::is_same_text(decided.tool_use_id.bind(tool_use_id.py()), tool_use_id);
        holds.then_some(decided)
    }

    /// Whether it is remembered that a result was kept.
    pub(crate) fn is_kept(&self, index: usize, tool_use_id: &PyText<'_>) -> bool {
        let decided = self.decided(index, tool_use_id);
        decided.is_some_and(|decided| matches!(decided.decision, Decision::Kept))
    }

    /// The decision that is remembered about a result.
    pub(crate) fn decision<'py>(
        &self,
        index: usize,
        tool_use_id: &PyText<'py>,
    ) -> Option<Decision<PyReplacement<'py>>> {
        let py = tool_use_id.as_object().py();
        Some(match &self.decided(index, tool_use_id)?.decision {
            Decision::Kept => Decision::Kept,
            Decision::Replaced((text, size_chars)) => {
                Decision::Replaced(PyReplacement::known(text.bind(py).clone(), *size_chars))
            }
        })
    }

    /// Remembers what was decided, for as long as the token of this call is that of later ones.
    pub(crate) fn remember(
        &mut self,
        index: usize,
        tool_use_id: &PyText<'_>,
        decision: &Decision<PyReplacement<'_>>,
    ) {
        if self.epoch.is_none() {
            return;
        }
        self.entries[index].decided = Some(Decided {
            epoch_number: self.epoch_number,
            tool_use_id: tool_use_id.as_object().clone().unbind(),
            decision: match decision {
                Decision::Kept => Decision::Kept,
                Decision::Replaced(text) => {
                    Decision::Replaced((text.as_object().clone().unbind(), text.size_chars()))
                }
            },
        });
    }
}
