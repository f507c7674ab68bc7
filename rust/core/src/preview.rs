//! Previews: the leading part of a text, made safe for the wire and cut without scanning the rest.

use std::collections::TryReserveError;

use memchr::memchr2;

use crate::size::is_continuation;

/// What the frame of a replacement is called; text that looks like its tag is defused.
const FRAME_NAME: &str = "persisted-output";
/// A tag can begin inside the cut and end behind it: so many characters more must be looked at.
const TAG_LOOK_AHEAD_CHARS: usize = "</persisted-output".len();

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
    let mut cut = Cut::new(max_bytes, head.len())?;
    // Nearly always, and to look for what is no text byte by byte is slow.
    if let Ok(text) = str::from_utf8(head) {
        cut.push_safely(text)?;
        return Ok(cut.finish());
    }
    for chunk in head.utf8_chunks() {
        cut.push_safely(chunk.valid())?;
        // The first byte of a surrogate stands for all three; the others come as stray ones behind
        // it. A stray one behind text must not vanish: what it parts would join.
        if let Some(&byte) = chunk.invalid().first()
            && !(is_continuation(byte) && chunk.valid().is_empty())
        {
            cut.push("\u{fffd}")?;
        }
        if cut.has_more {
            break;
        }
    }
    Ok(cut.finish())
}

/// A preview while it is filled.
struct Cut {
    text: String,
    max_bytes: usize,
    has_more: bool,
}

impl Cut {
    fn new(max_bytes: usize, head_bytes: usize) -> Result<Self, TryReserveError> {
        let mut text = String::new();
        text.try_reserve_exact(max_bytes.min(head_bytes))?;
        Ok(Self {
            text,
            max_bytes,
            has_more: false,
        })
    }

    /// Appends valid text in its wire-safe form.
    fn push_safely(&mut self, text: &str) -> Result<(), TryReserveError> {
        let mut rest = text;
        while let Some(position) = memchr2(b'\0', b'<', rest.as_bytes())
            && !self.has_more
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

    /// Appends what there is room for; once something did not fit, nothing more is appended.
    fn push(&mut self, text: &str) -> Result<(), TryReserveError> {
        if self.has_more {
            return Ok(());
        }
        let room_bytes = self.max_bytes - self.text.len();
        self.has_more = text.len() > room_bytes;
        let fitting = &text[..text.floor_char_boundary(room_bytes)];
        self.text.try_reserve(fitting.len())?;
        self.text.push_str(fitting);
        Ok(())
    }

    /// Ends at the last line break in the second half, if anything was left out.
    fn finish(mut self) -> Preview {
        if self.has_more
            && let Some(newline) = self.text.rfind('\n')
            && newline > self.max_bytes / 2
        {
            self.text.truncate(newline);
        }
        Preview {
            text: self.text,
            has_more: self.has_more,
        }
    }
}

/// Tells whether `after`, the text behind a `<`, makes it the frame's opening or closing tag.
fn is_tag_behind(after: &str) -> bool {
    let name = after.strip_prefix('/').unwrap_or(after);
    let mut characters = name.chars();
    FRAME_NAME.chars().all(|expected| {
        characters
            .next()
            .is_some_and(|character| folds_to(character, expected))
    })
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
