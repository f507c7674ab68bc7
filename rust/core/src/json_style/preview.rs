//! Writes what was read, in ever less detail until it fits.

use std::collections::VecDeque;

use crate::preview::{Preview, make_wire_safe};
use crate::size::{count_chars, pieces, with_commas};
use crate::source::{Source, cut_head};

use super::reader::{Beginning, Reader};

/// Below this the note alone would take most of the room.
const LEAST_BYTES: usize = 240;
/// Stands behind a key if the text ends there.
const NO_VALUE: &[u8] = b"\"...\"";
/// No number that a program works with takes more.
const LITERAL_CHARS: usize = 40;
/// A value stands in one line if it takes no more than this.
const LINE_CHARS: u64 = 80;
/// A list of such short items stands in one line as well, however many they are.
const SHORT_CHARS: u64 = 40;

/// How much of everything is shown.
struct Detail {
    first_items: usize,
    last_items: usize,
    keys: usize,
    string_chars: usize,
    depth: usize,
}

impl Detail {
    const fn of(
        [first_items, last_items]: [usize; 2],
        keys: usize,
        string_chars: usize,
        depth: usize,
    ) -> Self {
        Self {
            first_items,
            last_items,
            keys,
            string_chars,
            depth,
        }
    }
}

const DETAILS: [Detail; 6] = [
    Detail::of([24, 6], 200, 2_000, 12),
    Detail::of([6, 2], 60, 300, 8),
    Detail::of([3, 1], 40, 160, 6),
    Detail::of([2, 1], 30, 80, 4),
    Detail::of([1, 1], 20, 40, 3),
    Detail::of([1, 0], 12, 24, 2),
];

/// Shows what a JSON text is made of, with parts of it as examples.
///
/// A text that fits comes back whole, made wire-safe. Otherwise a note is followed by JSON in which
/// items, keys, deep values and the ends of strings are left out and counted. A text may hold
/// several values one after the other, and may end or turn into something else anywhere in its
/// second half. If it is no JSON, or with little room, the beginning of the text is shown instead.
///
/// # Errors
///
/// A part of the text cannot be read, or there is no memory for the preview.
///
/// ```
/// let text = format!("[{}2]", "1, ".repeat(500));
/// let preview = toolbudget_core::json_preview(text.as_str(), 240)?.text;
/// let (note, shown) = preview.split_once('\n').unwrap_or_default();
/// assert_eq!(note, "[JSON, shown in part: 1 value; 1,503 bytes in all]");
/// assert!(shown.ends_with("\"[... 471 items left out ...]\", 1, 1, 1, 1, 1, 2]"));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn json_preview<S: Source + ?Sized>(source: &S, max_bytes: usize) -> Result<Preview, S::Error> {
    let head = cut_head(source, max_bytes)?;
    if !head.has_more || max_bytes < LEAST_BYTES {
        return Ok(head);
    }
    let mut size_bytes = 0;
    for range in pieces(source.length_chars()) {
        size_bytes += source.read(range)?.as_ref().len();
    }
    for detail in &DETAILS {
        let mut writer = Writer {
            reader: Reader::new(source)?,
            detail,
            room_chars: max_bytes as u64,
            is_full: false,
        };
        let (rows, value_count) = writer.rows(Kind::Values, 1)?;
        if writer.is_full {
            continue;
        }
        let at = writer.reader.position();
        if writer.reader.has_stopped && at < source.length_chars().div_ceil(2) {
            break;
        }
        let end = end_note(&mut writer.reader)?;
        let counted = counted(value_count, Kind::Values.name());
        let size = with_commas(size_bytes);
        let mut shown =
            format!("[JSON, shown in part: {counted}{end}; {size} bytes in all]\n").into_bytes();
        shown.extend(rows.join(&b'\n'));
        let shown = make_wire_safe(&shown)?;
        if shown.len() <= max_bytes {
            return Ok(Preview {
                text: shown.into_owned(),
                has_more: true,
            });
        }
    }
    Ok(head)
}

