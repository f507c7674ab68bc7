//! The preview itself: lines chosen one by one until the bytes are used up.

use std::collections::TryReserveError;
use std::fmt::Write as _;

use crate::preview::Preview;
use crate::size::with_commas;
use crate::source::{Source, cut_head};

use super::around::{Tail, end_of_interest, first_line, lines_after, lines_before};
use super::clean::bare;
use super::lines::Lines;
use super::page::Page;
use super::rank::{Ranked, SHOWN_FIRST, SHOWN_LAST, rank};
use super::scan::Scan;

/// Below this the note alone would take most of the room.
const LEAST_BYTES: usize = 240;
/// A page with less room than this is full.
const LEAST_ROOM_BYTES: usize = 30;
const LEAST_TAIL_BYTES: usize = 60;
const FEW_LINES_PERCENT: usize = 75;
/// With more room left than that, the text is of lines that are all alike.
const UNUSED_PERCENT: usize = 60;
/// Fewer bytes than a row takes, so that enough lines are looked at.
const SHORT_ROW_BYTES: usize = 6;

/// How the room is shared out; all values were tried on labelled logs.
struct Form {
    line_chars: usize,
    tail_percent: usize,
    last_percent: usize,
    context_lines: &'static [usize],
    before_lines: usize,
}

const SMALL: Form = Form {
    line_chars: 80,
    tail_percent: 10,
    last_percent: 0,
    context_lines: &[3, 2, 1],
    before_lines: 1,
};
const MIDDLE: Form = Form {
    line_chars: 120,
    tail_percent: 20,
    last_percent: 6,
    context_lines: &[4, 4, 4, 2, 2, 2, 2, 2, 1],
    before_lines: 2,
};
const LARGE: Form = Form {
    line_chars: 160,
    ..MIDDLE
};
const MIDDLE_FROM_BYTES: usize = 1_500;
const LARGE_FROM_BYTES: usize = 3_000;

/// What the first findings get if room is left: more lines around them, and longer stack traces.
const WIDENED: usize = 3;
const WIDE_AFTER: usize = 8;
const WIDE_BEFORE: usize = 3;
const WIDE_FRAMES: usize = 3;
const FRAMES: usize = 2;

/// Shows the lines of a log or of a command's output that matter most.
///
/// A text that fits comes back whole, made wire-safe. Otherwise a note says how much is shown, and
/// the lines follow in their order, each with its number: failures with the lines around them, the
/// end, and with room enough the first. If little stands out, the rest of the room shows both ends
/// as they are. Only a line feed ends a line. Codes for a terminal, overwritten text, a CI system's
/// times and superfluous blanks are not shown, and long lines are cut. With little room the beginning of the text is shown instead.
///
/// # Errors
///
/// A part of the text cannot be read, or there is no memory for the preview.
///
/// ```
/// use toolbudget_core::salient_preview;
///
/// let (before, after) = ("test: ok\n".repeat(900), "test: ok\n".repeat(98));
/// let log = format!("{before}E   assert 1 == 2\n{after}");
/// let lines = "901:E assert 1 == 2\n998:test: ok\n999:test: ok";
/// let note = "[3 of 999 lines shown (number:text), 996 left out; 9,000 bytes in all]";
/// assert_eq!(salient_preview(log.as_str(), 240)?.text, format!("{note}\n{lines}"));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn salient_preview<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
) -> Result<Preview, S::Error> {
    let head = cut_head(source, max_bytes)?;
    if !head.has_more || max_bytes < LEAST_BYTES {
        return Ok(head);
    }
    drop(head);
    let mut found = Scan::new();
    let mut lines = Lines::of(source, |number, line| found.see(number, line))?;
    let longest_note = note(&lines, lines.count(), lines.count());
    let note_bytes = longest_note.len().max(note_of_all(&lines, max_bytes).len());
    let mut writer = Writer {
        form: form_of(max_bytes),
        page: Page::new(
            max_bytes.saturating_sub(note_bytes),
            line_chars(max_bytes, lines.count()),
        ),
        lines: &mut lines,
    };
    writer.write(&found, max_bytes)?;
    let page = writer.page;
    if page.len() == 0 {
        return cut_head(source, max_bytes);
    }
    let note = if page.len() == lines.count() {
        // Not whole, or all would have fitted: long lines are cut, and codes are gone.
        note_of_all(&lines, page.shown_bytes())
    } else {
        note(&lines, page.len(), lines.count() - page.len())
    };
    Ok(join(&note, &page)?)
}

