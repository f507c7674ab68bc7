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
    /// Whether the text is other bytes than those in between.
    pub has_escapes: bool,
}

impl TextSpan {
    pub(super) const fn moved_by(self, shift: Shift) -> Self {
        Self {
            span: self.span.moved_by(shift),
            has_escapes: self.has_escapes,
        }
    }

    /// Whether both texts of a body are the same, as far as that can be told by their bytes alone.
    #[inline]
    pub(super) fn is_surely(&self, other: Self, body: &[u8]) -> bool {
        self.span == other.span
            || (!self.has_escapes
                && !other.has_escapes
                && self.span.of(body) == other.span.of(body))
    }

    /// Tells whether the text is `expected`.
    pub(super) fn is(&self, expected: &[u8], body: &[u8]) -> bool {
        let raw = self.span.of(body);
        if self.has_escapes {
            text::decode_text(raw) == expected
        } else {
            raw == expected
        }
    }
}

/// What an open list or object is, while its values are stepped over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nest {
    List,
    Object,
}

/// A place in a body.
pub(super) struct Cursor<'a> {
    pub(super) body: &'a [u8],
    pub(super) at: usize,
    /// Kept from value to value, so that its memory is asked for once.
    nests: Vec<Nest>,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(body: &'a [u8], at: usize) -> Self {
        Self {
            body,
            at,
            nests: Vec::new(),
        }
    }

    /// The byte here; NUL, which stands nowhere in JSON, at the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        byte_at(self.body, self.at)
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
            has_escapes: false,
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
            has_escapes: found.has_escapes,
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

    /// Steps over the value that begins here.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        match self.peek() {
            b'{' | b'[' => self.skip_nested(),
            _ => self.skip_scalar(),
        }
    }

    /// Steps over the list or object that begins here, and all that is in it.
    fn skip_nested(&mut self) -> Result<(), Fault> {
        debug_assert!(
            self.nests.is_empty(),
            "no value is stepped over inside another"
        );
        // The innermost one that is open; those around it wait.
        let Some(mut nest) = self.enter()? else {
            return Ok(());
        };
        loop {
            if matches!(self.peek(), b'{' | b'[') {
                if let Some(inner) = self.enter()? {
                    self.nests.push(nest);
                    nest = inner;
                    continue;
                }
            } else {
                self.skip_scalar()?;
            }
            while !self.skip_to_next(nest)? {
                match self.nests.pop() {
                    Some(outer) => nest = outer,
                    None => return Ok(()),
                }
            }
        }
    }

    /// Steps over the opening of a list or object, and the name of its first member; `None` if it
    /// ends at once.
    #[inline]
    fn enter(&mut self) -> Result<Option<Nest>, Fault> {
        if self.peek() == b'[' {
            return Ok(self.has_first(b']').then_some(Nest::List));
        }
        if !self.has_first(b'}') {
            return Ok(None);
        }
        self.name()?;
        Ok(Some(Nest::Object))
    }

    /// Goes on behind a value to the next one of the list or object; `false` if that ends.
    #[inline]
    fn skip_to_next(&mut self, nest: Nest) -> Result<bool, Fault> {
        match nest {
            Nest::List => self.has_next(b']'),
            Nest::Object => {
                let has_next = self.has_next(b'}')?;
                if has_next {
                    self.name()?;
                }
                Ok(has_next)
            }
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "values of one byte are no longer than a call"
    )]
    fn skip_scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            b'"' => self.string().map(drop),
            first @ (b'-' | b'0'..=b'9') => self.skip_number(first),
            _ => self.skip_other(),
        }
    }

    #[inline(never)]
    fn skip_other(&mut self) -> Result<(), Fault> {
        match self.peek() {
            b't' => self.skip_word(b"true"),
            b'f' => self.skip_word(b"false"),
            b'n' => self.skip_word(b"null"),
            _ => self.error(Problem::ExpectingValue),
        }
    }

    fn skip_word(&mut self, word: &[u8]) -> Result<(), Fault> {
        if !self.body[self.at..].starts_with(word) {
            return self.error(Problem::ExpectingValue);
        }
        self.at += word.len();
        Ok(())
    }

    /// Steps over as much as is a number; what follows is looked at by whoever goes on.
    #[inline]
    fn skip_number(&mut self, first: u8) -> Result<(), Fault> {
        let start = self.at + usize::from(first == b'-');
        let mut at = match byte_at(self.body, start) {
            b'0' => start + 1,
            b'1'..=b'9' => behind_digits(self.body, start + 1),
            _ => return self.error(Problem::ExpectingValue),
        };
        if matches!(byte_at(self.body, at), b'.' | b'e' | b'E') {
            at = behind_fraction(self.body, at);
        }
        self.at = at;
        Ok(())
    }
}

#[cold]
fn fail<T>(problem: Problem, offset: usize) -> Result<T, Fault> {
    Err(JsonError::new(problem, offset).into())
}

/// The byte at a place; NUL, which stands nowhere in JSON, behind the end.
#[inline]
fn byte_at(body: &[u8], at: usize) -> u8 {
    body.get(at).copied().unwrap_or_default()
}

/// The first place from `at` on that is no blank.
#[inline]
fn behind_blanks(body: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = body.get(at)
        && byte <= b' '
        && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
    {
        at += 1;
    }
    at
}

#[inline]
fn behind_digits(body: &[u8], mut at: usize) -> usize {
    while byte_at(body, at).is_ascii_digit() {
        at += 1;
    }
    at
}

/// The place behind a fraction and an exponent, as far as they are some.
#[inline(never)]
fn behind_fraction(body: &[u8], at: usize) -> usize {
    let mut end = at;
    if byte_at(body, end) == b'.' {
        let behind = behind_digits(body, end + 1);
        end = if behind > end + 1 { behind } else { end };
    }
    if matches!(byte_at(body, end), b'e' | b'E') {
        let is_signed = matches!(byte_at(body, end + 1), b'+' | b'-');
        let digits = end + 1 + usize::from(is_signed);
        let behind = behind_digits(body, digits);
        end = if behind > digits { behind } else { end };
    }
    end
}
