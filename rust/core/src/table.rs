//! The preview of a table: its header, its first and its last rows, and how many there are.

use std::sync::LazyLock;

use memchr::{memchr, memchr_iter};
use regex::bytes::Regex;

use crate::preview::{Preview, make_wire_safe};
use crate::salient::compile;
use crate::size::{is_continuation, pieces, with_commas};
use crate::source::{Source, cut_head};

/// Below this the notes alone would take most of the room.
const LEAST_BYTES: usize = 240;
const WINDOW_CHARS: usize = 16_384;
/// So many lines must have the same number of cells; more are not looked at.
const LEAST_LINES: usize = 4;
const MOST_LINES: usize = 20;
const HEADER_CELL_BYTES: usize = 64;
const DELIMITERS: [u8; 4] = *b"\t,;|";
const HEAD_PERCENT: usize = 60;
/// A row takes at most this share of the room, and may always take so many bytes.
const ROW_SHARE: usize = 8;
const LEAST_ROW_BYTES: usize = 60;
const CUT_MARK: &str = "…";

static NAME: LazyLock<Regex> = LazyLock::new(|| compile(r#"^["A-Za-z_][A-Za-z0-9_ ./%()#"-]*$"#));
static PLAIN_NAME: LazyLock<Regex> = LazyLock::new(|| compile(r#"^"?[A-Za-z_][A-Za-z0-9_.-]*"?$"#));

#[derive(Clone, Copy)]
struct Counts {
    columns: usize,
    rows: usize,
    size_bytes: usize,
}

/// Shows the header, the first and the last rows of a table, with a note on its size.
///
/// A table is a text whose first lines have the same number of cells, parted by tabs, commas,
/// semicolons or bars, and whose first line names them. A row is a line: one that is broken inside
/// quotes counts as several. Long rows are cut. A text that fits comes back whole, made wire-safe;
/// if it is no table, or with little room, its beginning is shown instead.
///
/// # Errors
///
/// A part of the text cannot be read, or there is no memory for the preview.
///
/// ```
/// let text = String::from("id,name,size\n") + &"7,a name,12\n".repeat(500);
/// let preview = toolbudget_core::table_preview(text.as_str(), 240)?.text;
/// let note = "[table, shown in part: 3 columns, 500 rows below the header; 6,013 bytes in all]";
/// assert!(preview.starts_with(&format!("{note}\nid,name,size\n7,a name,12\n")));
/// assert!(preview.contains(" rows left out ...]\n7,a name,12"));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn table_preview<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
) -> Result<Preview, S::Error> {
    let head = cut_head(source, max_bytes)?;
    if !head.has_more || max_bytes < LEAST_BYTES {
        return Ok(head);
    }
    let length_chars = source.length_chars();
    let window_chars = length_chars.min(WINDOW_CHARS.max(max_bytes));
    let first = source.read(0..window_chars)?;
    let columns = if window_chars > WINDOW_CHARS {
        count_columns(source.read(0..WINDOW_CHARS)?.as_ref())
    } else {
        count_columns(first.as_ref())
    };
    if columns == 0 {
        return Ok(head);
    }
    let counts = Counts::of(source, columns)?;
    let last = source.read(length_chars - window_chars..length_chars)?;
    let shown = laid_out(first.as_ref(), last.as_ref(), counts, max_bytes)?;
    Ok(shown.map_or(head, |text| Preview {
        text,
        has_more: true,
    }))
}

impl Counts {
    fn of<S: Source + ?Sized>(source: &S, columns: usize) -> Result<Self, S::Error> {
        let (mut breaks, mut size_bytes, mut last) = (0, 0, None);
        for range in pieces(source.length_chars()) {
            let piece = source.read(range)?;
            let piece = piece.as_ref();
            breaks += memchr_iter(b'\n', piece).count();
            size_bytes += piece.len();
            last = piece.last().copied();
        }
        let lines = breaks + usize::from(last != Some(b'\n'));
        Ok(Self {
            columns,
            rows: lines.saturating_sub(1),
            size_bytes,
        })
    }
}

/// Counts the columns of the table that a text begins with; 0 if it is none.
fn count_columns(window: &[u8]) -> usize {
    let mut lines: Vec<&[u8]> = window.split(|&byte| byte == b'\n').collect();
    lines.pop();
    if lines.first().is_none_or(|line| is_blank(line)) {
        return 0;
    }
    lines.retain(|line| !is_blank(line));
    lines.truncate(MOST_LINES);
    if lines.len() < LEAST_LINES {
        return 0;
    }
    for delimiter in DELIMITERS {
        let cells = count(lines[0], delimiter);
        if cells > 0
            && lines.iter().all(|line| count(line, delimiter) == cells)
            && names_cells(lines[0], delimiter)
        {
            return cells + 1;
        }
    }
    0
}

fn is_blank(line: &[u8]) -> bool {
    trimmed(line).is_empty()
}

fn trimmed(line: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let Some(start) = line.iter().position(|byte| !is_blank(byte)) else {
        return &[];
    };
    let end = line.iter().rposition(|byte| !is_blank(byte));
    &line[start..=end.unwrap_or(start)]
}

fn count(line: &[u8], delimiter: u8) -> usize {
    // In a text with tabs a quotation mark is a character like any other.
    if delimiter == b'\t' {
        return memchr_iter(delimiter, line).count();
    }
    let (mut rest, mut found) = (line, 0);
    while let Some(start) = memchr(b'"', rest)
        && let Some(length) = memchr(b'"', &rest[start + 1..])
    {
        found += memchr_iter(delimiter, &rest[..start]).count();
        rest = &rest[start + length + 2..];
    }
    found + memchr_iter(delimiter, rest).count()
}

/// Tells whether a line can be a header; with two cells, words alone make one.
fn names_cells(header: &[u8], delimiter: u8) -> bool {
    let cells: Vec<&[u8]> = header
        .split(|&byte| byte == delimiter)
        .map(trimmed)
        .collect();
    if cells.iter().any(|cell| cell.len() > HEADER_CELL_BYTES) {
        return false;
    }
    // A sentence with a comma has two parts as well.
    let is_narrow = cells.len() == 2;
    let pattern: &Regex = if is_narrow { &PLAIN_NAME } else { &NAME };
    let names = cells.iter().filter(|cell| pattern.is_match(cell)).count();
    if is_narrow {
        names == cells.len()
    } else {
        2 * names >= cells.len()
    }
}

/// Writes header, rows and notes; nothing if there is no room for a row.
fn laid_out(
    first: &[u8],
    last: &[u8],
    counts: Counts,
    max_bytes: usize,
) -> Result<Option<String>, std::collections::TryReserveError> {
    let is_break = |byte: &u8| *byte == b'\n';
    let mut first: Vec<&[u8]> = first.split(is_break).collect();
    first.pop();
    let last = last.strip_suffix(b"\n").unwrap_or(last);
    let last: Vec<&[u8]> = last.split(is_break).skip(1).collect();

    let notes_bytes = note(counts).len() + gap(counts.rows).len() + 2;
    let room_bytes = max_bytes.saturating_sub(notes_bytes);
    let most_bytes = LEAST_ROW_BYTES.max(room_bytes / ROW_SHARE);
    let header = row(first[0], most_bytes)?;
    let Some(room_bytes) = room_bytes.checked_sub(header.len()) else {
        return Ok(None);
    };
    let head_room = room_bytes / 100 * HEAD_PERCENT + room_bytes % 100 * HEAD_PERCENT / 100;
    let head = taken(first[1..].iter(), most_bytes, head_room)?;
    let room_bytes = room_bytes - head.iter().map(|row| row.len() + 1).sum::<usize>();
    let rest = &last[last.len().saturating_sub(counts.rows - head.len())..];
    let mut tail = taken(rest.iter().rev(), most_bytes, room_bytes)?;
    tail.reverse();
    if head.is_empty() && tail.is_empty() {
        return Ok(None);
    }
    let left_out = counts.rows - head.len() - tail.len();
    let mut rows = vec![note(counts), header];
    rows.extend(head);
    if left_out > 0 {
        rows.push(gap(left_out));
    }
    rows.extend(tail);
    Ok(Some(rows.join("\n")))
}

/// Takes rows as long as they fit.
fn taken<'l>(
    lines: impl Iterator<Item = &'l &'l [u8]>,
    most_bytes: usize,
    mut room_bytes: usize,
) -> Result<Vec<String>, std::collections::TryReserveError> {
    let mut rows = Vec::new();
    for line in lines {
        let row = row(line, most_bytes)?;
        let Some(rest) = room_bytes.checked_sub(row.len() + 1) else {
            break;
        };
        room_bytes = rest;
        rows.push(row);
    }
    Ok(rows)
}

fn row(line: &[u8], most_bytes: usize) -> Result<String, std::collections::TryReserveError> {
    let end = line.iter().rposition(|&byte| byte != b'\r');
    let safe = make_wire_safe(&line[..end.map_or(0, |end| end + 1)])?;
    if safe.len() <= most_bytes {
        return Ok(safe.into_owned());
    }
    let mut end = most_bytes - CUT_MARK.len();
    while is_continuation(safe.as_bytes()[end]) {
        end -= 1;
    }
    Ok(format!("{}{CUT_MARK}", &safe[..end]))
}

fn note(counts: Counts) -> String {
    format!(
        "[table, shown in part: {} columns, {} rows below the header; {} bytes in all]",
        with_commas(counts.columns),
        with_commas(counts.rows),
        with_commas(counts.size_bytes)
    )
}

fn gap(left_out: usize) -> String {
    let rows = if left_out == 1 { "row" } else { "rows" };
    format!("[... {} {rows} left out ...]", with_commas(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_delimiters_part_nothing() {
        assert_eq!(count(br#"a,"b,c",d"#, b','), 2);
        assert_eq!(count(br#"a,"b,c"#, b','), 2);
        assert_eq!(count(b"a\t\"b\tc\"", b'\t'), 2);
    }

    #[test]
    fn a_table_needs_a_header_and_rows_alike() {
        assert_eq!(
            count_columns(b"id,name,age\n1,Ann,30\n2,Bob,31\n3,Cid,32\n"),
            3
        );
        assert_eq!(
            count_columns(b"id,name,age\n1,Ann\n2,Bob,31\n3,Cid,32\n"),
            0
        );
        assert_eq!(count_columns(b"1,2,3\n1,2,3\n1,2,3\n1,2,3\n"), 0);
        assert_eq!(
            count_columns(b"so it goes, he said\n".repeat(9).as_slice()),
            0
        );
    }
}
