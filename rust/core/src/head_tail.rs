//! The preview style `head_tail`: the beginning and the end of a text, and what lies between.

use std::collections::TryReserveError;

use memchr::{memchr, memchr_iter, memrchr};

use crate::preview::{Preview, make_wire_safe, tag_bytes_behind};
use crate::size::{count_chars, is_continuation, pieces, with_commas};
use crate::source::{Source, cut_head};

const HEAD_PERCENT: usize = 70;
/// With less room beside the note the beginning alone is shown.
const LEAST_ROOM_BYTES: usize = 100;
/// What the `<` of a frame's tag takes more when it is written as `&lt;`.
const DEFUSED_BYTES: usize = 3;
/// U+FFFD, which stands for NUL.
const UNREADABLE_BYTES: usize = 3;

/// Shows 70 percent from the beginning and 30 percent from the end, with a note between them.
///
/// A text that fits comes back whole, made wire-safe. Both parts end at a line end if one is near,
/// and never inside a character. Lines count as left out if nothing of them is shown. With little
/// room the beginning is shown instead.
///
/// # Errors
///
/// A part of the text cannot be read, or there is no memory for the preview.
///
/// ```
/// let preview = toolbudget_core::head_tail_preview("one\n".repeat(99).as_str(), 180)?;
/// let note = "[... 68 of 99 lines left out; 396 bytes in all ...]";
/// let (head, tail) = preview.text.split_once(note).unwrap_or_default();
/// assert_eq!((head.lines().count(), tail.trim().lines().count()), (22, 9));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn head_tail_preview<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
) -> Result<Preview, S::Error> {
    let whole = cut_head(source, max_bytes)?;
    if !whole.has_more {
        return Ok(whole);
    }
    let counted = Counted::of(source)?;
    let room_bytes = max_bytes.saturating_sub(counted.note(counted.lines).len());
    if room_bytes < LEAST_ROOM_BYTES {
        return Ok(whole);
    }
    drop(whole);
    let length_chars = source.length_chars();
    let head_room = percent_of(HEAD_PERCENT, room_bytes);
    let read_head = source.read(0..length_chars.min(head_room))?;
    let head = head_of(read_head.as_ref(), head_room);
    let head_chars = usize_of(count_chars(head));

    let tail_room = room_bytes - head_room;
    let read_tail = source.read(length_chars - length_chars.min(tail_room)..length_chars)?;
    let tail = tail_of(read_tail.as_ref(), tail_room);
    let tail = last_chars(tail, length_chars - head_chars);

    let shown_breaks = memchr_iter(b'\n', head).count() + memchr_iter(b'\n', tail).count();
    let left_out = (counted.breaks - shown_breaks).saturating_sub(1);
    let note = if left_out == 0 {
        counted.note_of_bytes(counted.size_bytes - head.len() - tail.len())
    } else {
        counted.note(left_out)
    };
    Ok(join(&make_wire_safe(head)?, &note, &make_wire_safe(tail)?)?)
}

/// What the note tells of the whole text.
struct Counted {
    breaks: usize,
    lines: usize,
    size_bytes: usize,
}

impl Counted {
    fn of<S: Source + ?Sized>(source: &S) -> Result<Self, S::Error> {
        let (mut breaks, mut size_bytes, mut last) = (0, 0, None);
        for range in pieces(source.length_chars()) {
            let piece = source.read(range)?;
            let piece = piece.as_ref();
            breaks += memchr_iter(b'\n', piece).count();
            size_bytes += piece.len();
            last = piece.last().copied();
        }
        Ok(Self {
            breaks,
            lines: breaks + usize::from(last != Some(b'\n')),
            size_bytes,
        })
    }

    fn note(&self, left_out: usize) -> String {
        format!(
            "\n[... {} of {} lines left out; {} bytes in all ...]\n",
            with_commas(left_out),
            with_commas(self.lines),
            with_commas(self.size_bytes)
        )
    }
}

impl Counted {
    /// What is left out where something of every line is shown; no longer than other notes.
    fn note_of_bytes(&self, left_out_bytes: usize) -> String {
        format!(
            "\n[... {} of {} bytes left out ...]\n",
            with_commas(left_out_bytes),
            with_commas(self.size_bytes)
        )
    }
}

/// Takes as much of the beginning as fits, to the last line end if it is past the middle.
fn head_of(text: &[u8], room_bytes: usize) -> &[u8] {
    let head = fitting_head(text, room_bytes);
    match memrchr(b'\n', head) {
        Some(end) if 2 * count_chars(&head[..end]) > count_chars(head) => &head[..end],
        _ => head,
    }
}

