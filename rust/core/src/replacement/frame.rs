//! What a replacement says beside its preview, and how long it is at least.

use std::collections::TryReserveError;

use memchr::memchr;

use super::{
    CLOSING, FRAME_BYTES, FRAME_CHARS, OPENING, Original, PATH, Replacement, SIZE, TITLE,
    TITLE_END, in_memory,
};
use crate::size::count_chars;
use crate::size_text::SizeText;

/// No size is written shorter than `1KB`.
const LEAST_SIZE_CHARS: usize = 3;
/// Every replacement with a preview has at least so many beside it.
const LEAST_CHARS_WITH_PREVIEW: u64 =
    (FRAME_BYTES + TITLE.len() + TITLE_END.len() + 2 * LEAST_SIZE_CHARS) as u64;
/// Of one character in UTF-8.
const MOST_CHAR_BYTES: u64 = 4;

/// All that a replacement says beside its preview.
///
/// Of many results only this is ever needed: where none of a text is shown, none of it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    size: SizeText,
    /// Characters of a replacement without a preview.
    pub(super) size_chars: u64,
}

impl Frame {
    /// Begins the replacement of a text, whose head is not looked at.
    #[must_use]
    pub fn of(original: &Original<'_>) -> Self {
        let size = SizeText::of(original.size_bytes);
        let hint = original.reader_hint;
        Self {
            size,
            size_chars: FRAME_CHARS
                + size.as_bytes().len() as u64
                + count_chars(original.path)
                + hint.map_or(0, |hint| 1 + count_chars(hint)),
        }
    }

    /// Characters of a replacement without a preview and without a reader's hint, whose path has so
    /// many: enough to choose by before anything is written.
    ///
    /// ```
    /// use toolbudget_core::{Frame, Original};
    ///
    /// let original = Original { head: b"", size_bytes: 3, path: b"/t", reader_hint: None };
    /// assert_eq!(Frame::of(&original).size_chars(), Frame::bare_chars(3, 2));
    /// ```
    #[must_use]
    #[inline]
    pub fn bare_chars(size_bytes: i128, path_chars: u64) -> u64 {
        FRAME_CHARS + SizeText::chars_of(size_bytes) + path_chars
    }

    /// Characters of a replacement without a preview.
    #[must_use]
    pub const fn size_chars(&self) -> u64 {
        self.size_chars
    }

    /// Builds a replacement without a preview.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    ///
    /// ```
    /// use toolbudget_core::{Frame, Original};
    ///
    /// let original = Original { head: b"", size_bytes: 3, path: b"/t", reader_hint: None };
    /// let frame = Frame::of(&original);
    /// assert_eq!(frame.build(&original)?, original.build_replacement(0)?);
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    pub fn build(&self, original: &Original<'_>) -> Result<Replacement, TryReserveError> {
        Ok(Replacement {
            text: self.write(original, &[])?,
            size_chars: self.size_chars,
        })
    }

    /// Writes the text around a preview, which comes in parts.
    pub(super) fn write(
        &self,
        original: &Original<'_>,
        preview: &[&[u8]],
    ) -> Result<Vec<u8>, TryReserveError> {
        let size = self.size.as_bytes();
        let hint_bytes = original.reader_hint.map_or(0, |hint| 1 + hint.len());
        let preview_bytes = preview.iter().map(|part| part.len()).sum::<usize>();
        let mut text = Vec::new();
        text.try_reserve_exact(
            FRAME_BYTES + size.len() + original.path.len() + hint_bytes + preview_bytes,
        )?;
        text.extend_from_slice(OPENING.as_bytes());
        text.extend_from_slice(SIZE);
        text.extend_from_slice(size);
        text.extend_from_slice(PATH);
        text.extend_from_slice(original.path);
        if let Some(reader_hint) = original.reader_hint {
            text.push(b'\n');
            text.extend_from_slice(reader_hint);
        }
        for part in preview {
            text.extend_from_slice(part);
        }
        text.extend_from_slice(CLOSING.as_bytes());
        Ok(text)
    }
}

/// What is known of a text before its replacement is measured: enough to tell how long that is at
/// least, whatever its path is. To know that a preview is too large, no text need be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing but that it is replaced.
    Unknown,
    /// Its beginning is shown.
    Beginning,
    /// Its beginning is shown, and every byte of that, as far as it is surely shown, makes one
    /// character at least.
    Plain,
}

impl Outlook {
    /// That of an ASCII text whose beginning is shown, at most so many bytes of it.
    ///
    /// ```
    /// use toolbudget_core::{Original, Outlook};
    ///
    /// let text = b"one line\n".repeat(99);
    /// let original = Original { head: &text, size_bytes: 891, path: b"/t", reader_hint: None };
    /// let least_chars = Outlook::of_ascii(&text, 300).least_chars(891, 300);
    /// assert!((250..=original.build_replacement(300)?.size_chars).contains(&least_chars));
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    #[must_use]
    pub fn of_ascii(ascii: &[u8], max_preview_bytes: i128) -> Self {
        let shown_bytes = least_cut_bytes(max_preview_bytes).min(ascii.len());
        // Only this one becomes a character of several bytes.
        if memchr(b'\0', &ascii[..shown_bytes]).is_none() {
            Self::Plain
        } else {
            Self::Beginning
        }
    }

    /// Characters that the replacement of a text of so many characters has at least, with a preview
    /// of so many bytes, which are no more than this was found for.
    #[must_use]
    pub fn least_chars(self, text_chars: u64, preview_bytes: i128) -> u64 {
        LeastChars::with(preview_bytes).of(self, text_chars)
    }
}

/// How long replacements with previews of one size are at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeastChars {
    beside_preview: u64,
    /// By outlook.
    of_preview: [u64; 3],
}

impl LeastChars {
    /// Previews of at most so many bytes.
    pub(crate) fn with(preview_bytes: i128) -> Self {
        if preview_bytes <= 0 {
            return Self {
                beside_preview: FRAME_CHARS,
                of_preview: [0; 3],
            };
        }
        let least_bytes = least_cut_bytes(preview_bytes) as u64;
        // The cut may be moved to before a character, and no character takes more.
        let beginning = least_bytes.saturating_sub(MOST_CHAR_BYTES - 1) / MOST_CHAR_BYTES;
        Self {
            beside_preview: LEAST_CHARS_WITH_PREVIEW,
            of_preview: [0, beginning, least_bytes],
        }
    }

    /// That of a text of so many characters.
    #[inline]
    pub(crate) fn of(&self, outlook: Outlook, text_chars: u64) -> u64 {
        let of_preview = self.of_preview[outlook as usize].min(text_chars);
        self.beside_preview.saturating_add(of_preview)
    }
}

/// A preview that is cut is no shorter.
fn least_cut_bytes(preview_bytes: i128) -> usize {
    let most_bytes = in_memory(preview_bytes);
    (most_bytes / 2 + 1).min(most_bytes)
}
