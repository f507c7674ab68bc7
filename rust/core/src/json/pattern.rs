//! Blocks that look like one before: the same bytes around other ids and contents.
//!
//! Where the bytes of a block up to an id or a content, and from there to the next one, are those of
//! a block that was read before, they mean the same: they are compared, and not read again.

use super::block::Fixed;
use super::cursor::Span;

/// Ids and contents of a block that is remembered, and its end.
const STEPS: usize = 4;

/// What follows the bytes of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Id,
    ToolUseId,
    Content,
    /// The block ends with the bytes.
    Nothing,
}

/// Bytes of a block between what is different in each.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Where they stand in the body; the quote of the text that follows is one of them.
    pub(super) bytes: Span,
    pub(super) follows: Follows,
    /// What was known when they had been read.
    pub(super) fixed: Fixed,
    /// How many members had been read, or begun.
    pub(super) members: usize,
}

/// The steps of one block.
#[derive(Clone, Copy, Default)]
pub(super) struct Pattern {
    steps: [Option<Step>; STEPS],
    length: usize,
}

impl Pattern {
    pub(super) fn add(&mut self, step: Step) {
        if let Some(place) = self.steps.get_mut(self.length) {
            *place = Some(step);
        }
        self.length += 1;
    }

    /// Gives up: other blocks will hardly look like this one.
    pub(super) const fn spoil(&mut self) {
        self.length = STEPS + 1;
    }

    #[inline]
    fn begins(&self, rest: &[u8], body: &[u8]) -> bool {
        let [first, ..] = &self.steps;
        first.is_some_and(|step| rest.starts_with(step.bytes.of(body)))
    }
}

/// The blocks that were read last: a call and a result.
#[derive(Default)]
pub(super) struct Patterns {
    known: [Pattern; 2],
    /// Blocks of one kind follow each other as a rule.
    last: usize,
}

impl Patterns {
    /// Finds the pattern that what stands at a place begins as; its first step is as it was.
    #[inline]
    pub(super) fn find(&mut self, body: &[u8], at: usize) -> bool {
        let rest = body.get(at..).unwrap_or_default();
        if self.known[self.last].begins(rest, body) {
            return true;
        }
        self.last = 1 - self.last;
        self.known[self.last].begins(rest, body)
    }

    /// A step of the pattern that was found.
    #[inline]
    pub(super) fn step(&self, step: usize) -> Option<&Step> {
        self.known[self.last].steps.get(step)?.as_ref()
    }

    /// The first steps of the pattern that was found; the others are still to be read.
    pub(super) fn begun(&self, length: usize) -> Pattern {
        let mut pattern = Pattern {
            steps: [None; STEPS],
            length,
        };
        let known = &self.known[self.last].steps;
        pattern.steps[..length].copy_from_slice(&known[..length]);
        pattern
    }

    /// Remembers a block that was read to its end.
    pub(super) fn remember(&mut self, pattern: &Pattern, is_result: bool) {
        if pattern.length <= STEPS {
            self.last = usize::from(is_result);
            self.known[self.last] = *pattern;
        }
    }
}
