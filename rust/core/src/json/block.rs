//! One block of a message: a call, a result, or something that is passed over.

use super::cursor::{Cursor, Span, TextSpan};
use super::element::Elements;
use super::error::Fault;
use super::event::{CallSpan, ResultSpan};
use super::field::Field;
use super::members::Shape;
use super::names::{Name, Names};
use super::pattern::{Follows, Pattern, Read, Step};
use super::text::text_of;
use crate::calls::is_code_caller;
use crate::collect::SkipReason;

/// The fields of a block, as a call and as a result.
#[derive(Clone, Copy, Default)]
struct Block {
    fixed: Fixed,
    id: Option<TextSpan>,
    tool_use_id: Option<TextSpan>,
    content: Content,
    /// How many members were read.
    members: usize,
}

impl Block {
    /// Adds what was read of it up to here as a step.
    fn add_to<'a>(&self, pattern: &mut Pattern<'a>, bytes: &'a [u8], follows: Follows) {
        let read = Read {
            fixed: self.fixed,
            members: self.members,
        };
        pattern.add(Step { bytes, follows }, read);
    }
}

/// What many blocks have in common. Where a text stands is not the point, but which one it is.
#[derive(Clone, Copy, Default)]
pub(super) struct Fixed {
    kind: BlockKind,
    name: Option<TextSpan>,
    is_for_code: bool,
    has_toolset: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum BlockKind {
    Call,
    Result,
    #[default]
    Other,
}

impl BlockKind {
    const fn shape(self) -> Shape {
        match self {
            Self::Call => Shape::Call,
            Self::Result => Shape::Result,
            Self::Other => Shape::Block,
        }
    }
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

/// A result that was met.
#[derive(Clone, Copy)]
pub(super) enum Met {
    /// The next one of those that were kept.
    Result,
    /// One that is no candidate.
    Skipped(SkipReason),
}

/// A call, before its texts have numbers.
#[derive(Clone, Copy)]
pub(super) struct CallBlock {
    id: TextSpan,
    name: Option<TextSpan>,
    is_for_code: bool,
}

impl CallBlock {
    pub(super) fn number(&self, names: &mut Names, body: &[u8]) -> CallSpan {
        CallSpan {
            tool_use_id: names.number(self.id, body),
            tool_name: self.name.map(|name| names.number_tool(name, body)),
            is_for_code: self.is_for_code,
        }
    }
}

/// A list of text blocks.
struct TextBlocks {
    cache_control: Option<Span>,
}

impl Elements<'_> {
    /// Reads a block of a message, whatever it is, and keeps what it comes to.
    pub(super) fn block(&mut self, block_index: usize) -> Result<(), Fault> {
        if self.cursor.peek() != b'{' {
            return self.cursor.skip_value();
        }
        let mut block = Block::default();
        if let Some(steps) = self.read_alike(&mut block)? {
            self.read_block(&mut block, steps)?;
        }
        self.keep(&block, block_index);
        Ok(())
    }

    /// Reads as much of a block as is like one before; gives how many steps that were, unless it is
    /// the whole block.
    #[inline]
    fn read_alike(&mut self, block: &mut Block) -> Result<Option<usize>, Fault> {
        let cursor = &mut self.cursor;
        let Some(pattern) = self.patterns.find(cursor.rest()) else {
            return Ok(Some(0));
        };
        let mut steps = 0;
        let mut is_whole = false;
        for step in pattern.steps() {
            if steps > 0 && !cursor.rest().starts_with(step.bytes) {
                break;
            }
            steps += 1;
            cursor.at += step.bytes.len();
            if step.follows == Follows::Nothing {
                is_whole = true;
                break;
            }
            // The quote belongs to the text, too.
            cursor.at -= 1;
            match step.follows {
                Follows::Id => block.id = Some(cursor.string()?),
                Follows::ToolUseId => block.tool_use_id = Some(cursor.string()?),
                Follows::Content => block.content = text_content(cursor, &mut self.texts)?,
                Follows::Nothing => {}
            }
        }
        let read = pattern.read(steps);
        block.fixed = read.fixed;
        block.members = read.members;
        Ok((!is_whole).then_some(steps))
    }

    /// Reads the rest of a block, whose first steps are those of one before, and remembers it.
    fn read_block(&mut self, block: &mut Block, steps: usize) -> Result<(), Fault> {
        let body = self.cursor.body;
        let mut pattern = self.patterns.begun(steps);
        let mut start = self.cursor.at;
        while let Some(field) = self.next_field(block.fixed.kind.shape(), &mut block.members)? {
            let follows = match field {
                Field::Id => Follows::Id,
                Field::ToolUseId => Follows::ToolUseId,
                Field::Content => Follows::Content,
                other => {
                    self.read_fixed(other, &mut block.fixed)?;
                    continue;
                }
            };
            if self.cursor.peek() == b'"' {
                let bytes = &body[start..=self.cursor.at];
                block.add_to(&mut pattern, bytes, follows);
            } else {
                pattern.spoil();
            }
            self.read_varying(follows, block)?;
            start = self.cursor.at;
        }
        let bytes = &body[start..self.cursor.at];
        block.add_to(&mut pattern, bytes, Follows::Nothing);
        if block.fixed.kind != BlockKind::Other {
            let is_result = block.fixed.kind == BlockKind::Result;
            self.patterns.remember(&pattern, is_result);
        }
        Ok(())
    }

