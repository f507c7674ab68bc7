//! Units that the size of a text can be measured in.

use crate::size::count_chars;
use crate::tokens::TokenEstimator;

/// What limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Code points.
    #[default]
    Chars,
    /// Tokens, as [`TokenEstimator`] estimates them.
    Tokens,
    /// Bytes in WTF-8.
    Bytes,
}

/// Measures a text that comes in pieces.
///
/// ```
/// use toolbudget_core::{Measure, Unit};
///
/// let mut measure = Measure::new(Unit::Bytes);
/// measure.push("日本".as_bytes());
/// measure.push(b"!");
/// assert_eq!(measure.finish(), 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Characters so far.
    Chars(u64),
    /// Tokens so far.
    Tokens(TokenEstimator),
    /// Bytes so far.
    Bytes(u64),
}

impl Measure {
    /// Starts with an empty text.
    #[must_use]
    pub fn new(unit: Unit) -> Self {
        match unit {
            Unit::Chars => Self::Chars(0),
            Unit::Tokens => Self::Tokens(TokenEstimator::new()),
            Unit::Bytes => Self::Bytes(0),
        }
    }

    /// Measures a text in WTF-8.
    #[must_use]
    pub fn of(text: &[u8], unit: Unit) -> u64 {
        let mut measure = Self::new(unit);
        measure.push(text);
        measure.finish()
    }

    /// Adds the next piece in WTF-8, which may end inside a character.
    pub fn push(&mut self, piece: &[u8]) {
        match self {
            Self::Chars(chars) => *chars = chars.saturating_add(count_chars(piece)),
            Self::Tokens(estimator) => estimator.push(piece),
            Self::Bytes(bytes) => *bytes = bytes.saturating_add(piece.len() as u64),
        }
    }

    /// Gives the size of all pieces.
    #[must_use]
    pub const fn finish(self) -> u64 {
        match self {
            Self::Chars(size) | Self::Bytes(size) => size,
            Self::Tokens(estimator) => estimator.finish(),
        }
    }
}
