//! One element of a message list: an API message, or a transcript record that wraps one.

use super::cursor::{Cursor, Span, TextSpan};
use super::error::JsonError;
use super::names::{Name, Names};
use super::text::text_of;
use crate::calls::is_code_caller;
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

/// Who speaks, by what stands there.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    /// Nothing, or something that is no text.
    #[default]
    Absent,
    Empty,
    User,
    Assistant,
    Other,
}

/// The fields of a message.
#[derive(Clone, Copy, Default)]
struct Message {
    role: Role,
    id: Option<TextSpan>,
    /// Which blocks its content has; none if that is no list.
    blocks: (usize, usize),
}

/// The fields of a record beside its message.
#[derive(Clone, Copy, Default)]
struct Envelope {
    kind: Role,
    has_kind: bool,
    is_sidechain: bool,
    agent_id: Option<TextSpan>,
    message: Option<Message>,
}

/// The fields of a block, as a call and as a result.
#[derive(Clone, Copy, Default)]
struct Block {
    kind: BlockKind,
    id: Option<TextSpan>,
    name: Option<TextSpan>,
    is_for_code: bool,
    tool_use_id: Option<TextSpan>,
    content: Content,
    has_toolset: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BlockKind {
    Call,
    Result,
    #[default]
    Other,
}

#[derive(Clone, Copy, Default)]
enum Content {
    #[default]
    Absent,
    NotText,
    Text(TextContent),
}

#[derive(Clone, Copy)]
struct TextContent {
    span: Span,
    first_text: usize,
    texts: usize,
    cache_control: Option<Span>,
}

/// A list of text blocks.
struct TextBlocks {
    cache_control: Option<Span>,
}

/// Reads elements, and keeps what is found in them.
pub(super) struct Elements<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) events: Vec<Event>,
    pub(super) results: Vec<ResultSpan>,
    pub(super) texts: Vec<TextSpan>,
    pub(super) names: Names,
    blocks: Vec<Block>,
}

impl<'a> Elements<'a> {
    pub(super) fn new(cursor: Cursor<'a>) -> Self {
        Self {
            cursor,
            events: Vec::new(),
            results: Vec::new(),
            texts: Vec::new(),
            names: Names::default(),
            blocks: Vec::new(),
        }
    }

