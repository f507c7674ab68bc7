//! One block of a message: a call, a result, or something that is passed over.

use super::cursor::{Span, TextSpan};
use super::element::Elements;
use super::error::Fault;
use super::event::{CallSpan, ResultSpan};
use super::field::Field;
use super::names::Name;
use super::text::text_of;
use crate::calls::is_code_caller;
use crate::collect::SkipReason;

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
    pub(super) fn number(&self, mut number: impl FnMut(TextSpan) -> Name) -> CallSpan {
        CallSpan {
            tool_use_id: number(self.id),
            tool_name: self.name.map(number),
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
        self.keep(&block, block_index);
        Ok(())
    }

    fn keep(&mut self, block: &Block, block_index: usize) {
        match block.kind {
            BlockKind::Other => {}
            BlockKind::Call => self.calls.extend(block.id.map(|id| CallBlock {
                id,
                name: block.name,
                is_for_code: block.is_for_code,
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
            has_toolset: block.has_toolset,
            may_be_framed: may_be_framed(texts, self.cursor.body),
        });
        Ok(())
    }

    fn block_kind(&mut self) -> Result<BlockKind, Fault> {
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

    fn result_content(&mut self) -> Result<Content, Fault> {
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
