//! Stepping over JSON text, value by value, by the grammar.

use super::error::{JsonError, Problem};
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

/// What stands between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// Without the quotes.
    pub span: Span,
    /// Whether the text is other bytes than those in between.
    pub has_escapes: bool,
}

impl TextSpan {
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
        self.body.get(self.at).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.body.len()
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    pub(super) const fn error<T>(&self, problem: Problem) -> Result<T, JsonError> {
        Err(JsonError::new(problem, self.at))
    }

    /// Steps over the string that begins here.
    #[inline]
    pub(super) fn string(&mut self) -> Result<TextSpan, JsonError> {
        let start = self.at + 1;
        let Some(found) = skip::find_end(self.body, start) else {
            return Err(skip::diagnose(self.body, start));
        };
        let span = Span {
            start,
            end: found.place,
        };
        if !found.is_ascii
            && let Err(error) = std::str::from_utf8(span.of(self.body))
        {
            return Err(JsonError::new(
                Problem::NotUtf8,
                start + error.valid_up_to(),
            ));
        }
        self.at = found.place + 1;
        Ok(TextSpan {
            span,
            has_escapes: found.has_escapes,
        })
    }

    /// Steps over the name of a member, its colon and the blanks around that.
    #[inline]
    pub(super) fn name(&mut self) -> Result<TextSpan, JsonError> {
        if self.peek() != b'"' {
            return self.error(Problem::ExpectingName);
        }
        let name = self.string()?;
        self.skip_blanks();
        if self.peek() != b':' {
            return self.error(Problem::ExpectingColon);
        }
        self.at += 1;
        self.skip_blanks();
        Ok(name)
    }

    /// Steps over the value that begins here, and gives it if it is a string.
    pub(super) fn text(&mut self) -> Result<Option<TextSpan>, JsonError> {
        if self.peek() == b'"' {
            return self.string().map(Some);
        }
        self.skip_value()?;
        Ok(None)
    }

    /// Steps over the value that begins here; tells whether it is something else than `null`.
    pub(super) fn is_something(&mut self) -> Result<bool, JsonError> {
        let is_null = self.peek() == b'n';
        self.skip_value()?;
        Ok(!is_null)
    }

    /// Steps over the comma before the next item, or over the end of a list or object; tells
    /// whether there is another one.
    #[inline]
    pub(super) fn has_next(&mut self, closing: u8) -> Result<bool, JsonError> {
        self.skip_blanks();
        let byte = self.peek();
        if byte == b',' {
            self.at += 1;
            self.skip_blanks();
            return Ok(true);
        }
        if byte == closing {
            self.at += 1;
            return Ok(false);
        }
        self.error(Problem::ExpectingComma)
    }

    /// Steps over the opening of a list or object; tells whether there is anything in it.
    #[inline]
    pub(super) fn has_first(&mut self, closing: u8) -> bool {
        self.at += 1;
        self.skip_blanks();
        if self.peek() == closing {
            self.at += 1;
            return false;
        }
        true
    }

    /// Steps over the value that begins here.
    pub(super) fn skip_value(&mut self) -> Result<(), JsonError> {
        debug_assert!(
            self.nests.is_empty(),
            "no value is stepped over inside another"
        );
        loop {
            let opened = match self.peek() {
                b'{' => self.enter_object()?,
                b'[' => self.has_first(b']').then_some(Nest::List),
                _ => {
                    self.skip_scalar()?;
                    None
                }
            };
            if let Some(nest) = opened {
                self.nests.push(nest);
            } else if !self.skip_to_next()? {
                return Ok(());
            }
        }
    }

    /// Steps over the opening of an object and the name of its first member, if it has any.
    #[inline]
    fn enter_object(&mut self) -> Result<Option<Nest>, JsonError> {
        if !self.has_first(b'}') {
            return Ok(None);
        }
        self.name()?;
        Ok(Some(Nest::Object))
    }

    /// Goes on behind a value, out of every list and object that ends; `false` if nothing is open.
    #[inline]
    fn skip_to_next(&mut self) -> Result<bool, JsonError> {
        while let Some(nest) = self.nests.last() {
            let has_next = match nest {
                Nest::List => self.has_next(b']')?,
                Nest::Object => {
                    let has_next = self.has_next(b'}')?;
                    if has_next {
                        self.name()?;
                    }
                    has_next
                }
            };
            if has_next {
                return Ok(true);
            }
            self.nests.pop();
        }
        Ok(false)
    }

    fn skip_scalar(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.skip_word(b"true"),
            b'f' => self.skip_word(b"false"),
            b'n' => self.skip_word(b"null"),
            _ => self.error(Problem::ExpectingValue),
        }
    }

    fn skip_word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if !self.body[self.at..].starts_with(word) {
            return self.error(Problem::ExpectingValue);
        }
        self.at += word.len();
        Ok(())
    }

    /// Steps over as much as is a number; what follows is looked at by whoever goes on.
    fn skip_number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let mut end = start + usize::from(self.peek() == b'-');
        match self.body.get(end) {
            Some(b'0') => end += 1,
            Some(b'1'..=b'9') => end = self.behind_digits(end),
            _ => return self.error(Problem::ExpectingValue),
        }
        if self.body.get(end) == Some(&b'.') {
            let behind = self.behind_digits(end + 1);
            end = if behind > end + 1 { behind } else { end };
        }
        if matches!(self.body.get(end), Some(b'e' | b'E')) {
            let is_signed = matches!(self.body.get(end + 1), Some(b'+' | b'-'));
            let digits = end + 1 + usize::from(is_signed);
            let behind = self.behind_digits(digits);
            end = if behind > digits { behind } else { end };
        }
        self.at = end;
        Ok(())
    }

    fn behind_digits(&self, start: usize) -> usize {
        let digits = self.body.get(start..).unwrap_or_default();
        let length = digits.iter().position(|byte| !byte.is_ascii_digit());
        start + length.unwrap_or(digits.len())
    }
}