fn end_note<S: Source + ?Sized>(reader: &mut Reader<'_, S>) -> Result<String, S::Error> {
    Ok(if !reader.has_stopped {
        String::new()
    } else if reader.byte()?.is_none() {
        ", cut off at the end".to_owned()
    } else {
        let number = with_commas(reader.position() + 1);
        format!(", other text from character {number} on")
    })
}

/// What rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Values,
    Items,
    Keys,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Items => "items",
            Self::Keys => "keys",
        }
    }

    const fn closing(self) -> Option<u8> {
        match self {
            Self::Values => None,
            Self::Items => Some(b']'),
            Self::Keys => Some(b'}'),
        }
    }
}

/// Writes values in one degree of detail, and gives up when they take more than a page.
struct Writer<'d, 's, S: Source + ?Sized> {
    reader: Reader<'s, S>,
    detail: &'d Detail,
    room_chars: u64,
    is_full: bool,
}

impl<S: Source + ?Sized> Writer<'_, '_, S> {
    fn value(&mut self, depth: usize) -> Result<Vec<u8>, S::Error> {
        let most_chars = self.detail.string_chars;
        let kind = match self.reader.peek()? {
            Some(b'"') => {
                let string = self.reader.string(most_chars)?;
                return Ok(self.quoted(&string));
            }
            Some(b'[') => Kind::Items,
            Some(b'{') => Kind::Keys,
            _ => {
                let literal = self.reader.literal(LITERAL_CHARS)?;
                return Ok(if literal.chars > literal.text.len() {
                    self.put(cut(&literal))
                } else {
                    self.put(literal.text)
                });
            }
        };
        if depth > self.detail.depth {
            let count = counted(self.reader.skip()?, kind.name());
            return Ok(self.put(folded(kind, &count).into_bytes()));
        }
        self.reader.go_on();
        let (rows, _) = self.rows(kind, depth + 1)?;
        Ok(match kind {
            Kind::Keys => laid_out(b'{', &rows, b'}'),
            _ => laid_out(b'[', &rows, b']'),
        })
    }

    fn pair(&mut self, depth: usize) -> Result<Vec<u8>, S::Error> {
        if self.reader.peek()? != Some(b'"') {
            self.reader.has_stopped = true;
            return Ok(Vec::new());
        }
        let key = self.reader.string(self.detail.string_chars)?;
        let mut row = self.quoted(&key);
        if !self.reader.has_stopped {
            self.reader.take(b':')?;
        }
        let value = if self.reader.has_stopped {
            Vec::new()
        } else {
            self.value(depth)?
        };
        if !row.is_empty() {
            row.extend_from_slice(b": ");
            row.extend_from_slice(if value.is_empty() { NO_VALUE } else { &value });
        }
        Ok(row)
    }

    fn row(&mut self, kind: Kind, depth: usize) -> Result<Vec<u8>, S::Error> {
        match kind {
            Kind::Keys => self.pair(depth),
            _ => self.value(depth),
        }
    }

    /// Writes the first and the last items of a list, an object or the text; counts them all.
    fn rows(&mut self, kind: Kind, depth: usize) -> Result<(Vec<Vec<u8>>, usize), S::Error> {
        let (first, last) = match kind {
            Kind::Keys => (self.detail.keys, 0),
            _ => (self.detail.first_items, self.detail.last_items),
        };
        let mut rows = Vec::new();
        let mut starts = VecDeque::with_capacity(last + 1);
        let (mut count, mut last_start) = (0, None);
        while self.goes_on(kind, count)? {
            let start = self.reader.position();
            last_start = Some(start);
            if count < first {
                rows.push(self.row(kind, depth)?);
            } else {
                starts.push_back(start);
                if starts.len() > last {
                    starts.pop_front();
                }
                self.skip_item(kind)?;
            }
            count += 1;
        }
        let left_out = count - rows.len() - starts.len();
        if left_out > 0 && !self.is_full {
            let told = left_out_note(kind, left_out);
            rows.push(self.put(told.into_bytes()));
        }
        let end = (self.reader.position(), self.reader.has_stopped);
        let is_other_text = end.1 && last_start == Some(end.0);
        let is_moved = !starts.is_empty();
        for start in starts {
            self.reader.seek(start)?;
            self.reader.has_stopped = false;
            rows.push(self.row(kind, depth)?);
        }
        if is_moved {
            self.reader.seek(end.0)?;
            self.reader.has_stopped = end.1;
        }
        rows.retain(|row| !row.is_empty());
        Ok((rows, count - usize::from(is_other_text)))
    }

