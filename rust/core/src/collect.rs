//! Collecting: which results a message list holds, by group, with the names of their tools.
//!
//! What a message looks like is its reader's business. It tells a [`Collector`] what it meets, in
//! order, and gets a [`Survey`] of it.

use crate::calls::{Answered, Call, CallBook};
use crate::group::{Chain, ChainIndex, Grouper};
use crate::hash::KeyMap;
use crate::text::Text;

mod members;

pub use members::Members;

/// Its results are reads that the model asked for.
pub(crate) const MEMORY_TOOL: &str = "memory";

/// Why a result is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Something in its content is no text.
    NotText,
    /// Its content has no character.
    Empty,
    /// It has no id.
    Malformed,
    /// It stands in an object, not in a mapping.
    Object,
    /// Neither limit touches it.
    Exempt,
    /// It is a replacement already.
    Reference,
}

impl SkipReason {
    /// The name that reports give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotText => "not_text",
            Self::Empty => "empty",
            Self::Malformed => "malformed",
            Self::Object => "object",
            Self::Exempt => "exempt",
            Self::Reference => "reference",
        }
    }
}

impl SkipReason {
    /// Whether a plan says so, not the walk over the messages.
    const fn is_decided(self) -> bool {
        matches!(self, Self::Exempt | Self::Reference)
    }
}

/// How many results were skipped, by reason, in the order in which the reasons occurred first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped(Vec<(SkipReason, u64)>);

impl Skipped {
    /// Counts one more.
    pub fn add(&mut self, reason: SkipReason) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.0.push((reason, 1)),
        }
    }

    /// Counts all that others have counted, in the order that one pass over both would give.
    pub fn add_all(&mut self, others: &Self) {
        for &(reason, count) in &others.0 {
            match self.0.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, known)) => *known += count,
                None => self.0.push((reason, count)),
            }
        }
        // What is skipped by a decision comes after all that was found to be no candidate.
        self.0.sort_by_key(|(reason, _)| reason.is_decided());
    }

    /// Each reason with its count.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        self.0.iter().copied()
    }
}

/// A text result.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// The id that joins it to its call.
    pub tool_use_id: T,
    /// Characters of its text.
    pub size_chars: u64,
    /// Whether it names a toolset that it is a member of.
    pub has_toolset: bool,
}

/// One tool result whose content is all text and not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<T> {
    /// The id that joins it to its call.
    pub tool_use_id: T,
    /// Characters of its text.
    pub size_chars: u64,
    /// The tool that was called; `None` if its chain has no such call.
    pub tool_name: Option<T>,
    /// Neither limit touches it.
    pub is_exempt: bool,
}

/// All text results of one API user message, in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Which they are, as indices into the candidates of the survey.
    pub candidates: Members,
    /// Whether an assistant message that starts a later group of its chain follows.
    pub is_followed: bool,
}

impl Group {
    fn beginning_with(candidate: usize) -> Self {
        let mut group = Self::default();
        group.candidates.push(candidate);
        group
    }
}

/// What a list holds; a [`Collector`] makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey<T> {
    candidates: Vec<Candidate<T>>,
    groups: Vec<Group>,
    skipped: Skipped,
    has_distinct_ids: bool,
}

impl<T> Survey<T> {
    /// The text results in the order in which they were added.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate<T>] {
        &self.candidates
    }

    /// The groups that hold any, in the order in which they begin.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// What was passed over.
    #[must_use]
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Whether no two candidates have the same id, surely. To say no is never wrong.
    pub(crate) const fn has_distinct_ids(&self) -> bool {
        self.has_distinct_ids
    }

    /// The candidates, to be changed in place.
    pub(crate) fn candidates_mut(&mut self) -> &mut [Candidate<T>] {
        &mut self.candidates
    }

    /// The same survey of other candidates, one for each.
    pub(crate) fn map<U>(self, candidate: impl FnMut(Candidate<T>) -> Candidate<U>) -> Survey<U> {
        Survey {
            candidates: self.candidates.into_iter().map(candidate).collect(),
            groups: self.groups,
            skipped: self.skipped,
            has_distinct_ids: self.has_distinct_ids,
        }
    }
}

/// Puts the results of a message list into groups and joins them to their calls.
///
/// ```
/// use toolbudget_core::{Call, Chain, Collector, Found};
///
/// let mut collector = Collector::new();
/// collector.begin_assistant(Chain::default(), None);
/// let tool_name = Some("Bash".to_owned());
/// collector.add_call("t1".to_owned(), Call { tool_name, is_for_code: false });
/// collector.begin_user(Chain::default());
/// collector.add_result(Found {
///     tool_use_id: "t1".to_owned(),
///     size_chars: 9,
///     has_toolset: false,
/// });
/// let survey = collector.finish(|name| Ok::<_, ()>(name == "Read"))?;
/// assert_eq!(survey.candidates()[0].tool_name.as_deref(), Some("Bash"));
/// assert_eq!(survey.groups()[0].candidates.iter().collect::<Vec<_>>(), [0]);
/// # Ok::<(), ()>(())
/// ```
#[derive(Debug)]
pub struct Collector<T> {
    grouper: Grouper<T>,
    chain: ChainIndex,
    calls: CallBook<T>,
    candidates: Vec<Candidate<T>>,
    /// Results before which there was no call of theirs.
    unanswering: Vec<(usize, ChainIndex)>,
    /// The chain of all results so far.
    only_chain: Option<ChainIndex>,
    /// Whether every result answers a call that no other one does, all of them of one chain.
    is_each_once: bool,
    groups: Vec<Group>,
    skipped: Skipped,
}

