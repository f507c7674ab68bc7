//! Lines that explain another line: those around a finding, and those at the end.

use crate::source::Source;

use super::clean::bare;
use super::lines::Lines;
use super::role::{
    is_boilerplate, is_build_step, is_command, is_frame, is_noise, is_passing, is_path, is_timed,
    quoted_command,
};
use super::scan::Scan;

const MOST_BLANK_LINES: usize = 3;
const NEAR_END_LINES: usize = 60;
const FIRST_LINES: usize = 20;
const TAIL_LINES: usize = 200;
const MULTI_LINE_EXIT: &[u8] = b"\" exited with";

/// Gives up to `limit` lines before `number`, nearest first.
pub(super) fn lines_before<S: Source + ?Sized>(
    lines: &mut Lines<'_, S>,
    number: usize,
    limit: usize,
) -> Result<Vec<usize>, S::Error> {
    let mut taken = Vec::new();
    for candidate in (number.saturating_sub(limit + 2)..number).rev() {
        let line = bare(lines.get(candidate)?);
        if line.is_empty() {
            continue;
        }
        if taken.len() == limit || ends_context(&line) {
            break;
        }
        if !is_noise(&line) {
            taken.push(candidate);
        }
    }
    Ok(taken)
}

/// Gives up to `limit` lines after `number`, with at most so many stack frames.
pub(super) fn lines_after<S: Source + ?Sized>(
    lines: &mut Lines<'_, S>,
    number: usize,
    limit: usize,
    most_frames: usize,
) -> Result<Vec<usize>, S::Error> {
    let mut taken = Vec::new();
    let (mut blank_lines, mut frames) = (0, 0);
    for candidate in number + 1..lines.count().min(number + 6 + 2 * limit) {
        if taken.len() == limit {
            break;
        }
        let line = bare(lines.get(candidate)?);
        if line.is_empty() {
            blank_lines += 1;
            if blank_lines > MOST_BLANK_LINES {
                break;
            }
            continue;
        }
        if ends_context(&line) {
            break;
        }
        frames += usize::from(is_frame(&line));
        if frames > most_frames {
            break;
        }
        if !is_noise(&line) && !is_boilerplate(&line.to_ascii_lowercase()) {
            taken.push(candidate);
        }
    }
    Ok(taken)
}

/// Tells at which line the output really ends: the last failed exit, if one is near.
pub(super) fn end_of_interest(found: &Scan, line_count: usize) -> usize {
    if let Some(section) = found.sections.last() {
        return section.last;
    }
    match found.exits.last() {
        Some(&exit) if line_count - exit < NEAR_END_LINES => exit,
        _ => line_count - 1,
    }
}

/// Gives the first line with a word, which often says what ran.
pub(super) fn first_line<S: Source + ?Sized>(
    lines: &mut Lines<'_, S>,
) -> Result<Option<usize>, S::Error> {
    for number in 0..lines.count().min(FIRST_LINES) {
        let line = bare(lines.get(number)?);
        if !line.is_empty() && !is_noise(&line) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// The lines from an end upwards that are worth a look.
#[derive(Debug)]
pub(super) struct Tail {
    end: usize,
    /// What comes next, counted from behind.
    behind: usize,
    in_command: bool,
    /// Whether every line counts that is not blank.
    is_bare: bool,
}

impl Tail {
    pub(super) const fn of(end: usize) -> Self {
        Self {
            end,
            behind: 0,
            in_command: false,
            is_bare: false,
        }
    }

    /// All lines that are not blank.
    pub(super) const fn bare(end: usize) -> Self {
        Self {
            is_bare: true,
            ..Self::of(end)
        }
    }

    pub(super) fn next<S: Source + ?Sized>(
        &mut self,
        lines: &mut Lines<'_, S>,
    ) -> Result<Option<usize>, S::Error> {
        while self.behind < TAIL_LINES && self.behind <= self.end {
            let number = self.end - self.behind;
            self.behind += 1;
            if self.is_worthy(&bare(lines.get(number)?), number) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn is_worthy(&mut self, line: &[u8], number: usize) -> bool {
        if line.starts_with(MULTI_LINE_EXIT) {
            self.in_command = true;
            return true;
        }
        if self.in_command {
            self.in_command = quoted_command(line).is_empty();
            return false;
        }
        !line.is_empty() && (self.is_bare || number == self.end || !is_idle(line))
    }
}

fn ends_context(line: &[u8]) -> bool {
    is_passing(line) || is_timed(line) || is_command(line)
}

fn is_idle(line: &[u8]) -> bool {
    is_noise(line)
        || is_boilerplate(&line.to_ascii_lowercase())
        || is_passing(line)
        || is_timed(line)
        || is_build_step(line)
        || is_path(line)
}
