//! What the core asks while it plans for a body, answered from its bytes.

use std::cell::OnceCell;
use std::slice;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toolbudget_core::json::{Name, ResultSpan, measure_spans, text_of};
use toolbudget_core::{
    Decision, Fingerprint, Knowledge, Outlook, REFERENCE_MAX_CHARS, Replacement, Unit,
    is_framed_reference,
};

use crate::address::NumberMap;
use crate::classes::Classes;
use crate::error;
use crate::json_scan::Scanned;
use crate::json_standing::Standing;
use crate::known::{Known, PyReplacement};
use crate::late::LateFingerprint;
use crate::lengths::Lengths;
use crate::lookups;
use crate::options::{Callbacks, window_chars};
use crate::plan_items::PlanItem;
use crate::prepared::{Asked, Prepared, outlook_of};
use crate::shape::texts;
use crate::text;
use crate::texts::Texts;

/// The content of a result, decoded.
pub(crate) struct Decoded<'py> {
    pub(crate) content: Bound<'py, PyAny>,
    pub(crate) texts: Texts<'py>,
}

/// The knowledge of one call. Nothing is decoded before it is asked for.
pub(crate) struct JsonKnowledge<'a, 'py> {
    py: Python<'py>,
    scan: &'a Scanned,
    body: &'a [u8],
    known: Known<'py>,
    callbacks: &'a Callbacks<'py>,
    /// Of each result, once any of them is asked for.
    decoded: OnceCell<Vec<OnceCell<Decoded<'py>>>>,
    prepared: NumberMap<Prepared<'py>>,
    /// Of the replacements that were made, once they are asked for.
    replaced_lengths: OnceCell<Lengths>,
    standing: &'a mut Standing,
    /// Ids with the exceptions of the `redact` hook.
    pub(crate) redaction_failures: Bound<'py, PyList>,
}

impl<'a, 'py> JsonKnowledge<'a, 'py> {
    pub(crate) fn new(
        py: Python<'py>,
        scan: &'a Scanned,
        standing: &'a mut Standing,
        body: &'a [u8],
        known: Known<'py>,
        callbacks: &'a Callbacks<'py>,
    ) -> Self {
        let results = scan.scan.results();
        standing.check(&known.epoch, results.len());
        Self {
            py,
            scan,
            body,
            known,
            callbacks,
            standing,
            decoded: OnceCell::new(),
            prepared: NumberMap::default(),
            replaced_lengths: OnceCell::new(),
            redaction_failures: PyList::empty(py),
        }
    }

    /// The `Key` of a result.
    pub(crate) fn key(&self, candidate: usize) -> PyResult<Bound<'py, PyAny>> {
        let classes = Classes::get(self.py)?;
        let tool_use_id = self.scan.tool_use_id(candidate, self.body, self.py)?;
        let fields = (
            tool_use_id.as_object(),
            self.scan.fingerprint(candidate, self.py)?,
        );
        classes.named_tuple(&classes.key, &fields.into_pyobject(self.py)?)
    }

    /// A result as one that is kept.
    pub(crate) fn kept(&self, candidate: usize) -> PyResult<PlanItem> {
        let tool_use_id = self.scan.tool_use_id(candidate, self.body, self.py)?;
        Ok(PlanItem::Key {
            tool_use_id: tool_use_id.as_object().clone().unbind(),
            fingerprint: LateFingerprint::Known(self.scan.fingerprints[candidate]),
        })
    }

    /// A result that a replacement was built for.
    pub(crate) fn prepared(&self, candidate: usize) -> Option<&Prepared<'py>> {
        self.prepared.get(&candidate)
    }

    /// The content of a result.
    pub(crate) fn decoded(&self, candidate: usize) -> PyResult<&Decoded<'py>> {
        let results = self.scan.scan.results();
        let none = || results.iter().map(|_| OnceCell::new()).collect();
        let cell = &self.decoded.get_or_init(none)[candidate];
        if cell.get().is_none() {
            let decoded = self.decode(candidate)?;
            return Ok(cell.get_or_init(|| decoded));
        }
        cell.get()
            .ok_or_else(|| error::internal(self.py, "what was decoded is gone"))
    }

    fn decode(&self, candidate: usize) -> PyResult<Decoded<'py>> {
        let content = self.decode_content(self.result(candidate))?;
        match texts(&content)? {
            Some(texts) => Ok(Decoded { content, texts }),
            None => Err(error::internal(self.py, "a text result holds no text")),
        }
    }

    fn decode_content(&self, result: &ResultSpan) -> PyResult<Bound<'py, PyAny>> {
        let raw = result.content.of(self.body);
        if raw.first() == Some(&b'"') {
            return Ok(self.decode_texts(result)?.into_any());
        }
        let decode = lookups::DECODE_JSON_CONTENT.get(self.py)?;
        decode.call1((PyBytes::new(self.py, raw),))
    }

    /// Of how many characters of a text previews are cut.
    pub(crate) fn window_chars(&self) -> usize {
        window_chars(self.callbacks.preview_bytes)
    }

    /// The text of a result.
    fn decode_texts(&self, result: &ResultSpan) -> PyResult<Bound<'py, PyString>> {
        if let [text] = self.scan.scan.texts_of(result) {
            let raw = text.span.of(self.body);
            return if text.has_escapes() {
                text::from_json(self.py, raw)
            } else {
                text::from_wtf8(self.py, raw)
            };
        }
        text::from_wtf8(self.py, &self.wtf8_of(result))
    }

    fn wtf8_of(&self, result: &ResultSpan) -> Vec<u8> {
        let spans = self.scan.scan.texts_of(result).iter();
        let texts = spans.map(|span| text_of(*span, self.body));
        texts.fold(Vec::new(), |mut joined, text| {
            joined.extend_from_slice(&text);
            joined
        })
    }

    fn with_prepared<T>(
        &mut self,
        candidate: usize,
        work: impl FnOnce(&mut Prepared<'py>, &Asked<'_, 'py>, &Callbacks<'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut prepared = self
            .prepared
            .remove(&candidate)
            .unwrap_or_else(Prepared::unredacted);
        let tool_use_id = self.scan.tool_use_id(candidate, self.body, self.py)?;
        let decoded = self.decoded(candidate)?;
        let asked = Asked {
            tool_use_id: &tool_use_id,
            content: Some(&decoded.content),
            parts: decoded.texts.parts(),
        };
        let made = work(&mut prepared, &asked, self.callbacks);
        self.prepared.insert(candidate, prepared);
        made
    }

    fn result(&self, candidate: usize) -> &'a ResultSpan {
        &self.scan.scan.results()[candidate]
    }

    fn size_chars(&self, candidate: usize) -> u64 {
        self.scan.fingerprints[candidate].size_chars
    }
}

