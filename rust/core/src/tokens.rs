//! An estimate of how many tokens a text is, from the kinds of its characters.
//!
//! Every character has a weight in hundredths of a token, which depends on its kind and on the one
//! or two characters before it: a word costs most at its beginning, a row of dashes hardly more
//! than one. The weights are those of `toolbudget._core.pure.tokens`, which says where they come
//! from.

mod ascii;

use crate::size::is_continuation;
use ascii::{Before, hundredths};

/// Estimates the tokens of a text that comes in pieces.
///
/// ```
/// use toolbudget_core::TokenEstimator;
///
/// let mut estimator = TokenEstimator::new();
/// estimator.push(b"Hello, ");
/// estimator.push("日本".as_bytes());
/// assert_eq!(estimator.finish(), 6);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenEstimator {
    hundredths: u64,
    before: Before,
    /// The last whole character if it is not ASCII, else 0.
    previous_wide: u32,
    open: Open,
}

/// A character that is not ASCII, as far as it has come.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    bits: u32,
    missing_bytes: u8,
}

impl Open {
    /// What it is with one more byte: the next one of this character, or the first of another.
    fn with(self, byte: u8) -> Self {
        if self.missing_bytes > 0 && is_continuation(byte) {
            return Self {
                bits: self.bits << 6 | u32::from(byte & 0x3F),
                missing_bytes: self.missing_bytes - 1,
            };
        }
        let missing_bytes = match byte {
            ..0xC0 => 0,
            0xC0..0xE0 => 1,
            0xE0..0xF0 => 2,
            0xF0.. => 3,
        };
        Self {
            bits: u32::from(byte) & (0x3F >> missing_bytes),
            missing_bytes,
        }
    }
}

impl TokenEstimator {
    /// Starts with an empty text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece in WTF-8, which may end inside a character.
    pub fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (ascii, others) = rest.split_at(ascii_length(rest));
            self.push_ascii(ascii);
            let (wide, others) = others.split_at(wide_length(others));
            self.push_wide(wide);
            rest = others;
        }
    }

    /// Gives the tokens of all pieces, rounded up.
    #[must_use]
    pub const fn finish(self) -> u64 {
        self.hundredths.div_ceil(100)
    }

    fn push_ascii(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        self.hundredths = self
            .hundredths
            .saturating_add(hundredths(self.before, text));
        self.before = self.before.after(text);
        self.previous_wide = 0;
        self.open = Open::default();
    }

    /// Adds bytes of characters that are not ASCII.
    fn push_wide(&mut self, text: &[u8]) {
        for &byte in text {
            self.open = self.open.with(byte);
            if self.open.missing_bytes == 0 {
                let character = self.open.bits;
                let weight = wide_hundredths(character, character == self.previous_wide);
                self.hundredths = self.hundredths.saturating_add(weight);
                self.previous_wide = character;
            }
        }
        if !text.is_empty() {
            self.before = Before::WIDE;
        }
    }
}

/// How many bytes of ASCII a text begins with.
fn ascii_length(text: &[u8]) -> usize {
    const STEP: usize = 64;
    let whole = text.chunks_exact(STEP).take_while(|chunk| chunk.is_ascii());
    let start = whole.count() * STEP;
    let rest = text[start..].iter().take_while(|byte| byte.is_ascii());
    start + rest.count()
}

/// How many bytes a text begins with that are no ASCII.
fn wide_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| !byte.is_ascii()).count()
}

/// The weight of a character that is not ASCII.
const fn wide_hundredths(character: u32, is_repeated: bool) -> u64 {
    match character {
        // Latin with marks, and the punctuation of Western languages.
        0x80..=0x24F => 240,
        // Cyrillic.
        0x400..=0x52F => 75,
        // Other scripts of two bytes: Greek, Hebrew, Arabic.
        0x250..=0x7FF => 130,
        // Scripts of three bytes: of India and South-East Asia, and marks.
        0x800..=0x1FFF => 180,
        // Kana and the punctuation of Chinese and Japanese.
        0x3000..=0x30FF | 0xFF00..=0xFFEF => 88,
        // Chinese characters.
        0x2E80..=0x2FFF | 0x3100..=0xABFF | 0xF900..=0xFAFF => 160,
        // Hangul.
        0xAC00..=0xD7A3 => 155,
        // Emoji, and whatever else takes four bytes.
        0x1_0000.. => 375,
        // Symbols, frames of boxes, and everything that is left; a row of one costs less.
        _ if is_repeated => 60,
        _ => 95,
    }
}

#[cfg(test)]
mod tests;
