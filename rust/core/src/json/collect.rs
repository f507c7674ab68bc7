//! Telling the collector what a scan has met.

use std::collections::hash_map::Entry;
use std::convert::Infallible;

use super::document::Scan;
use super::event::{Event, TurnSpan};
use super::names::{JsonName, Name};
use crate::calls::Call;
use crate::collect::{Candidate, Collector, Found, Survey};
use crate::fingerprint::Fingerprint;
use crate::group::Chain;
use crate::hash::KeyMap;

/// The results of a scan in their groups and joined to their calls; candidates have the indices of
/// the results. Which tools are exempt is still to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed(Survey<Name>);

impl Surveyed {
    /// Gives the survey of the scan that this was made of.
    ///
    /// # Errors
    ///
    /// Those of `is_exempt_tool`, which is asked once for each name.
    pub fn exempting<'a, E>(
        &self,
        scan: &'a Scan,
        body: &'a [u8],
        mut is_exempt_tool: impl FnMut(&JsonName<'a>) -> Result<bool, E>,
    ) -> Result<Survey<JsonName<'a>>, E> {
        let text = |name: Name| JsonName::new(name, &scan.names, body);
        let mut known: KeyMap<Name, bool> = KeyMap::default();
        self.0.try_map(|candidate| {
            let mut is_exempt = candidate.is_exempt;
            if !is_exempt && let Some(name) = candidate.tool_name {
                is_exempt = match known.entry(name) {
                    Entry::Occupied(asked) => *asked.get(),
                    Entry::Vacant(free) => *free.insert(is_exempt_tool(&text(name))?),
                };
            }
            Ok(Candidate {
                tool_use_id: text(candidate.tool_use_id),
                size_chars: candidate.size_chars,
                tool_name: candidate.tool_name.map(text),
                is_exempt,
            })
        })
    }
}

/// Puts the results of a scan into groups and joins them to their calls.
#[must_use]
pub fn survey(scan: &Scan, body: &[u8], fingerprints: &[Fingerprint]) -> Surveyed {
    let joined = join(scan, body, fingerprints).try_map(|candidate| {
        Ok::<_, Infallible>(Candidate {
            tool_use_id: candidate.tool_use_id.name(),
            size_chars: candidate.size_chars,
            tool_name: candidate.tool_name.map(|name| name.name()),
            is_exempt: candidate.is_exempt,
        })
    });
    match joined {
        Ok(joined) => Surveyed(joined),
        Err(never) => match never {},
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
            Event::Assistant(turn) => collector.begin_assistant(
                turn.message_index,
                chain(turn),
                turn.message_id.map(text),
            ),
            Event::Call(call) => collector.add_call(
                text(call.tool_use_id),
                Call {
                    tool_name: call.tool_name.map(text),
                    is_for_code: call.is_for_code,
                },
            ),
            Event::User(turn) => collector.begin_user(turn.message_index, chain(turn)),
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
