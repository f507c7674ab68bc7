//! Previews: the leading part of a text, made safe for the wire and cut without scanning the rest.

use std::borrow::Cow;
use std::collections::TryReserveError;

use memchr::{memchr2, memchr2_iter, memrchr};

use crate::size::{count_chars, is_continuation};

/// What the frame of a replacement is called; text that looks like its tag is defused.
const FRAME_NAME: &str = "persisted-output";
/// A tag can begin inside the cut and end behind it: so many characters more must be looked at.
const TAG_LOOK_AHEAD_CHARS: usize = "</persisted-output".len();

/// No letter that a tag is compared with without case takes more bytes than two.
const MOST_TAG_BYTES: usize = 2 * TAG_LOOK_AHEAD_CHARS;

/// The leading part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// At most as many bytes as asked for, with nothing that a request body could not carry.
    pub text: String,
    /// Whether anything of the text was left out.
    pub has_more: bool,
}

/// How many leading characters [`cut_preview`] must be given so that it gives what it would give
/// for the whole text: every character takes at least one byte, so nothing behind can be shown.
///
/// ```
/// assert_eq!(toolbudget_core::preview_window_chars(2_000), 2_018);
/// ```
#[must_use]
pub const fn preview_window_chars(max_bytes: usize) -> usize {
    max_bytes.saturating_add(TAG_LOOK_AHEAD_CHARS)
}

/// Cuts the wire-safe form of a text to at most `max_bytes` bytes, never inside a character.
///
/// Lone surrogates and NUL become U+FFFD; the `<` of `<persisted-output` and
/// `</persisted-output`, in any case, becomes `&lt;`. When something is left out, the text ends
/// before the last line break that stands strictly past half of `max_bytes`, if there is one.
///
/// `head` is the text in WTF-8, or its first [`preview_window_chars`] characters. Bytes that are
/// no WTF-8 do no harm: they become U+FFFD, one or more together.
///
/// # Errors
///
/// There is no memory for the preview.
///
/// ```
/// use toolbudget_core::cut_preview;
///
/// assert_eq!(cut_preview(b"one\ntwo\nthree", 9)?.text, "one\ntwo");
/// assert_eq!(cut_preview("日本".as_bytes(), 5)?.text, "日");
/// assert_eq!(cut_preview(b"</Persisted-Output>", 99)?.text, "&lt;/Persisted-Output>");
/// assert_eq!(cut_preview(b"lone \xed\xa0\x80 surrogate", 99)?.text, "lone \u{fffd} surrogate");
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn cut_preview(head: &[u8], max_bytes: usize) -> Result<Preview, TryReserveError> {
    let safe = SafeHead::of(head, max_bytes)?;
    let cut = safe.cut(head, max_bytes);
    let mut text = String::new();
    text.try_reserve_exact(cut.text.len())?;
    text.push_str(str::from_utf8(cut.text).unwrap_or_default());
    Ok(Preview {
        text,
        has_more: cut.has_more,
    })
}

/// Replaces what a request body or our own frame could not carry, as previews do it.
pub(crate) fn make_wire_safe(text: &[u8]) -> Result<Cow<'_, str>, TryReserveError> {
    match str::from_utf8(text) {
        Ok(valid) if !may_be_unsafe(text) => Ok(Cow::Borrowed(valid)),
        _ => SafeText::of(text, usize::MAX).map(Cow::Owned),
    }
}

/// A text made wire-safe once, so that previews of any size can be cut from it.
///
/// The text itself stays with its owner: nearly always it is wire-safe as it is.
#[derive(Clone, Debug)]
pub(crate) struct SafeHead {
    /// The wire-safe form, if it is another one.
    changed: Option<String>,
    is_ascii: bool,
}

/// A preview as a part of the text that it is cut from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a> {
    /// Valid UTF-8.
    pub(crate) text: &'a [u8],
    pub(crate) has_more: bool,
}

impl SafeHead {
    /// Makes a text safe, as far as a preview of at most `max_bytes` can show it.
    pub(crate) fn of(head: &[u8], max_bytes: usize) -> Result<Self, TryReserveError> {
        let is_ascii = head.is_ascii();
        let is_valid = is_ascii || str::from_utf8(head).is_ok();
        Self::of_checked(head, max_bytes, is_ascii, is_valid)
    }

    /// The same for a text that is known to be ASCII.
    pub(crate) fn of_ascii(head: &[u8], max_bytes: usize) -> Result<Self, TryReserveError> {
        Self::of_checked(head, max_bytes, true, true)
    }

    fn of_checked(
        head: &[u8],
        max_bytes: usize,
        is_ascii: bool,
        is_valid: bool,
    ) -> Result<Self, TryReserveError> {
        let is_safe = is_valid && !may_be_unsafe(head);
        let changed = if is_safe {
            None
        } else {
            Some(SafeText::of(head, max_bytes)?)
        };
        Ok(Self {
            is_ascii: is_ascii && changed.is_none(),
            changed,
        })
    }

