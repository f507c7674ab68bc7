//! Texts that are read in parts, so that none needs to be copied as a whole.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::preview::{Preview, cut_preview, preview_window_chars};

/// A text whose parts can be had as WTF-8, by their places in characters.
pub trait Source {
    /// A part of it.
    type Bytes<'a>: AsRef<[u8]>
    where
        Self: 'a;
    /// Why a part cannot be had.
    type Error: From<TryReserveError>;

    /// How long it is.
    fn length_chars(&self) -> usize;

    /// Reads a part; `range` lies inside the text.
    ///
    /// # Errors
    ///
    /// The part cannot be had, for want of memory perhaps.
    fn read(&self, range: Range<usize>) -> Result<Self::Bytes<'_>, Self::Error>;
}

/// A text in memory. If it is not ASCII, each part is looked for from the beginning on.
impl Source for str {
    type Bytes<'a> = &'a [u8];
    type Error = TryReserveError;

    fn length_chars(&self) -> usize {
        self.chars().count()
    }

    fn read(&self, range: Range<usize>) -> Result<&[u8], TryReserveError> {
        if self.is_ascii() {
            return Ok(&self.as_bytes()[range]);
        }
        let place = |chars| {
            self.char_indices()
                .nth(chars)
                .map_or(self.len(), |(at, _)| at)
        };
        Ok(&self.as_bytes()[place(range.start)..place(range.end)])
    }
}

/// Cuts the preview of a whole text.
pub(crate) fn cut_head<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
) -> Result<Preview, S::Error> {
    let window_chars = preview_window_chars(max_bytes).min(source.length_chars());
    let head = source.read(0..window_chars)?;
    Ok(cut_preview(head.as_ref(), max_bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_in_characters() -> Result<(), TryReserveError> {
        assert_eq!("aé日😀b".read(1..4)?, "é日😀".as_bytes());
        assert_eq!("abc".read(1..3)?, b"bc");
        assert_eq!("é".read(1..1)?, b"");
        Ok(())
    }
}
