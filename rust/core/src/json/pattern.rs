//! Blocks that look like one before: the same bytes around other ids and contents.
//!
//! Where the bytes of a block up to an id or a content, and from there to the next one, are those of
//! a block that was read before, they mean the same: they are compared, and not read again.

use super::block::Fixed;

/// Ids and contents of a block that is remembered, and its end.
const STEPS: usize = 4;

/// What follows the bytes of a step.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Follows {
    Id,
    ToolUseId,
    Content,
    /// The block ends with the bytes.
    #[default]
    Nothing,
}

/// Bytes of a block between what is different in each.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// The quote of the text that follows is one of them.
    pub(super) bytes: &'a [u8],
    pub(super) follows: Follows,
}

impl Step<'_> {
    const NONE: Self = Self {
        bytes: &[],
        follows: Follows::Nothing,
    };
}

/// What is known of a block that was read up to the end of a step.
#[derive(Clone, Copy, Default)]
pub(super) struct Read {
    pub(super) fixed: Fixed,
    /// How many members were read, or begun.
    pub(super) members: usize,
}

/// The steps of one block.
#[derive(Clone, Copy)]
pub(super) struct Pattern<'a> {
    steps: [Step<'a>; STEPS],
    /// Behind each step; apart from them, since that of the last one is all that is asked for.
    read: [Read; STEPS],
    length: usize,
}

impl Default for Pattern<'_> {
    fn default() -> Self {
        Self {
            steps: [Step::NONE; STEPS],
            read: [Read::default(); STEPS],
            length: 0,
        }
    }
}

impl<'a> Pattern<'a> {
    pub(super) fn add(&mut self, step: Step<'a>, read: Read) {
        if let Some(place) = self.steps.get_mut(self.length) {
            *place = step;
            self.read[self.length] = read;
        }
        self.length += 1;
    }

    /// Gives up: other blocks will hardly look like this one.
    pub(super) const fn spoil(&mut self) {
        self.length = STEPS + 1;
    }

    /// Whether what stands somewhere begins with the first step.
    #[inline]
    fn begins(&self, rest: &[u8]) -> bool {
        self.length > 0 && rest.starts_with(self.steps[0].bytes)
    }

    #[inline]
    pub(super) fn steps(&self) -> &[Step<'a>] {
        self.steps.get(..self.length).unwrap_or_default()
    }

    /// What is known behind so many steps.
    pub(super) fn read(&self, steps: usize) -> Read {
        let last = steps.checked_sub(1).and_then(|last| self.read.get(last));
        last.copied().unwrap_or_default()
    }
}

/// The blocks that were read last: a call and a result.
#[derive(Default)]
pub(super) struct Patterns<'a> {
    known: [Pattern<'a>; 2],
    /// Blocks of one kind follow each other as a rule.
    last: usize,
}

impl<'a> Patterns<'a> {
    /// Finds the pattern that a block begins as; its first step is as it was.
    #[inline]
    pub(super) fn find(&mut self, rest: &[u8]) -> Option<&Pattern<'a>> {
        if !self.known[self.last].begins(rest) {
            self.last = 1 - self.last;
            if !self.known[self.last].begins(rest) {
                return None;
            }
        }
        Some(&self.known[self.last])
    }

    /// The first steps of the pattern that was found; the others are still to be read.
    pub(super) fn begun(&self, length: usize) -> Pattern<'a> {
        Pattern {
            length,
            ..self.known[self.last]
        }
    }

    /// Remembers a block that was read to its end.
    pub(super) fn remember(&mut self, pattern: &Pattern<'a>, is_result: bool) {
        if pattern.length <= STEPS {
            self.last = usize::from(is_result);
            self.known[self.last] = *pattern;
        }
    }
}
