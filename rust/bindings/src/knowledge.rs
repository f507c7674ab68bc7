//! What the core asks while it plans, answered from Python's objects.

use std::slice;

use pyo3::prelude::*;
use pyo3::types::PyList;
use toolbudget_core::{Decision, Fingerprint, Frame, Knowledge, Outlook, Unit};

use crate::cache::Memory;
use crate::classes::Classes;
use crate::collect::{Collected, Place};
use crate::known::{Known, PyReplacement};
use crate::late::LateFingerprint;
use crate::late_replacement::{LateReplacement, Wording};
use crate::options::{Callbacks, PlanOptions, window_chars};
use crate::paths::plain_name;
use crate::plan_items::PlanItem;
use crate::prepared::{Asked, Prepared, Taken, outlook_of};
use crate::raw;
use crate::text::{self, PyText};
use crate::texts::Texts;

/// Stands for an entry that was not looked for.
const UNKNOWN: u32 = u32::MAX;

/// The knowledge of one call, and what it learns on the way.
pub(crate) struct PyKnowledge<'a, 'py> {
    py: Python<'py>,
    classes: &'static Classes,
    collected: &'a Collected<'py>,
    known: &'a Known<'py>,
    callbacks: &'a Callbacks<'py>,
    /// Whether nothing was decided before the call, and no code of the host's has run since then.
    knows_nothing: bool,
    /// Whether what is said about a plain text can be written when somebody looks at it.
    may_write_later: bool,
    /// Characters around an id in the path of a plain text that is named after it, if no more than
    /// that is needed to tell the size of a replacement without a preview.
    around_id_chars: Option<u64>,
    /// By candidate: characters of its replacement without a preview, if they were told from the
    /// sizes alone, else 0; made with the first one.
    bare: Vec<u32>,
    memory: &'a mut Memory,
    /// Entries of the memory by candidate; [`UNKNOWN`] until they are asked for.
    entries: Vec<u32>,
    prepared: Vec<Prepared<'py>>,
    /// Which of those it is, by candidate; made with the first one.
    prepared_at: Vec<u32>,
    /// Ids with the exceptions of the `redact` hook.
    pub(crate) redaction_failures: Bound<'py, PyList>,
}

impl<'a, 'py> PyKnowledge<'a, 'py> {
    pub(crate) fn new(
        py: Python<'py>,
        collected: &'a Collected<'py>,
        known: &'a Known<'py>,
        options: &'a PlanOptions<'py>,
        memory: &'a mut Memory,
    ) -> PyResult<Self> {
        let callbacks = &options.callbacks;
        let may_write_later = options.core.budget.unit == Unit::Chars
            && callbacks.outlook_of_all() == Outlook::Beginning;
        memory.expect(collected.places.len());
        Ok(Self {
            py,
            classes: Classes::get(py)?,
            collected,
            known,
            callbacks,
            knows_nothing: known.is_nothing(),
            may_write_later,
            around_id_chars: callbacks.around_id_chars().filter(|_| may_write_later),
            bare: Vec::new(),
            memory,
            entries: vec![UNKNOWN; collected.places.len()],
            prepared: Vec::new(),
            prepared_at: Vec::new(),
            redaction_failures: PyList::empty(py),
        })
    }