    /// Cuts a preview; `head` is the text that this was made of.
    pub(crate) fn cut<'a>(&'a self, head: &'a [u8], max_bytes: usize) -> Cut<'a> {
        let text = self.changed.as_ref().map_or(head, |text| text.as_bytes());
        if text.len() <= max_bytes {
            return Cut {
                text,
                has_more: false,
            };
        }
        let mut end = max_bytes;
        while end > 0 && is_continuation(text[end]) {
            end -= 1;
        }
        // Only a line break strictly past half of the size ends the text.
        let second_half = (max_bytes / 2 + 1).min(end);
        if let Some(newline) = memrchr(b'\n', &text[second_half..end]) {
            end = second_half + newline;
        }
        Cut {
            text: &text[..end],
            has_more: true,
        }
    }

    /// Characters of a preview that was cut from this.
    pub(crate) fn count_chars(&self, cut: Cut<'_>) -> u64 {
        if self.is_ascii {
            cut.text.len() as u64
        } else {
            count_chars(cut.text)
        }
    }
}

/// Whether valid text may hold what a request body or a frame could not carry.
fn may_be_unsafe(text: &[u8]) -> bool {
    memchr2_iter(b'\0', b'<', text).any(|position| {
        let behind = &text[position + 1..];
        // All that the name of a frame can begin with, as it is compared.
        text[position] == 0 || matches!(behind.first(), Some(b'/' | b'p' | b'P'))
    })
}

/// Wire-safe text while it is put together.
struct SafeText {
    text: String,
    max_bytes: usize,
}

impl SafeText {
    fn of(head: &[u8], max_bytes: usize) -> Result<String, TryReserveError> {
        let mut safe = Self {
            text: String::new(),
            max_bytes,
        };
        safe.text.try_reserve(max_bytes.min(head.len()))?;
        for chunk in head.utf8_chunks() {
            safe.push_safely(chunk.valid())?;
            // The first byte of a surrogate stands for all three; the others come as stray ones
            // behind it. A stray one behind text must not vanish: what it parts would join.
            if let Some(&byte) = chunk.invalid().first()
                && !(is_continuation(byte) && chunk.valid().is_empty())
            {
                safe.push("\u{fffd}")?;
            }
            if safe.is_full() {
                break;
            }
        }
        Ok(safe.text)
    }

    /// Appends valid text in its wire-safe form.
    fn push_safely(&mut self, text: &str) -> Result<(), TryReserveError> {
        let mut rest = text;
        while let Some(position) = memchr2(b'\0', b'<', rest.as_bytes())
            && !self.is_full()
        {
            let (before, unsafe_text) = rest.split_at(position);
            self.push(before)?;
            let (character, after) = unsafe_text.split_at(1);
            self.push(match character {
                "\0" => "\u{fffd}",
                _ if is_tag_behind(after) => "&lt;",
                other => other,
            })?;
            rest = after;
        }
        self.push(rest)
    }

    /// Appends what is shown perhaps; what stands behind that may be unsafe.
    fn push(&mut self, text: &str) -> Result<(), TryReserveError> {
        if self.is_full() {
            return Ok(());
        }
        self.text.try_reserve(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// Whether there is more than any preview can show.
    const fn is_full(&self) -> bool {
        self.text.len() > self.max_bytes
    }
}

/// Tells whether `after`, the text behind a `<`, makes it the frame's opening or closing tag.
fn is_tag_behind(after: &str) -> bool {
    tag_rest(after).is_some()
}

/// The bytes of `after`, WTF-8 behind a `<`, that make it the frame's opening or closing tag.
pub(crate) fn tag_bytes_behind(after: &[u8]) -> Option<usize> {
    let start = &after[..after.len().min(MOST_TAG_BYTES)];
    let valid = start.utf8_chunks().next()?.valid();
    tag_rest(valid).map(|rest| valid.len() - rest.len())
}

/// What stands behind the tag that `after`, the text behind a `<`, makes of it.
fn tag_rest(after: &str) -> Option<&str> {
    let name = after.strip_prefix('/').unwrap_or(after);
    let mut characters = name.chars();
    FRAME_NAME
        .chars()
        .all(|expected| {
            characters
                .next()
                .is_some_and(|character| folds_to(character, expected))
        })
        .then_some(characters.as_str())
}

/// Compares without case as Python's `re.IGNORECASE` does: beside ASCII, U+0130 and U+0131 are an
/// `i`, and U+017F is an `s`.
const fn folds_to(character: char, expected: char) -> bool {
    match character {
        '\u{130}' | '\u{131}' => expected == 'i',
        '\u{17f}' => expected == 's',
        _ => character.eq_ignore_ascii_case(&expected),
    }
}

#[cfg(test)]
mod tests;
