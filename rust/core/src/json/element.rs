//! One element of a message list: an API message, or a transcript record that wraps one.

use super::block::{CallBlock, Met};
use super::cursor::{Cursor, Span, TextSpan};
use super::error::Fault;
use super::event::{Event, ResultSpan, TurnSpan};
use super::field::Field;
use super::members::{Members, Shape};
use super::names::Names;
use super::pattern::Patterns;

/// A body has room for one result in so many bytes before more is asked for: what is never used of it
/// takes no memory.
const RESULT_BYTES: usize = 1 << 9;

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
    content: Option<Blocks>,
}

/// The blocks of a content, as places in what was met; none if it is no list.
#[derive(Clone, Copy)]
struct Blocks {
    calls: (usize, usize),
    met: (usize, usize),
    /// Places in the results of the scan.
    results: (usize, usize),
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
    members: Members,
    pub(super) patterns: Patterns<'a>,
    /// Of the element that is being read.
    pub(super) met: Vec<Met>,
    pub(super) calls: Vec<CallBlock>,
}

impl<'a> Elements<'a> {
    pub(super) fn new(cursor: Cursor<'a>) -> Self {
        Self {
            cursor,
            events: Vec::new(),
            results: Vec::new(),
            texts: Vec::new(),
            names: Names::default(),
            members: Members::new(),
            patterns: Patterns::default(),
            met: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Makes room for what the body may hold.
    pub(super) fn expect(&mut self) {
        let results = self.cursor.body.len() / RESULT_BYTES;
        self.events.reserve(2 * results);
        self.results.reserve(results);
        self.texts.reserve(results);
    }

    /// Steps over the name of the next member of an object, of which so many were read, and gives
    /// it; steps over the end of the object if there is none.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is a few comparisons as a rule, and called once for each kind of object"
    )]
    pub(super) fn next_field(
        &mut self,
        shape: Shape,
        members: &mut usize,
    ) -> Result<Option<Field>, Fault> {
        let member = *members;
        *members += 1;
        let Cursor { body, at, .. } = self.cursor;
        if let Some(known) = self.members.get(shape, member)
            && known.is_at(body, at)
        {
            self.cursor.at = at + known.length();
            return Ok(Some(known.field()));
        }
        if member > 0 && self.cursor.peek() == b'}' {
            self.cursor.at += 1;
            return Ok(None);
        }
        self.read_field(shape, member)
    }

    /// Reads a name of which nothing is known, and remembers it.
    #[inline(never)]
    fn read_field(&mut self, shape: Shape, member: usize) -> Result<Option<Field>, Fault> {
        let start = self.cursor.at;
        let has_next = if member == 0 {
            self.cursor.has_first(b'}')
        } else {
            self.cursor.has_next(b'}')?
        };
        if !has_next {
            return Ok(None);
        }
        let name = self.cursor.name()?;
        let body = self.cursor.body;
        let field = Field::of(&name, body);
        let text = Span {
            start,
            end: self.cursor.at,
        };
        self.members.set(shape, member, text.of(body), field);
        Ok(Some(field))
    }

    /// Reads the object that begins here as an element of a message list.
    pub(super) fn read(&mut self, message_index: usize) -> Result<(), Fault> {
        let mut own = Message::default();
        let mut envelope = Envelope::default();
        self.met.clear();
        self.calls.clear();
        let first_result = self.results.len();
        let mut members = 0;
        while let Some(field) = self.next_field(Shape::Element, &mut members)? {
            match field {
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
        }
        match self.emit(&own, &envelope, message_index) {
            Some(counted) => self.emit_results(&counted, first_result, message_index),
            None => self.results.truncate(first_result),
        }
        Ok(())
    }

    fn inner_message(&mut self) -> Result<Option<Message>, Fault> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(None);
        }
        let mut message = Message::default();
        let mut members = 0;
        while let Some(field) = self.next_field(Shape::Message, &mut members)? {
            self.message_field(field, &mut message)?;
        }
        Ok(Some(message))
    }

    fn message_field(&mut self, name: Field, message: &mut Message) -> Result<(), Fault> {
        match name {
            Field::Role => (message.role, _) = self.kind()?,
            Field::Id => message.id = self.cursor.text()?,
            Field::Content => message.content = Some(self.content_blocks()?),
            _ => self.cursor.skip_value()?,
        }
        Ok(())
    }

    /// Who speaks, and whether there is any value.
    fn kind(&mut self) -> Result<(Role, bool), Fault> {
        if self.cursor.peek() != b'"' {
            return Ok((Role::Absent, self.cursor.is_something()?));
        }
        if self.cursor.skip_text(br#""user""#) {
            return Ok((Role::User, true));
        }
        if self.cursor.skip_text(br#""assistant""#) {
            return Ok((Role::Assistant, true));
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

    fn content_blocks(&mut self) -> Result<Blocks, Fault> {
        let (first_met, first_call) = (self.met.len(), self.calls.len());
        let first_result = self.results.len();
        if self.cursor.peek() == b'[' {
            let mut block_index = 0;
            let mut has_next = self.cursor.has_first(b']');
            while has_next {
                self.block(block_index)?;
                block_index += 1;
                has_next = self.cursor.has_next(b']')?;
            }
        } else {
            self.cursor.skip_value()?;
        }
        Ok(Blocks {
            met: (first_met, self.met.len()),
            calls: (first_call, self.calls.len()),
            results: (first_result, self.results.len()),
        })
    }

    /// Notes what an element comes to, once all of its fields are known; gives the blocks whose
    /// results count.
    fn emit(&mut self, own: &Message, envelope: &Envelope, message_index: usize) -> Option<Blocks> {
        let (message, role) = envelope.open(own)?;
        let body = self.cursor.body;
        let mut number = |text: TextSpan| self.names.number(text, body);
        let message_id = message.id.filter(|id| id.span.start < id.span.end);
        let (first, end) = message.content.map_or((0, 0), |blocks| blocks.calls);
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
                let calls = self.calls[first..end].iter();
                let calls = calls.map(|call| Event::Call(call.number(&mut self.names, body)));
                self.events.extend(calls);
                None
            }
            Role::User => {
                let turn = turn(None, envelope.agent_id.map(&mut number));
                self.events.push(Event::User(turn));
                message.content
            }
            Role::Absent | Role::Empty | Role::Other => None,
        }
    }

    /// Keeps the results that count of those that the element has, and notes them.
    fn emit_results(&mut self, counted: &Blocks, first_result: usize, message_index: usize) {
        let body = self.cursor.body;
        let (first, end) = counted.results;
        self.results.truncate(end);
        self.results.drain(first_result..first);
        let mut next = first_result;
        let (first, end) = counted.met;
        for met in &self.met[first..end] {
            let event = match met {
                Met::Skipped(reason) => Event::Skipped(*reason),
                Met::Result => {
                    let result = &mut self.results[next];
                    result.message_index = message_index;
                    result.name = self.names.number_result(result.tool_use_id, body);
                    next += 1;
                    Event::Result(next - 1)
                }
            };
            self.events.push(event);
        }
    }
}
