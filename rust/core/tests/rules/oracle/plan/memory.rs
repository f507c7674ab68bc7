//! A case as the core asks about it.

use std::convert::Infallible;

use toolbudget_core::{
    Decision, Fingerprint, Knowledge, Measure, Original, Recorded, Replacement, Unit, count_chars,
    is_framed_reference,
};

use super::case::{Case, Item};

/// A recorded replacement.
#[derive(Clone, Debug)]
pub(crate) struct RecordedText(pub(crate) String);

impl Recorded for RecordedText {
    fn size_chars(&self) -> u64 {
        count_chars(self.0.as_bytes())
    }
}

/// Answers from a case.
pub(crate) struct Memory<'a> {
    pub(crate) case: &'a Case,
}

impl Memory<'_> {
    fn item(&self, candidate: usize) -> &Item {
        &self.case.items[candidate]
    }
}

/// The replacement of an item, if it is built with such a preview.
pub(crate) fn build(item: &Item, preview_bytes: i128) -> Replacement {
    let original = Original {
        head: item.text.as_bytes(),
        size_bytes: i128::try_from(item.text.len()).unwrap(),
        path: &[b'p'; 9][..usize::from(item.id % 9)],
        reader_hint: None,
    };
    original.build_replacement(preview_bytes).unwrap()
}

impl Knowledge for Memory<'_> {
    type Text = String;
    type Recorded = RecordedText;
    type Built = Replacement;
    type Error = Infallible;

    fn measure(&mut self, candidate: usize, unit: Unit) -> Result<u64, Infallible> {
        Ok(Measure::of(self.item(candidate).text.as_bytes(), unit))
    }

    fn measure_recorded(&mut self, recorded: &RecordedText, unit: Unit) -> Result<u64, Infallible> {
        Ok(Measure::of(recorded.0.as_bytes(), unit))
    }

    fn fingerprint(&mut self, candidate: usize) -> Result<Fingerprint, Infallible> {
        let text = self.item(candidate).text.as_bytes();
        Ok(Fingerprint::of(text, count_chars(text)))
    }

    fn knows_nothing(&self) -> bool {
        self.case.past.is_nothing()
    }

    fn earlier(&mut self, candidate: usize) -> Result<Option<Decision<RecordedText>>, Infallible> {
        let item = self.item(candidate);
        let decision = self.case.past.decisions.get(&(item.id, item.text.clone()));
        Ok(decision.map(|decision| match decision {
            Some(text) => Decision::Replaced(RecordedText(text.clone())),
            None => Decision::Kept,
        }))
    }

    fn unapplied(&mut self, candidate: usize) -> Result<Option<RecordedText>, Infallible> {
        let text = self.case.past.unapplied.get(&self.item(candidate).id);
        Ok(text.cloned().map(RecordedText))
    }

    fn is_known_replacement(&mut self, candidate: usize) -> Result<bool, Infallible> {
        let text = &self.item(candidate).text;
        Ok(self.case.past.replacements.contains(text))
    }

    fn is_framed(&mut self, candidate: usize) -> Result<bool, Infallible> {
        let text = self.item(candidate).text.as_bytes();
        Ok(is_framed_reference(text, count_chars(text)))
    }

    fn prepare(&mut self, candidate: usize) -> Result<bool, Infallible> {
        Ok(!self.item(candidate).is_refused)
    }

    fn build(&mut self, candidate: usize, preview_bytes: i128) -> Result<Replacement, Infallible> {
        Ok(build(self.item(candidate), preview_bytes))
    }
}
