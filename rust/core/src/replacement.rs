//! The replacement text that stands in for a result, and how one is recognised.

use std::collections::TryReserveError;

use crate::preview::SafeHead;
use crate::size::{count_chars, is_continuation};

const OPENING: &str = "<persisted-output>\n";
const SIZE: &[u8] = b"Output too large (";
const PATH: &[u8] = b"). Full output saved to: ";
const TITLE: &[u8] = b"\n\nPreview (first ";
const TITLE_END: &[u8] = b"):\n";
const ELLIPSIS: &[u8] = b"\n...";
const CLOSING: &str = "\n</persisted-output>";

/// Of how many pieces of text a replacement is made.
const MOST_PARTS: usize = 13;

/// Every replacement is longer than this.
pub(crate) const FRAME_CHARS: u64 =
    (OPENING.len() + SIZE.len() + PATH.len() + CLOSING.len()) as u64;

/// Other programs' references are at most this long; a larger text in the same frame is plain data.
pub const REFERENCE_MAX_CHARS: u64 = 16_384;

/// Tells whether another program's replacement, known by its id alone, fits a text so long.
pub(crate) const fn is_applicable(foreign_chars: u64, size_chars: u64) -> bool {
    foreign_chars <= REFERENCE_MAX_CHARS && foreign_chars < size_chars
}

/// What a replacement says about the text that it stands for. Text is in WTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// The text, or as much of its beginning as
    /// [`preview_window_chars`](crate::preview_window_chars) asks for.
    pub head: &'a [u8],
    /// Bytes of the whole text.
    pub size_bytes: i128,
    /// Where the model can read it.
    pub path: &'a [u8],
    /// A line about the host's own reader, behind the path line.
    pub reader_hint: Option<&'a [u8]>,
}

/// The exact text that stands in for another one, in WTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The text.
    pub text: Vec<u8>,
    /// Its characters.
    pub size_chars: u64,
}

impl Original<'_> {
    /// Builds the replacement with a preview of at most `preview_bytes`; 0 leaves the preview out.
    ///
    /// It depends on nothing but its arguments: no clock, locale or platform takes part in it.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    ///
    /// ```
    /// use toolbudget_core::Original;
    ///
    /// let original = Original {
    ///     head: b"abc",
    ///     size_bytes: 3,
    ///     path: b"/results/t1.txt",
    ///     reader_hint: None,
    /// };
    /// let replacement = original.build_replacement(0)?;
    /// let expected = "<persisted-output>\n\
    ///     Output too large (3 bytes). Full output saved to: /results/t1.txt\n\
    ///     </persisted-output>";
    /// assert_eq!(replacement.text, expected.as_bytes());
    /// assert_eq!(replacement.size_chars, expected.len() as u64);
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    pub fn build_replacement(&self, preview_bytes: i128) -> Result<Replacement, TryReserveError> {
        Draft::of(self, preview_bytes)?.build(self, preview_bytes)
    }
}

/// What the replacements of one text have in common, whatever the size of their previews.
///
/// To measure one costs little, so that a size can be chosen before anything is built. Every method
/// takes the original that the draft was made of.
#[derive(Clone, Debug)]
pub struct Draft {
    head: SafeHead,
    size: SizeText,
    /// Characters of all that does not depend on the preview.
    frame_chars: u64,
}

impl Draft {
    /// Begins a replacement whose preview has at most so many bytes.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    pub fn of(original: &Original<'_>, max_preview_bytes: i128) -> Result<Self, TryReserveError> {
        let size = SizeText::of(original.size_bytes);
        let hint = original.reader_hint;
        Ok(Self {
            head: SafeHead::of(original.head, in_memory(max_preview_bytes))?,
            size,
            frame_chars: FRAME_CHARS
                + size.as_bytes().len() as u64
                + count_chars(original.path)
                + hint.map_or(0, |hint| 1 + count_chars(hint)),
        })
    }

    /// Characters that the replacement with a preview of at most `preview_bytes` has.
    ///
    /// ```
    /// use toolbudget_core::{Draft, Original};
    ///
    /// let original = Original { head: b"abc", size_bytes: 3, path: b"/t", reader_hint: None };
    /// let draft = Draft::of(&original, 2)?;
    /// let built = draft.build(&original, 2)?;
    /// assert_eq!(draft.size_chars(&original, 2), built.size_chars);
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    #[must_use]
    pub fn size_chars(&self, original: &Original<'_>, preview_bytes: i128) -> u64 {
        if preview_bytes <= 0 {
            return self.frame_chars;
        }
        let cut = self.head.cut(original.head, in_memory(preview_bytes));
        let label = SizeText::of(preview_bytes);
        let title = TITLE.len() + label.as_bytes().len() + TITLE_END.len();
        let ellipsis = if cut.has_more { ELLIPSIS.len() } else { 0 };
        self.frame_chars + self.head.count_chars(cut) + (title + ellipsis) as u64
    }

    /// Builds the replacement with a preview of at most `preview_bytes`; 0 leaves the preview out.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    pub fn build(
        &self,
        original: &Original<'_>,
        preview_bytes: i128,
    ) -> Result<Replacement, TryReserveError> {
        let mut parts: [&[u8]; MOST_PARTS] = [b""; MOST_PARTS];
        [parts[0], parts[1], parts[2]] = [OPENING.as_bytes(), SIZE, self.size.as_bytes()];
        [parts[3], parts[4]] = [PATH, original.path];
        if let Some(reader_hint) = original.reader_hint {
            [parts[5], parts[6]] = [b"\n", reader_hint];
        }
        let label = SizeText::of(preview_bytes);
        if preview_bytes > 0 {
            let cut = self.head.cut(original.head, in_memory(preview_bytes));
            [parts[7], parts[8], parts[9]] = [TITLE, label.as_bytes(), TITLE_END];
            parts[10] = cut.text;
            parts[11] = if cut.has_more { ELLIPSIS } else { b"" };
        }
        parts[12] = CLOSING.as_bytes();
        Ok(Replacement {
            text: concatenate(&parts)?,
            size_chars: self.size_chars(original, preview_bytes),
        })
    }
}

