//! A page of numbered lines with a limit in bytes.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Formatter};

use crate::preview::make_wire_safe;
use crate::size::count_chars;
use crate::source::Source;

use super::clean::show;
use super::lines::Lines;

const CUT_MARK: char = '…';
/// From here on a line keeps its end as well.
const WIDE_CHARS: usize = 240;
const RUN_CHARS: usize = 8;
/// Of lines that differ in digits only, and of tail lines that begin alike, so many are shown.
const ALIKE_LINES: usize = 2;
const ALIKE_FINDINGS: usize = 5;
const START_CHARS: usize = 12;
const ALIKE_STARTS: usize = 4;

/// Lines of a text as they will be shown, taken in as long as they fit.
#[derive(Debug)]
pub(super) struct Page {
    line_chars: usize,
    room_bytes: usize,
    shown: BTreeMap<usize, String>,
    alike: HashMap<String, usize>,
    starts: HashMap<String, usize>,
}

/// A line as it could be shown, with what it is compared by.
struct Row {
    number: usize,
    text: String,
    mask: String,
}

impl Page {
    pub(super) fn new(room_bytes: usize, line_chars: usize) -> Self {
        Self {
            line_chars,
            room_bytes,
            shown: BTreeMap::new(),
            alike: HashMap::new(),
            starts: HashMap::new(),
        }
    }

    pub(super) const fn room_bytes(&self) -> usize {
        self.room_bytes
    }

    /// How many lines are shown.
    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// The bytes of the whole page.
    pub(super) fn size_bytes(&self) -> usize {
        let rows = self.shown.iter();
        rows.map(|(number, text)| row_bytes(*number, text)).sum()
    }

    /// The bytes of the lines as they are shown, without numbers and line breaks.
    pub(super) fn shown_bytes(&self) -> usize {
        self.shown.values().map(String::len).sum()
    }

    /// Shows a line if it still fits; tells whether it is shown now.
    pub(super) fn add<S: Source + ?Sized>(
        &mut self,
        lines: &mut Lines<'_, S>,
        number: usize,
    ) -> Result<bool, S::Error> {
        if self.shown.contains_key(&number) {
            return Ok(true);
        }
        let row = self.row(lines, number)?;
        Ok(count_of(&self.alike, &row.mask) < ALIKE_FINDINGS && self.put(row))
    }

    /// Shows those lines that fit and are not shown in like form already.
    pub(super) fn add_context<S: Source + ?Sized>(
        &mut self,
        lines: &mut Lines<'_, S>,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<(), S::Error> {
        for number in numbers {
            if self.shown.contains_key(&number) {
                continue;
            }
            let row = self.row(lines, number)?;
            if count_of(&self.alike, &row.mask) < ALIKE_LINES {
                self.put(row);
            }
        }
        Ok(())
    }

    /// Shows a line of the end, if it fits and not many are shown that begin alike.
    pub(super) fn add_tail<S: Source + ?Sized>(
        &mut self,
        lines: &mut Lines<'_, S>,
        number: usize,
    ) -> Result<(), S::Error> {
        if self.shown.contains_key(&number) {
            return Ok(());
        }
        let row = self.row(lines, number)?;
        if count_of(&self.alike, &row.mask) < ALIKE_LINES
            && count_of(&self.starts, start_of(&row.mask)) < ALIKE_STARTS
        {
            self.put(row);
        }
        Ok(())
    }

    /// Shows a line if it still fits, whatever it is like.
    pub(super) fn add_plain<S: Source + ?Sized>(
        &mut self,
        lines: &mut Lines<'_, S>,
        number: usize,
    ) -> Result<(), S::Error> {
        if !self.shown.contains_key(&number) {
            let row = self.row(lines, number)?;
            self.put(row);
        }
        Ok(())
    }

    fn row<S: Source + ?Sized>(
        &self,
        lines: &mut Lines<'_, S>,
        number: usize,
    ) -> Result<Row, S::Error> {
        let shown = show(lines.get(number)?);
        let shown = shorten_runs(&String::from_utf8_lossy(&shown));
        let text = self.cut(&make_wire_safe(shown.as_bytes())?);
        let mask = mask(&text);
        Ok(Row { number, text, mask })
    }

