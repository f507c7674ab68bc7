//! Fingerprints of the results of a scan; those of texts that stood in the body before are known.
//!
//! A text is taken for a known one only if its bytes are the same: that is compared faster than
//! any hash is computed.

use std::collections::HashMap;

use super::document::Scan;
use super::event::ResultSpan;
use super::resume::Leftover;
use super::text::SpanReader;
use crate::fingerprint::Fingerprint;

/// Results of the body before that were not taken over, with what is known about them.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// The bytes.
    pub body: &'a [u8],
    /// The results.
    pub leftover: &'a Leftover,
    /// Of each of them.
    pub fingerprints: &'a [Fingerprint],
}

/// The fingerprints of those results of a scan that were not taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recalled {
    /// Of each.
    pub fingerprints: Vec<Fingerprint>,
    /// Which result of the leftover has the same id and content, if it was found; nothing if there
    /// was no earlier body.
    pub origins: Vec<Option<usize>>,
}

/// Finds the fingerprints: in the body before, or by reading the texts.
#[must_use]
pub fn recall(scan: &Scan, body: &[u8], earlier: Option<Earlier<'_>>) -> Recalled {
    let results = &scan.results()[scan.reused_results()..];
    let mut reader = SpanReader::default();
    let mut read = |result: &ResultSpan| reader.fingerprint(scan.texts_of(result), body);
    let Some(earlier) = earlier else {
        return Recalled {
            fingerprints: results.iter().map(&mut read).collect(),
            origins: Vec::new(),
        };
    };
    let mut recalled = Recalled {
        fingerprints: Vec::with_capacity(results.len()),
        origins: Vec::with_capacity(results.len()),
    };
    let mut memory = Memory::new(earlier);
    for (index, result) in results.iter().enumerate() {
        let origin = memory.find(index, result, body);
        let known = origin.and_then(|origin| earlier.fingerprints.get(origin).copied());
        recalled
            .fingerprints
            .push(known.unwrap_or_else(|| read(result)));
        recalled.origins.push(origin);
    }
    recalled
}

struct Memory<'a> {
    earlier: Earlier<'a>,
    /// Made when the place alone does not tell: the last result by its id.
    by_id: Option<HashMap<&'a [u8], usize>>,
}

impl<'a> Memory<'a> {
    const fn new(earlier: Earlier<'a>) -> Self {
        Self {
            earlier,
            by_id: None,
        }
    }

    /// The same result in the body before: most of them have the same place in it.
    fn find(&mut self, index: usize, result: &ResultSpan, body: &[u8]) -> Option<usize> {
        let earlier = self.earlier;
        if self.is_same(index, result, body) {
            return Some(index);
        }
        let by_id = self.by_id.get_or_insert_with(|| {
            let results = earlier.leftover.results().iter().enumerate();
            results
                .map(|(index, result)| (result.tool_use_id.span.of(earlier.body), index))
                .collect()
        });
        let place = *by_id.get(result.tool_use_id.span.of(body))?;
        self.is_same(place, result, body).then_some(place)
    }

    fn is_same(&self, place: usize, result: &ResultSpan, body: &[u8]) -> bool {
        let earlier = self.earlier;
        let candidate = earlier.leftover.results().get(place);
        candidate.is_some_and(|candidate| {
            candidate.tool_use_id.span.of(earlier.body) == result.tool_use_id.span.of(body)
                && candidate.content.of(earlier.body) == result.content.of(body)
        })
    }
}
