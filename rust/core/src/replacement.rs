//! The replacement text that stands in for a result, and how one is recognised.

mod frame;

use std::collections::TryReserveError;

use crate::preview::{Cut, SafeHead};
use crate::shown::{Shown, ShownStyle};
use crate::size::{count_chars, is_continuation};
use crate::size_text::SizeText;

pub(crate) use frame::LeastChars;
pub use frame::{Frame, Outlook};

const OPENING: &str = "<persisted-output>\n";
const SIZE: &[u8] = b"Output too large (";
const PATH: &[u8] = b"). Full output saved to: ";
const TITLE: &[u8] = b"\n\nPreview (first ";
const OTHER_TITLE: &[u8] = b"\n\nPreview (";
const OTHER_SIZE: &[u8] = b", at most ";
const TITLE_END: &[u8] = b"):\n";
const ELLIPSIS: &[u8] = b"\n...";
const CLOSING: &str = "\n</persisted-output>";

/// Every replacement is longer than this.
pub(crate) const FRAME_CHARS: u64 = FRAME_BYTES as u64;
const FRAME_BYTES: usize = OPENING.len() + SIZE.len() + PATH.len() + CLOSING.len();

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
        Draft::of(self, preview_bytes)?.build(self, &PreviewSize::of(preview_bytes))
    }
}

/// The largest size of previews, and how a replacement names it. It is the same for all results that
/// are chosen together, so that it need not be written for each.
#[derive(Clone, Copy, Debug)]
pub struct PreviewSize {
    bytes: i128,
    label: SizeText,
}

impl PreviewSize {
    /// Previews of at most so many bytes; 0 leaves them out.
    #[must_use]
    pub fn of(bytes: i128) -> Self {
        Self {
            bytes,
            label: SizeText::of(bytes),
        }
    }

    /// How many bytes it is.
    #[must_use]
    pub const fn bytes(&self) -> i128 {
        self.bytes
    }

    /// Whether there is no preview at all.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.bytes <= 0
    }
}

/// What the replacements of one text have in common, whatever the size of their previews.
///
/// To measure one costs little, so that a size can be chosen before anything is built. Every method
/// takes the original that the draft was made of.
#[derive(Clone, Debug)]
pub struct Draft {
    head: SafeHead,
    frame: Frame,
}

