//! Which lengths replacements have, looked up without an object of Python's for each question.

use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::known::Known;

/// Lengths that differ by a multiple of this are not told apart.
const BITS: u64 = 1 << 12;
const WORD_BITS: u64 = u64::BITS as u64;

/// The lengths of all replacements that were made in a conversation.
pub(crate) struct Lengths([u64; (BITS / WORD_BITS) as usize]);

impl Lengths {
    pub(crate) fn of(known: &Known<'_>) -> Self {
        let mut lengths = Self([0; _]);
        let every = Self([u64::MAX; _]);
        let Some(replacements) = known.all_replacements() else {
            return every;
        };
        for (length, _) in replacements {
            let whole = length.cast_exact::<PyInt>();
            let Some(Ok(length)) = whole.ok().map(|whole| whole.extract::<u64>()) else {
                return every;
            };
            let (word, bit) = place_of(length);
            lengths.0[word] |= bit;
        }
        lengths
    }

    /// Whether no replacement has this length. To say no is never wrong.
    pub(crate) const fn surely_lack(&self, length_chars: u64) -> bool {
        let (word, bit) = place_of(length_chars);
        self.0[word] & bit == 0
    }
}

const fn place_of(length: u64) -> (usize, u64) {
    let place = length % BITS;
    ((place / WORD_BITS) as usize, 1 << (place % WORD_BITS))
}