/// No preview is larger than memory.
fn in_memory(size_bytes: i128) -> usize {
    usize::try_from(size_bytes.max(0)).unwrap_or(usize::MAX)
}

fn concatenate(parts: &[&[u8]]) -> Result<Vec<u8>, TryReserveError> {
    let mut text = Vec::new();
    text.try_reserve_exact(parts.iter().map(|part| part.len()).sum())?;
    for part in parts {
        text.extend_from_slice(part);
    }
    Ok(text)
}

/// Writes a byte count for a reader: `812 bytes`, `82.3KB`, `2MB`.
///
/// Units are of 1024, with one decimal rounded half up on integers; `.0` is dropped.
///
/// ```
/// use toolbudget_core::format_size;
///
/// assert_eq!(format_size(1_023), "1023 bytes");
/// assert_eq!(format_size(84_275), "82.3KB");
/// assert_eq!(format_size(2 << 20), "2MB");
/// ```
#[must_use]
pub fn format_size(size_bytes: i128) -> String {
    String::from_utf8_lossy(SizeText::of(size_bytes).as_bytes()).into_owned()
}

/// What [`format_size`] writes, in ASCII and without an allocation.
#[derive(Clone, Copy, Debug)]
struct SizeText {
    /// At its end; the longest number has 40 characters, a unit six.
    bytes: [u8; 48],
    start: usize,
}

impl SizeText {
    fn of(size_bytes: i128) -> Self {
        let mut text = Self {
            bytes: [0; 48],
            start: 48,
        };
        if let Ok(usual) = u32::try_from(size_bytes) {
            text.push_size(usual.into());
        } else if let Ok(large) = u128::try_from(size_bytes) {
            text.push_size(large);
        } else {
            text.push_front(b" bytes");
            text.push_large(size_bytes.unsigned_abs());
            text.push_front(b"-");
        }
        text
    }

    #[inline]
    fn push_size(&mut self, size_bytes: u128) {
        let (unit_bits, unit): (u32, &[u8]) = match size_bytes {
            ..0x400 => (0, b" bytes"),
            0x400..0x10_0000 => (10, b"KB"),
            0x10_0000..0x4000_0000 => (20, b"MB"),
            0x4000_0000.. => (30, b"GB"),
        };
        let unit_bytes = 1 << unit_bits;
        let whole = size_bytes >> unit_bits;
        let tenths = (20 * (size_bytes & (unit_bytes - 1)) + unit_bytes) >> (unit_bits + 1);
        self.push_front(unit);
        if let 1..=9 = tenths {
            self.push_number(tenths);
            self.push_front(b".");
        }
        self.push_number(if tenths == 10 { whole + 1 } else { whole });
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn push_front(&mut self, text: &[u8]) {
        for &byte in text.iter().rev() {
            self.push_byte(byte);
        }
    }

    #[inline]
    const fn push_byte(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    /// Numbers of sizes are small as a rule, and to divide large ones is slow.
    #[inline]
    fn push_number(&mut self, number: u128) {
        let Ok(mut rest) = u32::try_from(number) else {
            self.push_large(number);
            return;
        };
        loop {
            self.push_byte(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                return;
            }
        }
    }

    #[cold]
    fn push_large(&mut self, number: u128) {
        self.push_front(number.to_string().as_bytes());
    }
}

/// Tells whether a text of `size_chars` characters looks like another program's reference: framed,
/// and short.
///
/// ```
/// use toolbudget_core::is_framed_reference;
///
/// let framed = b"<persisted-output>\nsaved\n</persisted-output>\n";
/// assert!(is_framed_reference(framed, framed.len() as u64));
/// assert!(!is_framed_reference(framed, 16_385));
/// assert!(!is_framed_reference(b"<persisted-output>\nsaved", 24));
/// ```
#[must_use]
pub fn is_framed_reference(text: &[u8], size_chars: u64) -> bool {
    size_chars <= REFERENCE_MAX_CHARS
        && text.starts_with(OPENING.as_bytes())
        && trim_end(text).ends_with(CLOSING.as_bytes())
}

/// Drops trailing white space as Python's `str.rstrip` does.
fn trim_end(text: &[u8]) -> &[u8] {
    let mut end = text.len();
    while let Some(start) = start_of_last_white_space(&text[..end]) {
        end = start;
    }
    &text[..end]
}

fn start_of_last_white_space(text: &[u8]) -> Option<usize> {
    let start = text.iter().rposition(|&byte| !is_continuation(byte))?;
    let character = str::from_utf8(&text[start..]).ok()?.chars().next()?;
    is_python_space(character).then_some(start)
}

/// Python counts four separators as white space that Unicode's property does not.
const fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests;