    fn read_varying(&mut self, follows: Follows, block: &mut Block) -> Result<(), Fault> {
        match follows {
            Follows::Id => block.id = self.cursor.text()?,
            Follows::ToolUseId => block.tool_use_id = self.cursor.text()?,
            Follows::Content => block.content = self.result_content()?,
            Follows::Nothing => {}
        }
        Ok(())
    }

    fn read_fixed(&mut self, field: Field, fixed: &mut Fixed) -> Result<(), Fault> {
        match field {
            Field::Type => fixed.kind = self.block_kind()?,
            Field::Name => fixed.name = self.cursor.text()?,
            Field::Caller => fixed.is_for_code = self.is_code_caller()?,
            Field::ToolsetName => fixed.has_toolset = self.cursor.is_something()?,
            _ => self.cursor.skip_value()?,
        }
        Ok(())
    }

    fn keep(&mut self, block: &Block, block_index: usize) {
        match block.fixed.kind {
            BlockKind::Other => {}
            BlockKind::Call => self.calls.extend(block.id.map(|id| CallBlock {
                id,
                name: block.fixed.name,
                is_for_code: block.fixed.is_for_code,
            })),
            BlockKind::Result => {
                let kept = self.keep_result(block, block_index);
                self.met
                    .push(kept.map_or_else(Met::Skipped, |()| Met::Result));
            }
        }
    }

    /// Keeps a result; says why if it is no candidate.
    fn keep_result(&mut self, block: &Block, block_index: usize) -> Result<(), SkipReason> {
        let tool_use_id = block.tool_use_id.ok_or(SkipReason::Malformed)?;
        let text = match block.content {
            Content::Absent => return Err(SkipReason::Empty),
            Content::NotText => return Err(SkipReason::NotText),
            Content::Text(text) => text,
        };
        let texts = &self.texts[text.first_text..text.first_text + text.texts];
        if texts.iter().all(|text| text.span.start == text.span.end) {
            return Err(SkipReason::Empty);
        }
        self.results.push(ResultSpan {
            message_index: 0,
            block_index,
            name: Name::UNKNOWN,
            tool_use_id,
            content: text.span,
            first_text: text.first_text,
            texts: text.texts,
            cache_control: text.cache_control,
            has_toolset: block.fixed.has_toolset,
            may_be_framed: may_be_framed(texts, self.cursor.body),
        });
        Ok(())
    }

    fn block_kind(&mut self) -> Result<BlockKind, Fault> {
        if self.cursor.skip_text(br#""tool_result""#) {
            return Ok(BlockKind::Result);
        }
        if self.cursor.skip_text(br#""tool_use""#) {
            return Ok(BlockKind::Call);
        }
        let body = self.cursor.body;
        Ok(match self.cursor.text()? {
            Some(kind) if kind.is(b"tool_result", body) => BlockKind::Result,
            Some(kind) if kind.is(b"tool_use", body) => BlockKind::Call,
            _ => BlockKind::Other,
        })
    }

    fn is_code_caller(&mut self) -> Result<bool, Fault> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(false);
        }
        let mut is_for_code = false;
        let mut has_next = self.cursor.has_first(b'}');
        while has_next {
            let name = self.cursor.name()?;
            if Field::of(&name, self.cursor.body) == Field::Type {
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

    fn result_content(&mut self) -> Result<Content, Fault> {
        let start = self.cursor.at;
        let first_text = self.texts.len();
        let cache_control = match self.cursor.peek() {
            b'"' => return text_content(&mut self.cursor, &mut self.texts),
            b'[' => match self.text_blocks()? {
                Some(found) => found.cache_control,
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
        };
        let end = self.cursor.at;
        Ok(Content::Text(TextContent {
            span: Span { start, end },
            first_text,
            texts: self.texts.len() - first_text,
            cache_control,
        }))
    }

    /// Reads a list of blocks; `None` if one of them is no text block.
    fn text_blocks(&mut self) -> Result<Option<TextBlocks>, Fault> {
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

    fn text_block(&mut self, cache_control: &mut Option<Span>) -> Result<bool, Fault> {
        if self.cursor.peek() != b'{' {
            self.cursor.skip_value()?;
            return Ok(false);
        }
        let mut is_text = false;
        let mut text = None;
        let mut own_cache_control = None;
        let mut members = 0;
        while let Some(field) = self.next_field(Shape::TextBlock, &mut members)? {
            match field {
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
        }
        *cache_control = own_cache_control.or(*cache_control);
        self.texts.extend(text);
        Ok(is_text && text.is_some())
    }
}

/// Reads a content that is a string.
#[inline]
fn text_content(cursor: &mut Cursor<'_>, texts: &mut Vec<TextSpan>) -> Result<Content, Fault> {
    let start = cursor.at;
    let first_text = texts.len();
    texts.push(cursor.long_string()?);
    let end = cursor.at;
    Ok(Content::Text(TextContent {
        span: Span { start, end },
        first_text,
        texts: 1,
        cache_control: None,
    }))
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