    /// Goes to the next item, over the comma in front of it; tells whether there is one.
    fn goes_on(&mut self, kind: Kind, count: usize) -> Result<bool, S::Error> {
        if self.reader.has_stopped || self.is_full {
            return Ok(false);
        }
        let next = self.reader.peek()?;
        let Some(closing) = kind.closing() else {
            return Ok(next.is_some());
        };
        if next == Some(closing) {
            self.reader.go_on();
            return Ok(false);
        }
        if count > 0 && next.is_some() {
            self.reader.take(b',')?;
        }
        let is_at_end = self.reader.peek()?.is_none();
        self.reader.has_stopped = self.reader.has_stopped || is_at_end;
        Ok(!self.reader.has_stopped)
    }

    fn skip_item(&mut self, kind: Kind) -> Result<(), S::Error> {
        if kind == Kind::Keys {
            self.reader.skip()?;
            if !self.reader.has_stopped {
                self.reader.take(b':')?;
            }
        }
        if !self.reader.has_stopped {
            self.reader.skip()?;
        }
        Ok(())
    }

    /// Writes a string, or its beginning and how long it is.
    fn quoted(&mut self, read: &Beginning) -> Vec<u8> {
        let has_stopped = self.reader.has_stopped;
        if has_stopped && read.text.is_empty() {
            return Vec::new();
        }
        if has_stopped || read.chars > self.detail.string_chars {
            return self.put(cut(read));
        }
        self.put([b"\"", &read.text[..], b"\""].concat())
    }

    fn put(&mut self, row: Vec<u8>) -> Vec<u8> {
        match self.room_chars.checked_sub(count_chars(&row)) {
            Some(room_chars) => self.room_chars = room_chars,
            None => self.is_full = true,
        }
        row
    }
}

/// Writes the beginning of a string or a literal, and how long it is.
fn cut(read: &Beginning) -> Vec<u8> {
    let length = format!("[... {}]\"", counted(read.chars, "characters"));
    [b"\"", &read.text[..], length.as_bytes()].concat()
}

/// Writes a list or an object as nothing but a count.
fn folded(kind: Kind, count: &str) -> String {
    match kind {
        Kind::Keys => format!("\"{{... {count} ...}}\""),
        _ => format!("\"[... {count} ...]\""),
    }
}

fn left_out_note(kind: Kind, left_out: usize) -> String {
    let told = format!("\"[... {} left out ...]\"", counted(left_out, kind.name()));
    match kind {
        Kind::Keys => format!("\"...\": {told}"),
        _ => told,
    }
}

fn counted(count: usize, kind: &str) -> String {
    let name = if count == 1 {
        kind.strip_suffix('s').unwrap_or(kind)
    } else {
        kind
    };
    format!("{} {name}", with_commas(count))
}

/// Writes rows in one line, or else below each other.
fn laid_out(opening: u8, rows: &[Vec<u8>], closing: u8) -> Vec<u8> {
    let line = [&[opening][..], &rows.join(&b", "[..]), &[closing]].concat();
    let is_short = opening == b'[' && rows.iter().all(|row| count_chars(row) <= SHORT_CHARS);
    if (is_short || count_chars(&line) <= LINE_CHARS) && !line.contains(&b'\n') {
        return line;
    }
    let mut text = vec![opening, b'\n', b' '];
    for byte in rows.join(&b",\n"[..]) {
        text.push(byte);
        if byte == b'\n' {
            text.push(b' ');
        }
    }
    text.extend([b'\n', closing]);
    text
}

#[cfg(test)]
mod tests;
