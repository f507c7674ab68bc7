//! Sizes of text: characters are code points, bytes are WTF-8.

use std::ops::Range;

/// Bounds the copy that is made of non-ASCII text while its bytes are counted.
const PIECE_CHARS: usize = 1 << 16;

/// Cuts a text of `length_chars` characters into ranges that are small enough to be encoded one
/// by one, so that no second copy of a huge text appears.
///
/// ```
/// let ranges: Vec<_> = toolbudget_core::pieces(100_000).collect();
/// assert_eq!(ranges, [0..65_536, 65_536..100_000]);
/// ```
pub fn pieces(length_chars: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length_chars)
        .step_by(PIECE_CHARS)
        .map(move |start| start..length_chars.min(start.saturating_add(PIECE_CHARS)))
}

/// Counts the characters of a text in WTF-8.
///
/// ```
/// assert_eq!(toolbudget_core::count_chars("a日😀".as_bytes()), 3);
/// ```
#[must_use]
pub fn count_chars(text: &[u8]) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    // As many bytes as a sum of one byte can hold: so the loop inside is a few vector instructions.
    text.chunks(u8::MAX.into())
        .map(|chunk| {
            let starts = chunk.iter().map(|&byte| u8::from(!is_continuation(byte)));
            u64::from(starts.sum::<u8>())
        })
        .sum()
}

/// Tells whether `byte` stands inside a character, not at its beginning.
pub(crate) const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Writes a number with commas between the thousands.
pub(crate) fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_text_has_no_pieces() {
        assert_eq!(pieces(0).count(), 0);
    }

    #[test]
    fn thousands_are_parted() {
        let numbers = [0, 12, 999, 1_000, 12_345, 1_234_567].map(with_commas);
        assert_eq!(numbers, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
    }

    proptest! {
        #[test]
        fn characters_are_counted_as_rust_does(text in ".*") {
            prop_assert_eq!(count_chars(text.as_bytes()), text.chars().count() as u64);
        }

        /// The pieces follow each other without a gap, none is empty, none too large.
        #[test]
        fn pieces_cover_the_text(length_chars in 0_usize..1 << 24) {
            let mut end = 0;
            for piece in pieces(length_chars) {
                prop_assert_eq!(piece.start, end);
                prop_assert!((1..=PIECE_CHARS).contains(&piece.len()));
                end = piece.end;
            }
            prop_assert_eq!(end, length_chars);
        }
    }
}