    /// Cuts a line that is too long.
    fn cut(&self, text: &str) -> String {
        let length_chars = usize::try_from(count_chars(text.as_bytes())).unwrap_or(usize::MAX);
        if length_chars <= self.line_chars {
            return text.to_owned();
        }
        let end_chars = if self.line_chars < WIDE_CHARS {
            0
        } else {
            self.line_chars / 3
        };
        let start_chars = self.line_chars - end_chars - 1;
        let place = |chars| {
            text.char_indices()
                .nth(chars)
                .map_or(text.len(), |(at, _)| at)
        };
        let start = &text[..place(start_chars)];
        format!(
            "{start}{CUT_MARK}{}",
            &text[place(length_chars - end_chars)..]
        )
    }

    fn put(&mut self, row: Row) -> bool {
        let taken_bytes = row_bytes(row.number, &row.text);
        if taken_bytes > self.room_bytes {
            return false;
        }
        self.room_bytes -= taken_bytes;
        *self
            .starts
            .entry(start_of(&row.mask).to_owned())
            .or_default() += 1;
        *self.alike.entry(row.mask).or_default() += 1;
        self.shown.insert(row.number, row.text);
        true
    }
}

impl Display for Page {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for (index, (number, text)) in self.shown.iter().enumerate() {
            let between = if index > 0 { "\n" } else { "" };
            write!(formatter, "{between}{}{text}", prefix(*number))?;
        }
        Ok(())
    }
}

fn prefix(number: usize) -> String {
    format!("{}:", number + 1)
}

/// What a row takes, with its line break.
fn row_bytes(number: usize, text: &str) -> usize {
    prefix(number).len() + text.len() + 1
}

fn count_of(counts: &HashMap<String, usize>, text: &str) -> usize {
    counts.get(text).copied().unwrap_or_default()
}

/// Cuts long runs of one character that is no ASCII, as bars and frames are drawn with.
fn shorten_runs(text: &str) -> String {
    let mut shortened = String::with_capacity(text.len());
    let (mut last, mut run_chars) = (None, 0);
    for character in text.chars() {
        run_chars = if last == Some(character) {
            run_chars + 1
        } else {
            1
        };
        last = Some(character);
        if character.is_ascii() || run_chars <= RUN_CHARS {
            shortened.push(character);
        } else if run_chars == RUN_CHARS + 1 {
            shortened.push(CUT_MARK);
        }
    }
    shortened
}

/// Writes every number as 0.
fn mask(text: &str) -> String {
    let mut mask = String::with_capacity(text.len());
    let mut in_number = false;
    for character in text.chars() {
        let is_digit = character.is_ascii_digit();
        match (is_digit, in_number) {
            (true, false) => mask.push('0'),
            (true, true) => {}
            (false, _) => mask.push(character),
        }
        in_number = is_digit;
    }
    mask
}

/// By what tail lines are compared.
fn start_of(mask: &str) -> &str {
    let start = mask.trim_matches(' ');
    let end = start.char_indices().nth(START_CHARS);
    &start[..end.map_or(start.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut() {
        let (narrow, wide) = (Page::new(999, 80), Page::new(999, 240));
        let line = "é".repeat(300);
        assert_eq!(narrow.cut(&line), format!("{}…", "é".repeat(79)));
        assert_eq!(
            wide.cut(&line),
            format!("{}…{}", "é".repeat(159), "é".repeat(80))
        );
        assert_eq!(wide.cut("short"), "short");
    }

    #[test]
    fn drawn_bars_are_cut() {
        let bar = "▬".repeat(40) + &"=".repeat(20) + &"▬".repeat(8);
        let shown = "▬".repeat(8) + "…" + &"=".repeat(20) + &"▬".repeat(8);
        assert_eq!(shorten_runs(&bar), shown);
    }

    #[test]
    fn lines_are_compared_without_their_numbers() {
        assert_eq!(mask("a12b3 456"), "a0b0 0");
        assert_eq!(start_of("  abcdefghijklmno "), "abcdefghijkl");
    }

    #[test]
    fn what_does_not_fit_is_not_shown() -> Result<(), std::collections::TryReserveError> {
        let mut lines = Lines::of("one\ntwo\nthree", |_, _| {})?;
        let mut page = Page::new(12, 80);
        assert!(page.add(&mut lines, 0)?);
        assert!(!page.add(&mut lines, 2)?);
        assert!(page.add(&mut lines, 1)?);
        assert_eq!(
            (page.to_string().as_str(), page.room_bytes()),
            ("1:one\n2:two", 0)
        );
        Ok(())
    }
}
