//! Telling the collector what a scan has met.

use super::document::Scan;
use super::event::{Event, TurnSpan};
use super::names::{JsonName, Name};
use crate::calls::Call;
use crate::collect::{Collector, Found, Survey};
use crate::fingerprint::Fingerprint;
use crate::group::Chain;

/// Puts the results of a scan into groups and joins them to their calls; candidates of the survey
/// have the indices of the results.
///
/// # Errors
///
/// Those of `is_exempt_tool`, which is asked once for each name.
pub fn survey<'a, E>(
    scan: &'a Scan,
    body: &'a [u8],
    fingerprints: &[Fingerprint],
    is_exempt_tool: impl FnMut(&JsonName<'a>) -> Result<bool, E>,
) -> Result<Survey<JsonName<'a>>, E> {
    let text = |name: Name| JsonName::new(name, &scan.names, body);
    let chain = |turn: &TurnSpan| Chain {
        is_sidechain: turn.is_sidechain,
        agent_id: turn.agent_id.map(text),
    };
    let mut collector = Collector::new();
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
    collector.finish(is_exempt_tool)
}