    /// The `Key` of a candidate whose fingerprint was asked for.
    pub(crate) fn key(&mut self, candidate: usize) -> PyResult<Bound<'py, PyAny>> {
        let entry = self.entry(candidate)?;
        let fingerprint = self.memory.fingerprint_object(self.py, entry)?;
        let fields = (self.tool_use_id(candidate).as_object(), fingerprint);
        let fields = fields.into_pyobject(self.py)?;
        self.classes.named_tuple(&self.classes.key, &fields)
    }

    /// A candidate whose fingerprint was asked for, as one that is kept.
    pub(crate) fn kept(&mut self, candidate: usize) -> PyResult<PlanItem> {
        let entry = self.entry(candidate)?;
        Ok(PlanItem::Key {
            tool_use_id: self.tool_use_id(candidate).as_object().clone().unbind(),
            fingerprint: self.memory.late_fingerprint(self.py, entry),
        })
    }

    /// The fingerprint of a candidate, which need not be known yet.
    pub(crate) fn late_fingerprint(&mut self, candidate: usize) -> PyResult<LateFingerprint> {
        let entry = self.entry(candidate)?;
        Ok(self.memory.late_fingerprint(self.py, entry))
    }

    /// Tells whether a result that was decided before is a text that was kept, and is no reference
    /// by its looks.
    pub(crate) fn is_kept_text(&mut self, candidate: usize) -> PyResult<bool> {
        let entry = self.entry(candidate)?;
        let is_kept = matches!(self.earlier(candidate)?, Some(Decision::Kept));
        Ok(is_kept && !self.memory.is_framed(entry))
    }

    /// Keeps every text, though later calls do not meet them.
    pub(crate) fn make_past(&mut self) -> PyResult<()> {
        for candidate in 0..self.entries.len() {
            let entry = self.entry(candidate)?;
            self.memory.make_past(entry);
        }
        Ok(())
    }

    /// The entry of a candidate in the memory; it is looked for once.
    #[inline]
    fn entry(&mut self, candidate: usize) -> PyResult<usize> {
        match self.entries[candidate] {
            UNKNOWN => self.find_entry(candidate),
            entry => Ok(entry as usize),
        }
    }

    fn find_entry(&mut self, candidate: usize) -> PyResult<usize> {
        let texts = &self.place(candidate).texts;
        let entry = self.memory.entry_of(self.py, texts)?;
        // What has no number is looked for again.
        self.entries[candidate] = u32::try_from(entry).unwrap_or(UNKNOWN);
        Ok(entry)
    }

    /// What a replacement was built from, and the redacted texts; each is given once.
    pub(crate) fn take_source(&mut self, candidate: usize) -> Option<Taken<'py>> {
        let position = *self.prepared_at.get(candidate)? as usize;
        self.prepared.get_mut(position)?.take_source()
    }

    fn asked(&self, candidate: usize) -> Asked<'a, 'py> {
        let place = self.place(candidate);
        Asked {
            tool_use_id: self.tool_use_id(candidate),
            content: place.content(),
            parts: place.texts.parts(),
        }
    }

    fn prepared_mut(&mut self, candidate: usize) -> &mut Prepared<'py> {
        let position = self.prepared_at.get(candidate);
        let position = position.map_or(usize::MAX, |&position| position as usize);
        if position < self.prepared.len() {
            return &mut self.prepared[position];
        }
        self.keep_prepared(candidate, Prepared::unredacted())
    }

    fn keep_prepared(&mut self, candidate: usize, prepared: Prepared<'py>) -> &mut Prepared<'py> {
        if self.prepared_at.is_empty() {
            let candidates = self.collected.places.len();
            self.prepared_at.resize(candidates, u32::MAX);
        }
        let position = self.prepared.len();
        self.prepared_at[candidate] = u32::try_from(position).unwrap_or(u32::MAX);
        self.prepared.push(prepared);
        &mut self.prepared[position]
    }

    /// What was decided about a candidate, if anything was.
    fn recorded(&mut self, candidate: usize) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        if self.known.is_undecided() {
            return Ok(None);
        }
        let entry = self.entry(candidate)?;
        let tool_use_id = self.tool_use_id(candidate);
        if let Some(decision) = self.memory.decision(entry, tool_use_id) {
            return Ok(Some(decision));
        }
        let (py, memory) = (self.py, &mut *self.memory);
        let decision = self
            .known
            .decision(self.classes, tool_use_id, || memory.fingerprint(py, entry))?;
        if let Some(decision) = &decision {
            self.memory.remember(entry, tool_use_id, decision);
        }
        Ok(decision)
    }

    /// What the replacements of this call have in common.
    pub(crate) fn wording(&self) -> Wording {
        Wording::of(self.callbacks)
    }

    /// The bytes of a plain text whose replacement can be written later.
    fn later_text(&self, candidate: usize) -> Option<&'a [u8]> {
        let place = self.place(candidate);
        match (&place.content, &place.texts) {
            (None, Texts::Plain(text)) if self.may_write_later => raw::known_ascii(text),
            _ => None,
        }
    }

    /// Characters of a replacement without a preview, if they follow from the id and the text's size.
    fn bare_chars(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<Option<u64>> {
        let (Some(around_chars), true) = (self.around_id_chars, preview_bytes <= 0) else {
            return Ok(None);
        };
        // It is measured to choose it, and then built.
        if let Some(&known) = self.bare.get(candidate)
            && known != 0
        {
            return Ok(Some(known.into()));
        }
        let Some(text) = self.later_text(candidate) else {
            return Ok(None);
        };
        let Some(name) = plain_name(self.tool_use_id(candidate))? else {
            return Ok(None);
        };
        let chars = Frame::bare_chars(text.len() as i128, around_chars + name.len() as u64);
        if self.bare.is_empty() {
            self.bare.resize(self.collected.places.len(), 0);
        }
        self.bare[candidate] = u32::try_from(chars).unwrap_or_default();
        Ok(Some(chars))
    }

    /// Of how many characters of a text previews are cut.
    pub(crate) fn window_chars(&self) -> usize {
        window_chars(self.callbacks.preview_bytes)
    }

    fn place(&self, candidate: usize) -> &'a Place<'py> {
        &self.collected.places[candidate]
    }

    fn tool_use_id(&self, candidate: usize) -> &'a PyText<'py> {
        &self.collected.survey.candidates()[candidate].tool_use_id
    }
}

