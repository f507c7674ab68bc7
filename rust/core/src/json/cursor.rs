//! Stepping over JSON text, value by value, by the grammar.

use super::error::{Fault, JsonError, Problem};
use super::{skip, text};

/// From the first byte of something to the one behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

impl Span {
    /// The bytes of a body that it spans.
    #[must_use]
    pub fn of<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        body.get(self.start..self.end).unwrap_or_default()
    }
}

/// From a place in one body to the same place in another one.
#[derive(Clone, Copy)]
pub(super) struct Shift(isize);

impl Shift {
    pub(super) const fn between(before: usize, now: usize) -> Self {
        Self(now.wrapping_sub(before).cast_signed())
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn of(self, place: usize) -> usize {
        place.wrapping_add_signed(self.0)
    }
}

impl Span {
    pub(super) const fn moved_by(self, shift: Shift) -> Self {
        Self {
            start: shift.of(self.start),
            end: shift.of(self.end),
        }
    }
}

/// What stands between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// Without the quotes.
    pub span: Span,
    escapes: Escapes,
}

/// As wide as a place, so that a [`TextSpan`] has no gaps: those are copied in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Escapes {
    None,
    Some,
}

impl TextSpan {
    /// Whether the text is other bytes than those in between.
    #[must_use]
    pub const fn has_escapes(&self) -> bool {
        matches!(self.escapes, Escapes::Some)
    }

    pub(super) const fn moved_by(self, shift: Shift) -> Self {
        Self {
            span: self.span.moved_by(shift),
            escapes: self.escapes,
        }
    }

    /// Whether both texts of a body are the same, as far as that can be told by their bytes alone.
    #[inline]
    pub(super) fn is_surely(&self, other: Self, body: &[u8]) -> bool {
        self.span == other.span
            || (!self.has_escapes()
                && !other.has_escapes()
                && self.span.of(body) == other.span.of(body))
    }

    /// Tells whether the text is `expected`.
    pub(super) fn is(&self, expected: &[u8], body: &[u8]) -> bool {
        let raw = self.span.of(body);
        if self.has_escapes() {
            text::decode_text(raw) == expected
        } else {
            raw == expected
        }
    }
}

/// A place in a body.
pub(super) struct Cursor<'a> {
    pub(super) body: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(body: &'a [u8], at: usize) -> Self {
        Self { body, at }
    }

    /// The byte here; NUL, which stands nowhere in JSON, at the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        byte_at(self.body, self.at)
    }

    /// Everything from here on.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.body.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.body.len()
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        self.at = behind_blanks(self.body, self.at);
    }

    pub(super) fn error<T>(&self, problem: Problem) -> Result<T, Fault> {
        fail(problem, self.at)
    }

    /// Steps over what begins here if it is `text`.
    #[inline]
    pub(super) fn skip_text<const BYTES: usize>(&mut self, text: &[u8; BYTES]) -> bool {
        let here = self.body.get(self.at..).and_then(<[u8]>::first_chunk);
        let is_here = here == Some(text);
        self.at += if is_here { BYTES } else { 0 };
        is_here
    }

    /// Steps over the string that begins here.
    #[inline]
    pub(super) fn string(&mut self) -> Result<TextSpan, Fault> {
        let start = self.at + 1;
        let Some(end) = skip::find_near_end(self.body, start) else {
            return self.long_string();
        };
        self.at = end + 1;
        Ok(TextSpan {
            span: Span { start, end },
            escapes: Escapes::None,
        })
    }

    /// Does what [`string`](Self::string) does where that is as a rule no short one.
    #[inline(never)]
    pub(super) fn long_string(&mut self) -> Result<TextSpan, Fault> {
        let start = self.at + 1;
        let Some(found) = skip::find_end(self.body, start) else {
            return Err(skip::diagnose(self.body, start).into());
        };
        let span = Span {
            start,
            end: found.place,
        };
        if !found.is_ascii
            && let Err(error) = std::str::from_utf8(span.of(self.body))
        {
            return fail(Problem::NotUtf8, start + error.valid_up_to());
        }
        self.at = found.place + 1;
        Ok(TextSpan {
            span,
            escapes: if found.has_escapes {
                Escapes::Some
            } else {
                Escapes::None
            },
        })
    }

    /// Steps over the name of a member, its colon and the blanks around that.
    #[inline]
    pub(super) fn name(&mut self) -> Result<TextSpan, Fault> {
        if self.peek() != b'"' {
            return self.error(Problem::ExpectingName);
        }
        let name = self.string()?;
        let at = behind_blanks(self.body, self.at);
        if byte_at(self.body, at) != b':' {
            return fail(Problem::ExpectingColon, at);
        }
        self.at = behind_blanks(self.body, at + 1);
        Ok(name)
    }

    /// Steps over the value that begins here, and gives it if it is a string.
    pub(super) fn text(&mut self) -> Result<Option<TextSpan>, Fault> {
        if self.peek() == b'"' {
            return self.string().map(Some);
        }
        self.skip_value()?;
        Ok(None)
    }

    /// Steps over the value that begins here; tells whether it is something else than `null`.
    pub(super) fn is_something(&mut self) -> Result<bool, Fault> {
        let is_null = self.peek() == b'n';
        self.skip_value()?;
        Ok(!is_null)
    }

    /// Steps over the comma before the next item, or over the end of a list or object; tells
    /// whether there is another one.
    #[inline]
    pub(super) fn has_next(&mut self, closing: u8) -> Result<bool, Fault> {
        let at = behind_blanks(self.body, self.at);
        let byte = byte_at(self.body, at);
        if byte == b',' {
            self.at = behind_blanks(self.body, at + 1);
            return Ok(true);
        }
        if byte == closing {
            self.at = at + 1;
            return Ok(false);
        }
        fail(Problem::ExpectingComma, at)
    }

    /// Steps over the opening of a list or object; tells whether there is anything in it.
    #[inline]
    pub(super) fn has_first(&mut self, closing: u8) -> bool {
        let at = behind_blanks(self.body, self.at + 1);
        let is_empty = byte_at(self.body, at) == closing;
        self.at = at + usize::from(is_empty);
        !is_empty
    }
}

#[cold]
pub(super) fn fail<T>(problem: Problem, offset: usize) -> Result<T, Fault> {
    Err(JsonError::new(problem, offset).into())
}

/// The byte at a place; NUL, which stands nowhere in JSON, behind the end.
#[inline]
pub(super) fn byte_at(body: &[u8], at: usize) -> u8 {
    body.get(at).copied().unwrap_or_default()
}

/// The first place from `at` on that is no blank.
#[inline]
pub(super) fn behind_blanks(body: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = body.get(at)
        && byte <= b' '
        && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
    {
        at += 1;
    }
    at
}
