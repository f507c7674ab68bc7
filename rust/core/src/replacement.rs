//! The replacement text that stands in for a result, and how one is recognised.

use std::collections::TryReserveError;

use crate::preview::cut_preview;
use crate::size::{count_chars, is_continuation};

const OPENING: &str = "<persisted-output>\n";
const SIZE: &str = "Output too large (";
const PATH: &str = "). Full output saved to: ";
const CLOSING: &str = "\n</persisted-output>";
const ELLIPSIS: &str = "\n...";

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
        let size = format_size(self.size_bytes);
        let mut parts: Vec<&[u8]> = Vec::with_capacity(MOST_PARTS);
        parts.extend([
            OPENING.as_bytes(),
            SIZE.as_bytes(),
            size.as_bytes(),
            PATH.as_bytes(),
            self.path,
        ]);
        if let Some(reader_hint) = self.reader_hint {
            parts.extend([b"\n", reader_hint]);
        }
        let label = format_size(preview_bytes);
        let preview;
        if preview_bytes > 0 {
            preview = cut_preview(
                self.head,
                usize::try_from(preview_bytes).unwrap_or(usize::MAX),
            )?;
            let title: [&[u8]; 3] = [b"\n\nPreview (first ", label.as_bytes(), b"):\n"];
            parts.extend(title);
            parts.push(preview.text.as_bytes());
            parts.extend(preview.has_more.then_some(ELLIPSIS.as_bytes()));
        }
        parts.push(CLOSING.as_bytes());
        let text = concatenate(&parts)?;
        let size_chars = count_chars(&text);
        Ok(Replacement { text, size_chars })
    }
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
    let (unit_bytes, unit) = match size_bytes {
        i128::MIN..0 => return format!("{size_bytes} bytes"),
        0..0x400 => (1, " bytes"),
        0x400..0x10_0000 => (0x400, "KB"),
        0x10_0000..0x4000_0000 => (0x10_0000, "MB"),
        0x4000_0000.. => (0x4000_0000, "GB"),
    };
    let whole = size_bytes / unit_bytes;
    let tenths = (20 * (size_bytes % unit_bytes) + unit_bytes) / (2 * unit_bytes);
    let mut text = String::with_capacity(16);
    push_number(&mut text, if tenths == 10 { whole + 1 } else { whole });
    if let 1..=9 = tenths {
        text.push('.');
        push_number(&mut text, tenths);
    }
    text.push_str(unit);
    text
}

/// Appends a number that is not negative; those of sizes are small, so this beats `format!`.
fn push_number(text: &mut String, number: i128) {
    let Ok(mut rest) = u64::try_from(number) else {
        text.push_str(&number.to_string());
        return;
    };
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while rest > 0 || start == digits.len() {
        start -= 1;
        digits[start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    text.extend(digits[start..].iter().map(|&digit| char::from(digit)));
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
