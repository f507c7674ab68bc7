//! Stepping over a value, whatever it is and however deep: without recursion, and without leaving
//! registers for each byte of structure.

use super::cursor::{Cursor, behind_blanks, byte_at, fail};
use super::error::{Fault, Problem};
use super::skip;

/// The lists and objects that are open: a bit for each, the innermost one lowest.
#[derive(Clone, Copy, Default)]
struct Open {
    /// The innermost 64 levels, those in full words excepted; 1 is an object.
    levels: u64,
    depth: usize,
}

impl Open {
    #[inline]
    fn enter(&mut self, is_object: bool) {
        self.levels = self.levels << 1 | u64::from(is_object);
        self.depth += 1;
    }

    /// Keeps the levels if they are a full word, before one more is opened.
    #[inline]
    fn keep_full(self, full_words: &mut Vec<u64>) {
        if self.is_between_words() {
            keep(self.levels, full_words);
        }
    }

    #[inline]
    fn leave(&mut self, full_words: &mut Vec<u64>) {
        self.levels >>= 1;
        self.depth -= 1;
        if self.is_between_words() {
            self.levels = full_words.pop().unwrap_or_default();
        }
    }

    const fn is_between_words(self) -> bool {
        self.depth.is_multiple_of(u64::BITS as usize)
    }

    const fn is_object(self) -> bool {
        self.levels & 1 == 1
    }

    /// What ends the innermost one.
    const fn closing(self) -> u8 {
        if self.is_object() { b'}' } else { b']' }
    }
}

/// Apart, so that whoever calls it has its registers for what is frequent.
#[cold]
fn keep(word: u64, full_words: &mut Vec<u64>) {
    full_words.push(word);
}

impl Cursor<'_> {
    /// Steps over the value that begins here.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        match self.peek() {
            b'{' | b'[' => self.skip_nested(),
            _ => self.skip_scalar(),
        }
    }

    /// Steps over the list or object that begins here, and all that is in it.
    fn skip_nested(&mut self) -> Result<(), Fault> {
        let is_object = self.peek() == b'{';
        if !self.has_first(if is_object { b'}' } else { b']' }) {
            return Ok(());
        }
        let mut open = Open::default();
        open.enter(is_object);
        if is_object {
            self.name()?;
        }
        self.skip_items(open)
    }

    /// Steps over everything up to the end of all that is open; a value begins here.
    fn skip_items(&mut self, mut open: Open) -> Result<(), Fault> {
        let body = self.body;
        let mut full_words = Vec::new();
        // Not that of the cursor, which would be read from memory and written back for each byte.
        let (mut at, mut byte) = (self.at, self.peek());
        loop {
            match byte {
                b'[' => {
                    (at, byte) = next_byte(body, at + 1);
                    if byte != b']' {
                        open.keep_full(&mut full_words);
                        open.enter(false);
                        continue;
                    }
                    (at, byte) = next_byte(body, at + 1);
                }
                b'{' => {
                    (at, byte) = next_byte(body, at + 1);
                    if byte != b'}' {
                        open.keep_full(&mut full_words);
                        open.enter(true);
                        (at, byte) = self.behind_name(at)?;
                        continue;
                    }
                    (at, byte) = next_byte(body, at + 1);
                }
                _ => (at, byte) = self.behind_scalar(byte, at)?,
            }
            // What ends here, and all around it that ends with it.
            while byte != b',' {
                if byte != open.closing() {
                    return fail(Problem::ExpectingComma, at);
                }
                open.leave(&mut full_words);
                if open.depth == 0 {
                    self.at = at + 1;
                    return Ok(());
                }
                (at, byte) = next_byte(body, at + 1);
            }
            (at, byte) = next_byte(body, at + 1);
            if open.is_object() {
                (at, byte) = self.behind_name(at)?;
            }
        }
    }

    /// The place behind the name of a member, its colon and the blanks around that.
    #[inline(never)]
    fn behind_name(&mut self, at: usize) -> Result<(usize, u8), Fault> {
        self.at = at;
        self.name()?;
        Ok((self.at, self.peek()))
    }

    /// The place behind a value that is no list and no object, and the blanks behind that.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "values of one byte are no longer than a call"
    )]
    fn behind_scalar(&mut self, first: u8, at: usize) -> Result<(usize, u8), Fault> {
        match behind_simple(self.body, first, at) {
            Some(behind) => Ok(next_byte(self.body, behind)),
            None => self.behind_any_scalar(at),
        }
    }

    #[inline(never)]
    fn behind_any_scalar(&mut self, at: usize) -> Result<(usize, u8), Fault> {
        self.at = at;
        self.skip_scalar()?;
        Ok(next_byte(self.body, self.at))
    }

    fn skip_scalar(&mut self) -> Result<(), Fault> {
        self.at = match self.peek() {
            b'"' => return self.string().map(drop),
            b'-' | b'0'..=b'9' => behind_number(self.body, self.at)?,
            first => behind_word(self.body, first, self.at)?,
        };
        Ok(())
    }
}

