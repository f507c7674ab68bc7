//! One pass over a text: which lines tell of a failure, and where commands begin and end.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::NoExpand;

use super::clean::bare;
use super::interest::is_interesting;
use super::patterns::{any_case, patterns};
use super::role::{has_failed, is_exit, quoted_command};
use super::severity::{CERTAIN, LIKELY, has_error_level, is_red, severity_of};

/// What is kept of each kind of finding: so many from the start, and as many from the end.
const KEPT_FINDINGS: usize = 1_000;
const KEPT_EXITS: usize = 200;
const KEPT_SECTIONS: usize = 32;
const KEPT_COMMANDS: usize = 64;
const KEPT_JUDGEMENTS: usize = 4_096;
const COMMAND_BYTES: usize = 20;
const COMMAND_MARKS: [&[u8]; 2] = [b"$ ", b"##[group]Run "];
/// A line without any of these is no exit.
static EXIT_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    any_case(&[
        "exit",
        "*** ",
        "failed",
        "err!",
        "elifecycle",
        "the command \"",
    ])
});
const KIND_BYTES: usize = 160;

patterns! {
    /// Two lines are of one kind if they differ in names, numbers and quotations only.
    VARIABLE = r#""[^"]*"|'[^']*'|`[^`]*`|[^\s/\\]*[/\\]\S*|[0-9]+|\b[a-z]+(?:[A-Z][a-z0-9]+)+"#;
}

/// A line that may tell of a failure; lines are counted from 0.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) number: usize,
    pub(super) severity: u64,
    pub(super) kind: Rc<[u8]>,
}

/// The lines from a command to the report that it failed, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Section {
    pub(super) const fn contains(&self, number: usize) -> bool {
        self.first <= number && number <= self.last
    }
}

/// The first and the last items of a sequence, so many of each.
#[derive(Debug)]
pub(super) struct Ends<T> {
    kept: usize,
    first: Vec<T>,
    last: VecDeque<T>,
}

impl<T> Ends<T> {
    const fn new(kept: usize) -> Self {
        Self {
            kept,
            first: Vec::new(),
            last: VecDeque::new(),
        }
    }

    fn add(&mut self, item: T) {
        if self.first.len() < self.kept {
            self.first.push(item);
            return;
        }
        if self.last.len() == self.kept {
            self.last.pop_front();
        }
        self.last.push_back(item);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.last)
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.last.back().or_else(|| self.first.last())
    }
}

/// What one pass has found, in the order of the text; its size does not grow with the text.
#[derive(Debug)]
pub(super) struct Scan {
    certain: Ends<Finding>,
    likely: Ends<Finding>,
    weak: Ends<Finding>,
    pub(super) exits: Ends<usize>,
    pub(super) sections: Ends<Section>,
    commands: VecDeque<(usize, Vec<u8>)>,
    judge: Judge,
}

impl Scan {
    pub(super) fn new() -> Self {
        Self {
            certain: Ends::new(KEPT_FINDINGS),
            likely: Ends::new(KEPT_FINDINGS),
            weak: Ends::new(KEPT_FINDINGS),
            exits: Ends::new(KEPT_EXITS),
            sections: Ends::new(KEPT_SECTIONS),
            commands: VecDeque::new(),
            judge: Judge::default(),
        }
    }

    /// All that is kept, in the order of the text.
    pub(super) fn findings(&self) -> Vec<&Finding> {
        let kept = [&self.certain, &self.likely, &self.weak];
        let mut findings: Vec<_> = kept.into_iter().flat_map(Ends::iter).collect();
        findings.sort_by_key(|finding| finding.number);
        findings
    }