impl Draft {
    /// Begins a replacement whose preview has at most so many bytes.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    pub fn of(original: &Original<'_>, max_preview_bytes: i128) -> Result<Self, TryReserveError> {
        Ok(Self {
            head: SafeHead::of(original.head, in_memory(max_preview_bytes))?,
            frame: Frame::of(original),
        })
    }

    /// Goes on with a replacement that was begun; `is_ascii` if the head is known to be, so that it
    /// need not be checked.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    pub fn with_frame(
        frame: Frame,
        head: &[u8],
        is_ascii: bool,
        max_preview_bytes: i128,
    ) -> Result<Self, TryReserveError> {
        let max_bytes = in_memory(max_preview_bytes);
        let head = if is_ascii {
            SafeHead::of_ascii(head, max_bytes)?
        } else {
            SafeHead::of(head, max_bytes)?
        };
        Ok(Self { head, frame })
    }

    /// Characters that the replacement with a preview of at most such a size has. `head` is that of
    /// the original.
    ///
    /// ```
    /// use toolbudget_core::{Draft, Original, PreviewSize};
    ///
    /// let original = Original { head: b"abc", size_bytes: 3, path: b"/t", reader_hint: None };
    /// let draft = Draft::of(&original, 2)?;
    /// let preview = PreviewSize::of(2);
    /// let built = draft.build(&original, &preview)?;
    /// assert_eq!(draft.size_chars(original.head, &preview), built.size_chars);
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    #[must_use]
    pub fn size_chars(&self, head: &[u8], preview: &PreviewSize) -> u64 {
        if preview.is_none() {
            return self.frame.size_chars;
        }
        self.chars_with(self.head.cut(head, in_memory(preview.bytes)), preview)
    }

    fn chars_with(&self, cut: Cut<'_>, preview: &PreviewSize) -> u64 {
        let title = TITLE.len() + preview.label.as_bytes().len() + TITLE_END.len();
        let ellipsis = ellipsis(cut.has_more).len();
        self.frame.size_chars + self.head.count_chars(cut) + (title + ellipsis) as u64
    }

    /// Characters that the replacement with a preview in another style has.
    #[must_use]
    pub fn size_chars_shown(&self, shown: &Shown, preview: &PreviewSize) -> u64 {
        let label = [OTHER_TITLE, shown.style.label().as_bytes(), OTHER_SIZE];
        let title = label.iter().map(|part| part.len()).sum::<usize>();
        let title = title + preview.label.as_bytes().len() + TITLE_END.len();
        let ellipsis = ellipsis(shown.preview.has_more).len();
        let preview_chars = count_chars(shown.preview.text.as_bytes());
        self.frame.size_chars + preview_chars + (title + ellipsis) as u64
    }

    /// Builds the replacement with a preview that was made in any style.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    ///
    /// ```
    /// use toolbudget_core::{Draft, Original, PreviewSize, Style, show_preview};
    ///
    /// let text = "x".repeat(999);
    /// let original =
    ///     Original { head: text.as_bytes(), size_bytes: 999, path: b"/t", reader_hint: None };
    /// let preview = PreviewSize::of(300);
    /// let shown = show_preview(text.as_str(), 300, Style::HeadTail, |_| Ok(None))?;
    /// let draft = Draft::of(&original, 300)?;
    /// let built = draft.build_shown(&original, &preview, &shown)?;
    /// assert_eq!(draft.size_chars_shown(&shown, &preview), built.size_chars);
    /// let built = String::from_utf8_lossy(&built.text).into_owned();
    /// assert!(built.contains("\nPreview (start and end, at most 300 bytes):\nxxx"));
    /// # Ok::<(), std::collections::TryReserveError>(())
    /// ```
    pub fn build_shown(
        &self,
        original: &Original<'_>,
        preview: &PreviewSize,
        shown: &Shown,
    ) -> Result<Replacement, TryReserveError> {
        if preview.is_none() || shown.style == ShownStyle::Head {
            return self.build(original, preview);
        }
        let parts = [
            OTHER_TITLE,
            shown.style.label().as_bytes(),
            OTHER_SIZE,
            preview.label.as_bytes(),
            TITLE_END,
            shown.preview.text.as_bytes(),
            ellipsis(shown.preview.has_more),
        ];
        Ok(Replacement {
            text: self.frame.write(original, &parts)?,
            size_chars: self.size_chars_shown(shown, preview),
        })
    }

    /// Builds the replacement with a preview of at most such a size; 0 leaves the preview out.
    ///
    /// # Errors
    ///
    /// There is no memory for the text.
    pub fn build(
        &self,
        original: &Original<'_>,
        preview: &PreviewSize,
    ) -> Result<Replacement, TryReserveError> {
        if preview.is_none() {
            return self.frame.build(original);
        }
        let cut = self.head.cut(original.head, in_memory(preview.bytes));
        let label = preview.label.as_bytes();
        let parts = [TITLE, label, TITLE_END, cut.text, ellipsis(cut.has_more)];
        Ok(Replacement {
            text: self.frame.write(original, &parts)?,
            size_chars: self.chars_with(cut, preview),
        })
    }
}

const fn ellipsis(has_more: bool) -> &'static [u8] {
    if has_more { ELLIPSIS } else { b"" }
}

/// No preview is larger than memory.
fn in_memory(size_bytes: i128) -> usize {
    usize::try_from(size_bytes.max(0)).unwrap_or(usize::MAX)
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