impl<T: Text> Collector<T> {
    /// Starts before the first message.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Starts before the first message, with room for so many results and their calls.
    #[must_use]
    pub fn with_capacity(results: usize) -> Self {
        let mut grouper = Grouper::new();
        Self {
            chain: grouper.chain(Chain::default()),
            grouper,
            calls: CallBook::with_capacity(results),
            candidates: Vec::with_capacity(results),
            unanswering: Vec::new(),
            only_chain: None,
            is_each_once: true,
            groups: Vec::new(),
            skipped: Skipped::default(),
        }
    }

    /// Goes on with an assistant message.
    pub fn begin_assistant(&mut self, chain: Chain<T>, message_id: Option<T>) {
        self.chain = self.grouper.chain(chain);
        if let Some(ended) = self.grouper.ended_by(self.chain, message_id)
            && let Some(group) = self.groups.get_mut(ended)
        {
            group.is_followed = true;
        }
    }

    /// Makes room for so many more calls.
    pub fn expect_calls(&mut self, calls: usize) {
        self.calls.expect(calls);
    }

    /// Adds a call of the message that was begun last.
    pub fn add_call(&mut self, tool_use_id: T, call: Call<T>) {
        self.calls.add(self.chain, tool_use_id, call);
    }

    /// Goes on with a user message.
    pub fn begin_user(&mut self, chain: Chain<T>) {
        self.chain = self.grouper.chain(chain);
    }

    /// Makes room for so many more results.
    pub fn expect_results(&mut self, results: usize) {
        self.candidates.reserve(results);
    }

    /// Adds a text result of the message that was begun last.
    pub fn add_result(&mut self, found: Found<T>) {
        let group = self.grouper.group_of(self.chain);
        let index = self.candidates.len();
        if let Some(group) = self.groups.get_mut(group) {
            group.candidates.push(index);
        } else {
            self.groups.push(Group::beginning_with(index));
        }
        self.is_each_once &= *self.only_chain.get_or_insert(self.chain) == self.chain;
        let (mut tool_name, mut is_exempt) = (None, found.has_toolset);
        if let Some(answered) = self.calls.answer(self.chain, &found.tool_use_id) {
            tool_name.clone_from(&answered.call.tool_name);
            is_exempt |= answered.call.is_for_code;
            self.is_each_once &= answered.is_first;
        } else {
            self.unanswering.push((index, self.chain));
        }
        self.candidates.push(Candidate {
            tool_use_id: found.tool_use_id,
            size_chars: found.size_chars,
            tool_name,
            is_exempt,
        });
    }

    /// Counts a result that is no candidate.
    pub fn skip(&mut self, reason: SkipReason) {
        self.skipped.add(reason);
    }

    /// Joins what is left to be joined, and gives what was met.
    ///
    /// `is_exempt_tool` tells by a tool's name whether its limit is infinite; it is asked once for
    /// each name.
    ///
    /// # Errors
    ///
    /// Those of `is_exempt_tool`.
    pub fn finish<E>(
        mut self,
        is_exempt_tool: impl FnMut(&T) -> Result<bool, E>,
    ) -> Result<Survey<T>, E> {
        for (index, chain) in self.unanswering {
            let candidate = &mut self.candidates[index];
            let answered = self.calls.answer_late(chain, &candidate.tool_use_id);
            self.is_each_once &= answered.as_ref().is_some_and(|answered| answered.is_first);
            if let Some(Answered { call, .. }) = answered {
                candidate.tool_name.clone_from(&call.tool_name);
                candidate.is_exempt |= call.is_for_code;
            }
        }
        let mut exemptions = Exemptions {
            ask: is_exempt_tool,
            known: KeyMap::default(),
            last: None,
        };
        for candidate in &mut self.candidates {
            if let Some(name) = &candidate.tool_name
                && !candidate.is_exempt
            {
                candidate.is_exempt = exemptions.include(name)?;
            }
        }
        Ok(Survey {
            candidates: self.candidates,
            groups: self.groups,
            skipped: self.skipped,
            has_distinct_ids: self.is_each_once,
        })
    }
}

/// Which tools are exempt, as far as it was asked.
struct Exemptions<T, F> {
    ask: F,
    known: KeyMap<T, bool>,
    /// Results of one tool follow each other as a rule.
    last: Option<(T, bool)>,
}

impl<T: Text, F, E> Exemptions<T, F>
where
    F: FnMut(&T) -> Result<bool, E>,
{
    /// Tells whether the results of a tool are exempt.
    #[inline]
    fn include(&mut self, name: &T) -> Result<bool, E> {
        if let Some((last, is_exempt)) = &self.last
            && last == name
        {
            return Ok(*is_exempt);
        }
        let is_exempt = self.include_tool(name)?;
        let earlier = self.last.replace((name.clone(), is_exempt));
        // Where one tool made all of them no table is made.
        self.known.extend(earlier);
        Ok(is_exempt)
    }

    fn include_tool(&mut self, name: &T) -> Result<bool, E> {
        if let Some(&is_exempt) = self.known.get(name) {
            return Ok(is_exempt);
        }
        Ok(name == MEMORY_TOOL || (self.ask)(name)?)
    }
}

impl<T: Text> Default for Collector<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
