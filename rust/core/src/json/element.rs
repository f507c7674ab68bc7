//! One element of a message list: an API message, or a transcript record that wraps one.

use super::block::{Block, may_be_framed};
use super::cursor::{Cursor, TextSpan};
use super::error::JsonError;
use super::event::{Event, ResultSpan, TurnSpan};
use super::field::Field;
use super::names::Names;

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

impl Envelope {
    /// The message that an element is or wraps, and who speaks; `None` if its kind is another one.
    fn open<'m>(&'m self, own: &'m Message) -> Option<(&'m Message, Role)> {
        let Some(message) = &self.message else {
            return Some((own, own.role));
        };
        let is_message = matches!(self.kind, Role::User | Role::Assistant);
        if self.has_kind && !is_message {
            return None;
        }
        match message.role {
            Role::Absent | Role::Empty => Some((message, self.kind)),
            role => Some((message, role)),
        }
    }
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

    pub(super) fn name_of(&self, name: &TextSpan) -> Field {
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

    /// Notes what an element comes to, once all of its fields are known.
    fn emit(&mut self, own: &Message, envelope: &Envelope, message_index: usize) {
        let Some((message, role)) = envelope.open(own) else {
            return;
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