    /// Reads the object that begins here as an element of a message list.
    pub(super) fn read(&mut self, message_index: usize) -> Result<(), JsonError> {
        let mut own = Message::default();
        let mut envelope = Envelope::default();
        self.blocks.clear();
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            match self.name_of(&name) {
                Field::Message => envelope.message = self.inner_message()?,
                Field::Type => {
                    (envelope.kind, envelope.has_kind) = self.kind()?;
                }
                Field::IsSidechain => {
                    envelope.is_sidechain = self.cursor.peek() == b't';
                    self.cursor.skip_value()?;
                }
                Field::AgentId => envelope.agent_id = self.cursor.text()?,
                other => self.message_field(other, &mut own)?,
            }
            has_next = self.cursor.has_next(b'}')?;
        }
        self.emit(&own, &envelope, message_index);
        Ok(())
    }

    fn name_of(&self, name: &TextSpan) -> Field {
        Field::of(name, self.cursor.body)
    }

    fn inner_message(&mut self) -> Result<Option<Message>, JsonError> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(None);
        }
        let mut message = Message::default();
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            let name = self.name_of(&name);
            self.message_field(name, &mut message)?;
            has_next = self.cursor.has_next(b'}')?;
        }
        Ok(Some(message))
    }

    fn message_field(&mut self, name: Field, message: &mut Message) -> Result<(), JsonError> {
        match name {
            Field::Role => (message.role, _) = self.kind()?,
            Field::Id => message.id = self.cursor.text()?,
            Field::Content => message.blocks = self.content_blocks()?,
            _ => self.cursor.skip_value()?,
        }
        Ok(())
    }

    /// Who speaks, and whether there is any value.
    fn kind(&mut self) -> Result<(Role, bool), JsonError> {
        if self.cursor.peek() != b'"' {
            return Ok((Role::Absent, self.cursor.is_something()?));
        }
        let text = self.cursor.string()?;
        let body = self.cursor.body;
        let role = if text.is(b"user", body) {
            Role::User
        } else if text.is(b"assistant", body) {
            Role::Assistant
        } else if text.span.start == text.span.end {
            Role::Empty
        } else {
            Role::Other
        };
        Ok((role, true))
    }

    fn content_blocks(&mut self) -> Result<(usize, usize), JsonError> {
        let first = self.blocks.len();
        if self.cursor.peek() != b'[' {
            self.cursor.skip_value()?;
            return Ok((first, first));
        }
        let mut has_next = self.cursor.has_first(b']');
        while has_next {
            let block = self.block()?;
            self.blocks.push(block);
            has_next = self.cursor.has_next(b']')?;
        }
        Ok((first, self.blocks.len()))
    }

    fn block(&mut self) -> Result<Block, JsonError> {
        let mut block = Block::default();
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(block);
        }
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            match self.name_of(&name) {
                Field::Type => block.kind = self.block_kind()?,
                Field::ToolUseId => block.tool_use_id = self.cursor.text()?,
                Field::Content => block.content = self.result_content()?,
                Field::Id => block.id = self.cursor.text()?,
                Field::Name => block.name = self.cursor.text()?,
                Field::Caller => block.is_for_code = self.is_code_caller()?,
                Field::ToolsetName => block.has_toolset = self.cursor.is_something()?,
                _ => self.cursor.skip_value()?,
            }
            has_next = self.cursor.has_next(b'}')?;
        }
        Ok(block)
    }

    fn block_kind(&mut self) -> Result<BlockKind, JsonError> {
        let body = self.cursor.body;
        Ok(match self.cursor.text()? {
            Some(kind) if kind.is(b"tool_result", body) => BlockKind::Result,
            Some(kind) if kind.is(b"tool_use", body) => BlockKind::Call,
            _ => BlockKind::Other,
        })
    }

    fn is_code_caller(&mut self) -> Result<bool, JsonError> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(false);
        }
        let mut is_for_code = false;
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            if self.name_of(&name) == Field::Type {
                let kind = self.cursor.text()?;
                is_for_code =
                    kind.is_some_and(|kind| is_code_caller(&text_of(kind, self.cursor.body)));
            } else {
                self.cursor.skip_value()?;
            }
            has_next = self.cursor.has_next(b'}')?;
        }
        Ok(is_for_code)
    }

    fn result_content(&mut self) -> Result<Content, JsonError> {
        let start = self.cursor.at;
        let first_text = self.texts.len();
        let mut cache_control = None;
        match self.cursor.peek() {
            b'"' => {
                let text = self.cursor.string()?;
                self.texts.push(text);
            }
            b'[' => match self.text_blocks()? {
                Some(found) => cache_control = found.cache_control,
                None => return Ok(Content::NotText),
            },
            _ => {
                let is_something = self.cursor.is_something()?;
                return Ok(if is_something {
                    Content::NotText
                } else {
                    Content::Absent
                });
            }
        }
        let end = self.cursor.at;
        Ok(Content::Text(TextContent {
            span: Span { start, end },
            first_text,
            texts: self.texts.len() - first_text,
            cache_control,
        }))
    }

    /// Reads a list of blocks; `None` if one of them is no text block.
    fn text_blocks(&mut self) -> Result<Option<TextBlocks>, JsonError> {
        let first_text = self.texts.len();
        let mut are_texts = true;
        let mut cache_control = None;
        let mut has_next = self.cursor.has_first(b']');
        while has_next {
            are_texts &= self.text_block(&mut cache_control)?;
            has_next = self.cursor.has_next(b']')?;
        }
        if !are_texts {
            self.texts.truncate(first_text);
            return Ok(None);
        }
        Ok(Some(TextBlocks { cache_control }))
    }

    fn text_block(&mut self, cache_control: &mut Option<Span>) -> Result<bool, JsonError> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(false);
        }
        let mut is_text = false;
        let mut text = None;
        let mut own_cache_control = None;
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            match self.name_of(&name) {
                Field::Type => {
                    let kind = self.cursor.text()?;
                    is_text = kind.is_some_and(|kind| kind.is(b"text", self.cursor.body));
                }
                Field::Text => text = self.cursor.text()?,
                Field::CacheControl => {
                    let start = self.cursor.at;
                    let is_something = self.cursor.is_something()?;
                    let end = self.cursor.at;
                    own_cache_control = is_something.then_some(Span { start, end });
                }
                _ => self.cursor.skip_value()?,
            }
            has_next = self.cursor.has_next(b'}')?;
        }
        *cache_control = own_cache_control.or(*cache_control);
        self.texts.extend(text);
        Ok(is_text && text.is_some())
    }

    /// Notes what an element comes to, once all of its fields are known.
    fn emit(&mut self, own: &Message, envelope: &Envelope, message_index: usize) {
        let (message, role) = match &envelope.message {
            None => (own, own.role),
            Some(message) => {
                let is_message = matches!(envelope.kind, Role::User | Role::Assistant);
                if envelope.has_kind && !is_message {
                    return;
                }
                match message.role {
                    Role::Absent | Role::Empty => (message, envelope.kind),
                    role => (message, role),
                }
            }
        };
        let body = self.cursor.body;
        let mut number = |text: TextSpan| self.names.number(text, body);
        let message_id = message.id.filter(|id| id.span.start < id.span.end);
        let (first, end) = message.blocks;
        let turn = |message_id, agent_id| TurnSpan {
            message_index,
            is_sidechain: envelope.is_sidechain,
            agent_id,
            message_id,
        };
        match role {
            Role::Assistant => {
                let turn = turn(
                    message_id.map(&mut number),
                    envelope.agent_id.map(&mut number),
                );
                self.events.push(Event::Assistant(turn));
                let blocks = self.blocks[first..end].iter();
                let calls = blocks.filter_map(|block| block.as_call(&mut number));
                self.events.extend(calls.map(Event::Call));
            }
            Role::User => {
                let turn = turn(None, envelope.agent_id.map(&mut number));
                self.events.push(Event::User(turn));
                self.emit_results((first, end), message_index);
            }
            Role::Absent | Role::Empty | Role::Other => {}
        }
    }

    fn emit_results(&mut self, (first, end): (usize, usize), message_index: usize) {
        let body = self.cursor.body;
        for (block_index, block) in self.blocks[first..end].iter().enumerate() {
            let event = match block.as_result(&self.texts) {
                None => continue,
                Some(Err(reason)) => Event::Skipped(reason),
                Some(Ok((tool_use_id, text))) => {
                    let texts = &self.texts[text.first_text..text.first_text + text.texts];
                    self.results.push(ResultSpan {
                        message_index,
                        block_index,
                        name: self.names.number(tool_use_id, body),
                        tool_use_id,
                        content: text.span,
                        first_text: text.first_text,
                        texts: text.texts,
                        cache_control: text.cache_control,
                        has_toolset: block.has_toolset,
                        may_be_framed: may_be_framed(texts, body),
                    });
                    Event::Result(self.results.len() - 1)
                }
            };
            self.events.push(event);
        }
    }
}