fn form_of(max_bytes: usize) -> &'static Form {
    match max_bytes {
        LARGE_FROM_BYTES.. => &LARGE,
        MIDDLE_FROM_BYTES.. => &MIDDLE,
        _ => &SMALL,
    }
}

/// In a text of few, long lines each of them may take its share.
fn line_chars(max_bytes: usize, line_count: usize) -> usize {
    let share = max_bytes.saturating_mul(FEW_LINES_PERCENT) / 100 / line_count;
    form_of(max_bytes).line_chars.max(share)
}

struct Writer<'w, 's, S: Source + ?Sized> {
    form: &'static Form,
    page: Page,
    lines: &'w mut Lines<'s, S>,
}

impl<S: Source + ?Sized> Writer<'_, '_, S> {
    fn write(&mut self, found: &Scan, max_bytes: usize) -> Result<(), S::Error> {
        let last = self.lines.count() - 1;
        let end = end_of_interest(found, self.lines.count());
        self.add_ends(end, max_bytes)?;
        let ranked = rank(found, self.lines.count());
        self.add_findings(&ranked)?;
        self.add_tail(Tail::of(end), self.page.room_bytes())?;
        self.add_tail(Tail::bare(last), self.page.room_bytes())?;
        let unused = self.page.room_bytes().saturating_mul(100);
        if unused > max_bytes.saturating_mul(UNUSED_PERCENT) {
            self.add_doubtful(&ranked)?;
            self.fill(max_bytes)?;
        }
        Ok(())
    }

    /// Shows the end and the beginning as they are, with half of the room for each.
    fn fill(&mut self, max_bytes: usize) -> Result<(), S::Error> {
        let count = self.lines.count().min(max_bytes / SHORT_ROW_BYTES);
        let half_bytes = self.page.room_bytes() / 2;
        let last = self.lines.count() - count..self.lines.count();
        self.add_plain(last.rev(), half_bytes)?;
        self.add_plain(0..count, 0)
    }

    fn add_plain(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        least_bytes: usize,
    ) -> Result<(), S::Error> {
        for number in numbers {
            if self.page.room_bytes() < least_bytes + LEAST_ROOM_BYTES {
                break;
            }
            if !bare(self.lines.get(number)?).is_empty() {
                self.page.add_plain(self.lines, number)?;
            }
        }
        Ok(())
    }

    /// Shows the end of the output; with room enough, the first and the last lines of all as well.
    fn add_ends(&mut self, end: usize, max_bytes: usize) -> Result<(), S::Error> {
        let share = |percent| max_bytes.saturating_mul(percent) / 100;
        self.add_tail(Tail::of(end), share(self.form.tail_percent))?;
        if self.form.last_percent == 0 {
            return Ok(());
        }
        let first = first_line(self.lines)?;
        self.page.add_context(self.lines, first)?;
        let last = self.lines.count() - 1;
        if end < last {
            self.add_tail(Tail::of(last), share(self.form.last_percent))?;
        }
        Ok(())
    }