/// The first place from `at` on that is no blank, and the byte there.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as a rule there is no blank")]
fn next_byte(body: &[u8], at: usize) -> (usize, u8) {
    let byte = byte_at(body, at);
    if byte > b' ' {
        (at, byte)
    } else {
        behind_some_blanks(body, at)
    }
}

#[inline(never)]
fn behind_some_blanks(body: &[u8], at: usize) -> (usize, u8) {
    let at = behind_blanks(body, at);
    (at, byte_at(body, at))
}

/// The place behind a short string or a number of digits alone: what there is most of. `None` says
/// nothing about the value.
#[inline]
fn behind_simple(body: &[u8], first: u8, at: usize) -> Option<usize> {
    match first {
        b'"' => skip::find_near_end(body, at + 1).map(|end| end + 1),
        b'1'..=b'9' => {
            let end = behind_digits(body, at + 1);
            (!matches!(byte_at(body, end), b'.' | b'e' | b'E')).then_some(end)
        }
        _ => None,
    }
}

fn behind_word(body: &[u8], first: u8, at: usize) -> Result<usize, Fault> {
    let word: &[u8] = match first {
        b't' => b"true",
        b'f' => b"false",
        b'n' => b"null",
        _ => return fail(Problem::ExpectingValue, at),
    };
    if body[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        fail(Problem::ExpectingValue, at)
    }
}

/// The place behind as much as is a number; what follows is looked at by whoever goes on.
fn behind_number(body: &[u8], at: usize) -> Result<usize, Fault> {
    let start = at + usize::from(byte_at(body, at) == b'-');
    let end = match byte_at(body, start) {
        b'0' => start + 1,
        b'1'..=b'9' => behind_digits(body, start + 1),
        _ => return fail(Problem::ExpectingValue, at),
    };
    Ok(match byte_at(body, end) {
        b'.' | b'e' | b'E' => behind_fraction(body, end),
        _ => end,
    })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::error::JsonError;
    use super::*;

    fn skip(body: &str) -> Result<usize, JsonError> {
        let mut cursor = Cursor::new(body.as_bytes(), 0);
        cursor.skip_value().map_err(|error| *error)?;
        Ok(cursor.at)
    }

    proptest! {
        /// However deep: what is open ends with its own bracket, in the order in which it began.
        #[test]
        fn each_level_ends_as_it_began(
            objects in prop::collection::vec(any::<bool>(), 1..300),
            wrong in prop::option::of(0_usize..300),
            blank in prop::sample::select(vec!["", " ", "\r\n\t"]),
        ) {
            let mut body = String::new();
            for is_object in &objects {
                body += if *is_object { "{\"a\":" } else { "[[], {}, " };
                body += blank;
            }
            body += "7";
            let mut expected = None;
            for (level, is_object) in objects.iter().enumerate().rev() {
                body += blank;
                let is_wrong = wrong == Some(level);
                if is_wrong {
                    expected = Some(JsonError::new(Problem::ExpectingComma, body.len()));
                }
                body += if *is_object == is_wrong { "]" } else { "}" };
            }
            let end = body.len();
            prop_assert_eq!(skip(&(body + ",")), expected.map_or(Ok(end), Err));
        }
    }
}
