//! The names of members that mean something.

use super::cursor::TextSpan;
use super::text::text_of;

/// The names that mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    AgentId,
    CacheControl,
    Caller,
    Content,
    Id,
    IsSidechain,
    Message,
    Name,
    Role,
    Text,
    ToolUseId,
    ToolsetName,
    Type,
    Other,
}

impl Field {
    pub(super) fn of(name: &TextSpan, body: &[u8]) -> Self {
        let raw = name.span.of(body);
        if name.has_escapes() {
            Self::by_text(&text_of(*name, body))
        } else {
            Self::by_text(raw)
        }
    }

    fn by_text(text: &[u8]) -> Self {
        match text {
            b"agentId" => Self::AgentId,
            b"cache_control" => Self::CacheControl,
            b"caller" => Self::Caller,
            b"content" => Self::Content,
            b"id" => Self::Id,
            b"isSidechain" => Self::IsSidechain,
            b"message" => Self::Message,
            b"name" => Self::Name,
            b"role" => Self::Role,
            b"text" => Self::Text,
            b"tool_use_id" => Self::ToolUseId,
            b"toolset_name" => Self::ToolsetName,
            b"type" => Self::Type,
            _ => Self::Other,
        }
    }
}