    fn add_findings(&mut self, ranked: &[Ranked]) -> Result<(), S::Error> {
        let mut shown = Vec::new();
        for finding in ranked {
            if finding.weight < SHOWN_FIRST || self.is_full() {
                break;
            }
            if !self.page.add(self.lines, finding.number)? {
                continue;
            }
            let context_lines = self.form.context_lines;
            let limit = context_lines[shown.len().min(context_lines.len() - 1)];
            shown.push(finding.number);
            let frames = if shown.len() <= WIDENED { FRAMES } else { 1 };
            self.add_after(finding.number, limit, frames)?;
            self.add_before(finding.number, self.form.before_lines)?;
        }
        for &number in shown.iter().take(WIDENED) {
            self.add_after(number, WIDE_AFTER, WIDE_FRAMES)?;
            self.add_before(number, WIDE_BEFORE)?;
        }
        for finding in ranked {
            if finding.weight < SHOWN_LAST || self.is_full() {
                break;
            }
            if self.page.add(self.lines, finding.number)? {
                self.add_after(finding.number, 1, 1)?;
            }
        }
        Ok(())
    }

    /// Shows what else may tell of a failure, with half of the room: nothing else stands out.
    fn add_doubtful(&mut self, ranked: &[Ranked]) -> Result<(), S::Error> {
        let least_bytes = LEAST_ROOM_BYTES.max(self.page.room_bytes() / 2);
        for finding in ranked {
            if self.page.room_bytes() < least_bytes {
                break;
            }
            self.page.add(self.lines, finding.number)?;
        }
        Ok(())
    }

    const fn is_full(&self) -> bool {
        self.page.room_bytes() < LEAST_ROOM_BYTES
    }

    fn add_after(&mut self, number: usize, limit: usize, frames: usize) -> Result<(), S::Error> {
        let numbers = lines_after(self.lines, number, limit, frames)?;
        self.page.add_context(self.lines, numbers)
    }

    fn add_before(&mut self, number: usize, limit: usize) -> Result<(), S::Error> {
        let numbers = lines_before(self.lines, number, limit)?;
        self.page.add_context(self.lines, numbers)
    }

    fn add_tail(&mut self, mut tail: Tail, room_bytes: usize) -> Result<(), S::Error> {
        let start_bytes = self.page.room_bytes() + LEAST_TAIL_BYTES;
        while let Some(number) = tail.next(self.lines)? {
            if self.page.room_bytes().saturating_add(room_bytes) <= start_bytes {
                break;
            }
            self.page.add_tail(self.lines, number)?;
        }
        Ok(())
    }
}

fn note<S: Source + ?Sized>(lines: &Lines<'_, S>, shown: usize, left_out: usize) -> String {
    format!(
        "[{} of {} lines shown (number:text), {} left out; {} bytes in all]",
        with_commas(shown),
        with_commas(lines.count()),
        with_commas(left_out),
        with_commas(lines.size_bytes())
    )
}

fn note_of_all<S: Source + ?Sized>(lines: &Lines<'_, S>, shown_bytes: usize) -> String {
    let count = with_commas(lines.count());
    format!(
        "[{count} of {count} lines shown in part (number:text): {} of {} bytes]",
        with_commas(shown_bytes),
        with_commas(lines.size_bytes())
    )
}

fn join(note: &str, page: &Page) -> Result<Preview, TryReserveError> {
    let mut text = String::new();
    text.try_reserve(note.len() + page.size_bytes() + 1)?;
    let _ = write!(text, "{note}\n{page}");
    Ok(Preview {
        text,
        has_more: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failing_line_is_shown_wherever_it_is() -> Result<(), TryReserveError> {
        let (fine, failed) = ("ok 1 - fine\n", "not ok 2 - broken\n");
        for before in [0, 1, 2_500, 4_999] {
            let text = fine.repeat(before) + failed + &fine.repeat(4_999 - before);
            let preview = salient_preview(text.as_str(), 2_000)?;
            let row = format!("{}:not ok 2 - broken", before + 1);
            assert!(preview.text.lines().any(|line| line == row), "{before}");
            assert!(preview.text.len() <= 2_000);
        }
        Ok(())
    }

    #[test]
    fn nothing_to_show_is_the_beginning() -> Result<(), TryReserveError> {
        let preview = salient_preview("\n".repeat(999).as_str(), 300)?;
        assert_eq!(preview.text, "\n".repeat(299));
        Ok(())
    }
}