/// Whether the text that several strings make begins with `<`, be it as an escape.
fn may_be_framed(texts: &[TextSpan], body: &[u8]) -> bool {
    let mut texts = texts.iter().map(|text| text.span.of(body));
    let first = texts.find(|raw| !raw.is_empty());
    matches!(
        first,
        Some([b'<', ..] | [b'\\', b'u', b'0', b'0', b'3', b'c' | b'C', ..])
    )
}

impl Block {
    fn as_call(&self, mut number: impl FnMut(TextSpan) -> Name) -> Option<CallSpan> {
        if self.kind != BlockKind::Call {
            return None;
        }
        Some(CallSpan {
            tool_use_id: number(self.id?),
            tool_name: self.name.map(number),
            is_for_code: self.is_for_code,
        })
    }

    /// The id and text of a result, or why it is no candidate; `None` if it is no result.
    fn as_result(
        &self,
        texts_of_scan: &[TextSpan],
    ) -> Option<Result<(TextSpan, TextContent), SkipReason>> {
        if self.kind != BlockKind::Result {
            return None;
        }
        let Some(tool_use_id) = self.tool_use_id else {
            return Some(Err(SkipReason::Malformed));
        };
        let text = match self.content {
            Content::Absent => return Some(Err(SkipReason::Empty)),
            Content::NotText => return Some(Err(SkipReason::NotText)),
            Content::Text(text) => text,
        };
        let texts = &texts_of_scan[text.first_text..text.first_text + text.texts];
        if texts.iter().all(|text| text.span.start == text.span.end) {
            return Some(Err(SkipReason::Empty));
        }
        Some(Ok((tool_use_id, text)))
    }
}

/// The names that mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
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
    fn of(name: &TextSpan, body: &[u8]) -> Self {
        let raw = name.span.of(body);
        if name.has_escapes {
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
