//! Telling the collector what a scan has met.

use std::convert::Infallible;

use super::document::Scan;
use super::event::{Event, TurnSpan};
use super::names::{JsonName, Name};
use crate::calls::Call;
use crate::collect::{Candidate, Collector, Found, Survey};
use crate::fingerprint::Fingerprint;
use crate::group::Chain;
use crate::hash::KeySet;

/// The results of a scan in their groups and joined to their calls; candidates have the indices of
/// the results. Which tools are exempt is asked for each plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    survey: Survey<Name>,
    /// Tools that decide whether results are exempt, in the order in which they occur.
    tools: Vec<Tool>,
    /// Whether a result is exempt whatever its tool is.
    is_exempt_itself: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tool {
    name: Name,
    is_exempt: bool,
}

impl Surveyed {
    /// Gives the survey of the scan that this was made of.
    ///
    /// # Errors
    ///
    /// Those of `is_exempt_tool`, which is asked once for each name.
    pub fn exempting<E>(
        &mut self,
        mut is_exempt_tool: impl FnMut(Name) -> Result<bool, E>,
    ) -> Result<&Survey<Name>, E> {
        let asked = self.tools.iter().map(|tool| is_exempt_tool(tool.name));
        let asked = asked.collect::<Result<Vec<_>, E>>()?;
        let mut is_other = false;
        for (tool, is_exempt) in self.tools.iter_mut().zip(asked) {
            is_other |= tool.is_exempt != is_exempt;
            tool.is_exempt = is_exempt;
        }
        if is_other {
            self.exempt();
        }
        Ok(&self.survey)
    }

    /// The survey as it was given last.
    #[must_use]
    pub const fn survey(&self) -> &Survey<Name> {
        &self.survey
    }

    fn exempt(&mut self) {
        let exempt = self.tools.iter().filter(|tool| tool.is_exempt);
        let exempt: KeySet<Name> = exempt.map(|tool| tool.name).collect();
        let candidates = self.survey.candidates_mut().iter_mut();
        for (candidate, is_exempt_itself) in candidates.zip(&self.is_exempt_itself) {
            let tool = candidate.tool_name;
            candidate.is_exempt =
                *is_exempt_itself || tool.is_some_and(|tool| exempt.contains(&tool));
        }
    }
}

/// Puts the results of a scan into groups and joins them to their calls.
#[must_use]
pub fn survey(scan: &Scan, body: &[u8], fingerprints: &[Fingerprint]) -> Surveyed {
    let joined = join(scan, body, fingerprints);
    let survey = joined.map(|candidate| Candidate {
        tool_use_id: candidate.tool_use_id.name(),
        size_chars: candidate.size_chars,
        tool_name: candidate.tool_name.map(|name| name.name()),
        is_exempt: candidate.is_exempt,
    });
    let mut tools: Vec<Tool> = Vec::new();
    let mut known: KeySet<Name> = KeySet::default();
    for candidate in survey.candidates() {
        if let Some(name) = candidate.tool_name
            && !candidate.is_exempt
            // Results of one tool follow each other as a rule.
            && tools.last().is_none_or(|last| last.name != name)
            && known.insert(name)
        {
            let is_exempt = false;
            tools.push(Tool { name, is_exempt });
        }
    }
    let candidates = survey.candidates().iter();
    Surveyed {
        is_exempt_itself: candidates.map(|candidate| candidate.is_exempt).collect(),
        survey,
        tools,
    }
}

/// The survey as it is if no tool is exempt of which that must be asked.
fn join<'a>(scan: &'a Scan, body: &'a [u8], fingerprints: &[Fingerprint]) -> Survey<JsonName<'a>> {
    let text = |name: Name| JsonName::new(name, &scan.names, body);
    let chain = |turn: &TurnSpan| Chain {
        is_sidechain: turn.is_sidechain,
        agent_id: turn.agent_id.map(text),
    };
    let mut collector = Collector::with_capacity(scan.results().len());
    for event in scan.events() {
        match event {
            Event::Assistant(turn) => {
                collector.begin_assistant(chain(turn), turn.message_id.map(text));
            }
            Event::Call(call) => collector.add_call(
                text(call.tool_use_id),
                Call {
                    tool_name: call.tool_name.map(text),
                    is_for_code: call.is_for_code,
                },
            ),
            Event::User(turn) => collector.begin_user(chain(turn)),
            Event::Result(index) => collector.add_result(Found {
                tool_use_id: text(scan.results()[*index].name),
                size_chars: fingerprints[*index].size_chars,
                has_toolset: scan.results()[*index].has_toolset,
            }),
            Event::Skipped(reason) => collector.skip(*reason),
        }
    }
    match collector.finish(|_| Ok::<_, Infallible>(false)) {
        Ok(survey) => survey,
        Err(never) => match never {},
    }
}