impl<'py> Knowledge for PyKnowledge<'_, 'py> {
    type Text = PyText<'py>;
    type Recorded = PyReplacement<'py>;
    type Built = LateReplacement;
    type Error = PyErr;

    fn measure(&mut self, candidate: usize, unit: Unit) -> PyResult<u64> {
        let entry = self.entry(candidate)?;
        let parts = self.place(candidate).texts.parts();
        self.memory.measure(entry, parts, unit)
    }

    fn measure_recorded(&mut self, recorded: &PyReplacement<'py>, unit: Unit) -> PyResult<u64> {
        text::measure(slice::from_ref(recorded.as_object()), unit)
    }

    fn fingerprint(&mut self, candidate: usize) -> PyResult<Fingerprint> {
        let entry = self.entry(candidate)?;
        self.memory.fingerprint(self.py, entry)
    }

    fn knows_nothing(&self) -> bool {
        self.knows_nothing
    }

    #[inline]
    fn is_surely_kept(&mut self, candidate: usize) -> PyResult<bool> {
        if self.knows_nothing {
            return Ok(false);
        }
        let entry = self.entry(candidate)?;
        let result = &self.collected.survey.candidates()[candidate];
        let is_kept = !self.memory.is_framed(entry)
            && self.memory.is_kept(entry, &result.tool_use_id)
            && self.known.replacements(result.size_chars)?.is_none();
        Ok(is_kept)
    }

    #[inline]
    fn earlier(&mut self, candidate: usize) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        if self.knows_nothing {
            return Ok(None);
        }
        self.recorded(candidate)
    }

    fn unapplied(&mut self, candidate: usize) -> PyResult<Option<PyReplacement<'py>>> {
        if self.knows_nothing {
            return Ok(None);
        }
        self.known.unapplied(self.tool_use_id(candidate))
    }

    fn is_known_replacement(&mut self, candidate: usize) -> PyResult<bool> {
        if self.knows_nothing {
            return Ok(false);
        }
        let size_chars = self.collected.survey.candidates()[candidate].size_chars;
        let Some(same_length) = self.known.replacements(size_chars)? else {
            return Ok(false);
        };
        same_length.contains(text::join(self.py, self.place(candidate).texts.parts())?)
    }

    #[inline]
    fn is_framed(&mut self, candidate: usize) -> PyResult<bool> {
        let entry = self.entry(candidate)?;
        Ok(self.memory.is_framed(entry))
    }

    fn prepare(&mut self, candidate: usize) -> PyResult<bool> {
        let Some(redact) = &self.callbacks.redact else {
            return Ok(true);
        };
        self.knows_nothing = false;
        let parts = self.place(candidate).texts.parts();
        match Prepared::new(parts, Some(redact))? {
            Ok(prepared) => {
                self.keep_prepared(candidate, prepared);
                Ok(true)
            }
            Err(error) => {
                let failure = (
                    self.tool_use_id(candidate).as_object(),
                    error.into_value(self.py),
                );
                self.redaction_failures.append(failure)?;
                Ok(false)
            }
        }
    }

    fn outlook_of_all(&self) -> Outlook {
        self.callbacks.outlook_of_all()
    }

    fn outlook(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<Outlook> {
        outlook_of(
            self.place(candidate).texts.parts(),
            self.callbacks,
            preview_bytes,
        )
    }

    fn replacement_chars(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<u64> {
        if let Some(size_chars) = self.bare_chars(candidate, preview_bytes)? {
            return Ok(size_chars);
        }
        self.knows_nothing = false;
        let asked = self.asked(candidate);
        let callbacks = self.callbacks;
        self.prepared_mut(candidate)
            .replacement_chars(&asked, callbacks, preview_bytes)
    }

    fn build(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<LateReplacement> {
        if let Some(size_chars) = self.bare_chars(candidate, preview_bytes)? {
            return Ok(LateReplacement::of_chars(size_chars));
        }
        self.knows_nothing = false;
        let asked = self.asked(candidate);
        let callbacks = self.callbacks;
        let can_wait = self.later_text(candidate).is_some();
        let prepared = self.prepared_mut(candidate);
        if can_wait
            && let Some(size_chars) = prepared.later_chars(&asked, callbacks, preview_bytes)?
        {
            return Ok(LateReplacement::of_chars(size_chars));
        }
        let built = prepared.build(&asked, callbacks, preview_bytes)?;
        Ok(built.into())
    }
}