/// Takes as much of the end as fits, from behind the first line end if it is before the middle.
fn tail_of(text: &[u8], room_bytes: usize) -> &[u8] {
    let tail = fitting_tail(text, room_bytes);
    match memchr(b'\n', tail) {
        Some(end) if count_chars(&tail[..end]) < count_chars(tail) / 2 => &tail[end + 1..],
        _ => tail,
    }
}

/// The longest beginning whose wire-safe form takes so many bytes.
fn fitting_head(text: &[u8], room_bytes: usize) -> &[u8] {
    let (mut taken_bytes, mut at, mut tag_end) = (0, 0, None);
    while at < text.len() {
        if text[at] == b'<'
            && let Some(bytes) = tag_bytes_behind(&text[at + 1..])
        {
            tag_end = Some(at + 1 + bytes);
        }
        let next = next_start(text, at);
        taken_bytes += safe_bytes(&text[at..next]);
        // Only with its last letter is it a tag.
        if tag_end == Some(next) {
            taken_bytes += DEFUSED_BYTES;
        }
        if taken_bytes > room_bytes {
            break;
        }
        at = next;
    }
    &text[..at]
}

/// The longest end whose wire-safe form takes so many bytes.
fn fitting_tail(text: &[u8], room_bytes: usize) -> &[u8] {
    let (mut taken_bytes, mut start) = (0, text.len());
    while start > 0 {
        let before = previous_start(text, start);
        taken_bytes += safe_bytes(&text[before..start]);
        if text[before] == b'<' && tag_bytes_behind(&text[before + 1..]).is_some() {
            taken_bytes += DEFUSED_BYTES;
        }
        if taken_bytes > room_bytes {
            break;
        }
        start = before;
    }
    &text[start..]
}

/// The last characters of a text, so many at most.
fn last_chars(text: &[u8], most_chars: usize) -> &[u8] {
    let mut surplus_chars = usize_of(count_chars(text)).saturating_sub(most_chars);
    let mut start = 0;
    while surplus_chars > 0 {
        start = next_start(text, start);
        surplus_chars -= 1;
    }
    &text[start..]
}

/// Bytes that one character takes in its wire-safe form, if it begins no tag.
fn safe_bytes(character: &[u8]) -> usize {
    match character {
        [0] => UNREADABLE_BYTES,
        other => other.len(),
    }
}

fn next_start(text: &[u8], start: usize) -> usize {
    let behind = &text[start + 1..];
    let inside = behind.iter().take_while(|&&byte| is_continuation(byte));
    start + 1 + inside.count()
}

fn previous_start(text: &[u8], end: usize) -> usize {
    let before = &text[..end];
    let start = before.iter().rposition(|&byte| !is_continuation(byte));
    start.unwrap_or_default()
}

fn join(head: &str, note: &str, tail: &str) -> Result<Preview, TryReserveError> {
    let mut text = String::new();
    text.try_reserve_exact(head.len() + note.len() + tail.len())?;
    text.push_str(head);
    text.push_str(note);
    text.push_str(tail);
    Ok(Preview {
        text,
        has_more: true,
    })
}

/// A share of so many bytes, without an overflow.
fn percent_of(percent: usize, bytes: usize) -> usize {
    bytes / 100 * percent + bytes % 100 * percent / 100
}

/// Characters in memory: no more than there are bytes.
fn usize_of(chars: u64) -> usize {
    usize::try_from(chars).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The longest beginning and end are found, as trying each length finds them.
        #[test]
        fn the_most_that_fits_is_taken(
            text in "([a<\\x00é日😀]|</?persisted-output|<PER[sſ][iİ]sted-output>){0,12}",
            room_bytes in 0_usize..90,
        ) {
            let fits = |part: &&str| {
                make_wire_safe(part.as_bytes()).is_ok_and(|safe| safe.len() <= room_bytes)
            };
            let starts = || text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let heads = starts().map(|at| &text[..at]);
            let tails = starts().map(|at| &text[at..]);
            let longest = |part: &&str| part.len();
            let head = heads.filter(fits).max_by_key(longest).unwrap_or_default();
            let tail = tails.filter(fits).max_by_key(longest).unwrap_or_default();
            prop_assert_eq!(fitting_head(text.as_bytes(), room_bytes), head.as_bytes());
            prop_assert_eq!(fitting_tail(text.as_bytes(), room_bytes), tail.as_bytes());
        }
    }

    #[test]
    fn shares_do_not_overflow() {
        assert_eq!((percent_of(70, 1_234), percent_of(70, 99)), (863, 69));
        assert!(percent_of(70, usize::MAX) > usize::MAX / 2);
    }
}