impl<'py> Knowledge for JsonKnowledge<'_, 'py> {
    type Text = Name;
    type Recorded = PyReplacement<'py>;
    type Built = Replacement;
    type Error = PyErr;

    fn is_surely_kept(&mut self, candidate: usize) -> PyResult<bool> {
        if !self.standing.is_kept(candidate) {
            return Ok(false);
        }
        let size_chars = self.size_chars(candidate);
        let may_be_framed = size_chars <= REFERENCE_MAX_CHARS;
        if may_be_framed && self.result(candidate).may_be_framed {
            return Ok(false);
        }
        let is_none = self
            .replaced_lengths
            .get_or_init(|| Lengths::of(&self.known))
            .surely_lack(size_chars);
        Ok(is_none)
    }

    fn measure(&mut self, candidate: usize, unit: Unit) -> PyResult<u64> {
        if let Some(size) = self.standing.size(candidate, unit) {
            return Ok(size);
        }
        let spans = self.scan.scan.texts_of(self.result(candidate));
        let size = measure_spans(spans, self.body, unit);
        self.standing.set_size(candidate, unit, size);
        Ok(size)
    }

    fn measure_recorded(&mut self, recorded: &PyReplacement<'py>, unit: Unit) -> PyResult<u64> {
        text::measure(slice::from_ref(recorded.as_object()), unit)
    }

    fn fingerprint(&mut self, candidate: usize) -> PyResult<Fingerprint> {
        Ok(self.scan.fingerprints[candidate])
    }

    fn earlier(&mut self, candidate: usize) -> PyResult<Option<Decision<PyReplacement<'py>>>> {
        if self.known.is_undecided() {
            return Ok(None);
        }
        if let Some(decision) = self.standing.get(candidate, self.py) {
            return Ok(Some(decision));
        }
        let tool_use_id = self.scan.tool_use_id(candidate, self.body, self.py)?;
        let classes = Classes::get(self.py)?;
        let fingerprint = self.scan.fingerprints[candidate];
        let decision = self
            .known
            .decision(classes, &tool_use_id, || Ok(fingerprint))?;
        if let Some(decision) = &decision {
            self.standing.set(candidate, decision);
        }
        Ok(decision)
    }

    fn unapplied(&mut self, candidate: usize) -> PyResult<Option<PyReplacement<'py>>> {
        self.known
            .unapplied(&self.scan.tool_use_id(candidate, self.body, self.py)?)
    }

    fn is_known_replacement(&mut self, candidate: usize) -> PyResult<bool> {
        let Some(same_length) = self.known.replacements(self.size_chars(candidate))? else {
            return Ok(false);
        };
        let parts = self.decoded(candidate)?.texts.parts();
        same_length.contains(text::join(self.py, parts)?)
    }

    fn is_framed(&mut self, candidate: usize) -> PyResult<bool> {
        let result = self.result(candidate);
        let size_chars = self.size_chars(candidate);
        if size_chars > REFERENCE_MAX_CHARS || !result.may_be_framed {
            return Ok(false);
        }
        Ok(is_framed_reference(&self.wtf8_of(result), size_chars))
    }

    fn prepare(&mut self, candidate: usize) -> PyResult<bool> {
        let redact = self.callbacks.redact.as_ref();
        let prepared = match redact {
            None => Ok(Prepared::unredacted()),
            Some(_) => Prepared::new(self.decoded(candidate)?.texts.parts(), redact)?,
        };
        match prepared {
            Ok(prepared) => {
                self.prepared.insert(candidate, prepared);
                Ok(true)
            }
            Err(error) => {
                let tool_use_id = self.scan.tool_use_id(candidate, self.body, self.py)?;
                let failure = (tool_use_id.as_object(), error.into_value(self.py));
                self.redaction_failures.append(failure)?;
                Ok(false)
            }
        }
    }

    fn outlook_of_all(&self) -> Outlook {
        self.callbacks.outlook_of_all()
    }

    fn outlook(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<Outlook> {
        self.with_prepared(candidate, |_, asked, callbacks| {
            outlook_of(asked.parts, callbacks, preview_bytes)
        })
    }

    fn replacement_chars(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<u64> {
        self.with_prepared(candidate, |prepared, asked, callbacks| {
            prepared.replacement_chars(asked, callbacks, preview_bytes)
        })
    }

    fn build(&mut self, candidate: usize, preview_bytes: i128) -> PyResult<Replacement> {
        self.with_prepared(candidate, |prepared, asked, callbacks| {
            prepared.build(asked, callbacks, preview_bytes)
        })
    }
}
