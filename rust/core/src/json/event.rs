//! What a scan meets, as spans of the body.

use super::cursor::{Shift, Span, TextSpan};
use super::names::Name;
use crate::collect::SkipReason;

/// A message that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSpan {
    /// Its place in the list.
    pub message_index: usize,
    /// Whether its record stands beside the main conversation.
    pub is_sidechain: bool,
    /// The agent that its record names.
    pub agent_id: Option<Name>,
    /// The id of an assistant message.
    pub message_id: Option<Name>,
}

/// A call of the assistant message that was begun last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSpan {
    /// What joins it to its result.
    pub tool_use_id: Name,
    /// The tool, if the call names one.
    pub tool_name: Option<Name>,
    /// Whether running code made it.
    pub is_for_code: bool,
}

/// A text result of the user message that was begun last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultSpan {
    /// The place of its message in the list.
    pub message_index: usize,
    /// Its place in the message.
    pub block_index: usize,
    /// What joins it to its call, as a name.
    pub name: Name,
    /// The same as it stands there.
    pub tool_use_id: TextSpan,
    /// The whole value of its content.
    pub content: Span,
    /// The first of its texts among those of the scan.
    pub first_text: usize,
    /// How many texts it has.
    pub texts: usize,
    /// The last `cache_control` of its blocks that is something.
    pub cache_control: Option<Span>,
    /// Whether it names a toolset that it is a member of.
    pub has_toolset: bool,
    /// Whether its text begins with `<`: other text is no reference.
    pub may_be_framed: bool,
}

impl ResultSpan {
    pub(super) fn move_by(&mut self, shift: Shift) {
        self.tool_use_id = self.tool_use_id.moved_by(shift);
        self.content = self.content.moved_by(shift);
        self.cache_control = self.cache_control.map(|span| span.moved_by(shift));
    }
}

/// What a scan meets, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An assistant message begins.
    Assistant(TurnSpan),
    /// A call in it.
    Call(CallSpan),
    /// A user message begins.
    User(TurnSpan),
    /// A text result in it: which of the results of the scan.
    Result(usize),
    /// A result that is no candidate.
    Skipped(SkipReason),
}