    /// Takes one line in, if it has a word, a mark or a colour of interest.
    pub(super) fn see(&mut self, number: usize, raw: &[u8]) {
        if !is_interesting(raw) {
            return;
        }
        let line = bare(raw);
        let command = COMMAND_MARKS
            .iter()
            .find_map(|mark| line.strip_prefix(*mark));
        if let Some(command) = command {
            self.see_command(number, command);
            return;
        }
        if EXIT_WORDS.is_match(&line) {
            self.see_exit(number, &line);
        }
        if let Some(Judgement { severity, kind }) = self.judge.judge(&line, is_red(raw)) {
            let findings = match severity {
                CERTAIN.. => &mut self.certain,
                LIKELY.. => &mut self.likely,
                _ => &mut self.weak,
            };
            findings.add(Finding {
                number,
                severity,
                kind,
            });
        }
    }

    fn see_command(&mut self, number: usize, command: &[u8]) {
        if self.commands.len() == KEPT_COMMANDS {
            self.commands.pop_front();
        }
        let start = &command[..command.len().min(COMMAND_BYTES)];
        self.commands.push_back((number, start.to_vec()));
    }

    fn see_exit(&mut self, number: usize, line: &[u8]) {
        if is_exit(line) {
            self.exits.add(number);
        }
        if has_failed(line)
            && let Some(first) = self.command_of(line)
        {
            self.sections.add(Section {
                first,
                last: number,
            });
        }
    }

    fn command_of(&self, line: &[u8]) -> Option<usize> {
        let quoted = quoted_command(line);
        let mut commands = self.commands.iter().rev();
        let named = commands.find(|(_, command)| quoted.starts_with(command));
        named.or(self.commands.back()).map(|(number, _)| *number)
    }
}

/// Severity and kind of lines; but for a level, digits above 0 make no difference to them.
#[derive(Debug, Default)]
struct Judge {
    judged: HashMap<Vec<u8>, Option<Judgement>>,
    key: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Judgement {
    severity: u64,
    kind: Rc<[u8]>,
}

impl Judge {
    fn judge(&mut self, line: &[u8], is_red: bool) -> Option<Judgement> {
        self.key.clear();
        self.key.extend(line.iter().map(|byte| match byte {
            b'2'..=b'9' => b'1',
            other => *other,
        }));
        self.key.push(u8::from(is_red));
        self.key.push(u8::from(has_error_level(line)));
        if let Some(judged) = self.judged.get(&self.key) {
            return judged.clone();
        }
        if self.judged.len() == KEPT_JUDGEMENTS {
            self.judged.clear();
        }
        let severity = severity_of(line, is_red);
        let judged = (severity > 0).then(|| Judgement {
            severity,
            kind: kind_of(line),
        });
        self.judged.insert(self.key.clone(), judged.clone());
        judged
    }
}

fn kind_of(line: &[u8]) -> Rc<[u8]> {
    let start = &line[..line.len().min(KIND_BYTES)];
    VARIABLE.replace_all(start, NoExpand(b"#")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(lines: &[&str]) -> Scan {
        let mut found = Scan::new();
        for (number, line) in lines.iter().enumerate() {
            found.see(number, line.as_bytes());
        }
        found
    }

    #[test]
    fn a_section_goes_from_a_command_to_its_exit() {
        let found = scan(&[
            "$ make all",
            "$ other",
            "error: one",
            "The command \"make all\" exited with 2.",
        ]);
        let section = found
            .sections
            .last()
            .map(|section| (section.first, section.last));
        assert_eq!(section, Some((0, 3)));
        assert_eq!(found.exits.iter().copied().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn lines_that_differ_in_numbers_are_of_one_kind() {
        let found = scan(&[
            "error in 'a' at 12",
            "error in 'b' at 3456",
            "error elsewhere",
        ]);
        let kinds: Vec<_> = found
            .findings()
            .iter()
            .map(|found| found.kind.clone())
            .collect();
        assert_eq!(kinds[0], kinds[1]);
        assert_ne!(kinds[0], kinds[2]);
    }

    #[test]
    fn the_first_and_the_last_are_kept() {
        let mut ends = Ends::new(2);
        for number in 0..9 {
            ends.add(number);
        }
        assert_eq!(ends.iter().copied().collect::<Vec<_>>(), [0, 1, 7, 8]);
        assert_eq!(ends.last(), Some(&8));
    }
}
