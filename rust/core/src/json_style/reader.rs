//! Reads JSON forward, and stops where the text ends or is no JSON.

use memchr::memchr3;

use crate::size::{count_chars, is_continuation};
use crate::source::Source;

use super::literal::Literal;

const PIECE_CHARS: usize = 1 << 14;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const HEX_DIGITS: usize = 4;

/// The beginning of a string or a literal as it is written, and its characters in all.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    pub(super) text: Vec<u8>,
    pub(super) chars: usize,
}

impl Beginning {
    /// Adds one character, or an escape that counts as one.
    fn push(&mut self, unit: &[u8], most_chars: usize) {
        if self.chars < most_chars {
            self.text.extend_from_slice(unit);
        }
        self.chars += 1;
    }

    /// Adds characters that are no escapes.
    fn extend(&mut self, run: &[u8], most_chars: usize) {
        let room_chars = most_chars.saturating_sub(self.chars);
        if room_chars > 0 {
            let mut starts = run
                .iter()
                .enumerate()
                .filter(|(_, byte)| !is_continuation(**byte));
            let end = starts.nth(room_chars).map_or(run.len(), |(at, _)| at);
            self.text.extend_from_slice(&run[..end]);
        }
        self.chars += usize::try_from(count_chars(run)).unwrap_or(usize::MAX);
    }
}

/// A place in a text, from which values are read or skipped.
///
/// Once it has stopped, nothing more can be read: the text has ended inside a value, or goes on with
/// something else.
pub(super) struct Reader<'s, S: Source + ?Sized> {
    source: &'s S,
    length_chars: usize,
    piece: Option<S::Bytes<'s>>,
    piece_start_chars: usize,
    at: usize,
    /// Bytes of the piece whose characters are counted, and those characters.
    counted: (usize, usize),
    pub(super) has_stopped: bool,
}

impl<'s, S: Source + ?Sized> Reader<'s, S> {
    pub(super) fn new(source: &'s S) -> Result<Self, S::Error> {
        let mut reader = Self {
            source,
            length_chars: source.length_chars(),
            piece: None,
            piece_start_chars: 0,
            at: 0,
            counted: (0, 0),
            has_stopped: false,
        };
        reader.seek(0)?;
        if reader.rest().starts_with(BYTE_ORDER_MARK) {
            reader.at = BYTE_ORDER_MARK.len();
        }
        Ok(reader)
    }

    /// Its place in characters.
    pub(super) fn position(&mut self) -> usize {
        let (bytes, chars) = self.counted;
        let more = count_chars(&self.piece()[bytes..self.at]);
        self.counted = (self.at, chars + usize::try_from(more).unwrap_or(usize::MAX));
        self.piece_start_chars + self.counted.1
    }

    /// Goes to a place in characters.
    pub(super) fn seek(&mut self, chars: usize) -> Result<(), S::Error> {
        let end = self.length_chars.min(chars.saturating_add(PIECE_CHARS));
        self.piece = Some(self.source.read(chars..end)?);
        self.piece_start_chars = chars;
        self.at = 0;
        self.counted = (0, 0);
        Ok(())
    }

    /// The next byte, whatever it is; nothing at the end.
    pub(super) fn byte(&mut self) -> Result<Option<u8>, S::Error> {
        if let Some(&byte) = self.rest().first() {
            return Ok(Some(byte));
        }
        let next = self.position();
        if next < self.length_chars {
            self.seek(next)?;
        }
        Ok(self.rest().first().copied())
    }

    /// The next byte that is no blank; nothing at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, S::Error> {
        loop {
            match self.byte()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Goes over the byte that [`Self::peek`] gave.
    pub(super) const fn go_on(&mut self) {
        self.at += 1;
    }

    /// Goes over a byte, which has to come next.
    pub(super) fn take(&mut self, expected: u8) -> Result<(), S::Error> {
        if self.peek()? == Some(expected) {
            self.at += 1;
        } else {
            self.has_stopped = true;
        }
        Ok(())
    }

    /// Reads a string.
    pub(super) fn string(&mut self, most_chars: usize) -> Result<Beginning, S::Error> {
        let start = self.position();
        self.at += 1;
        let mut read = Beginning::default();
        loop {
            let rest = self.rest();
            let run = memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
            read.extend(&rest[..run], most_chars);
            self.at += run;
            match self.byte()? {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(read);
                }
                Some(b'\\') => {
                    self.at += 1;
                    if self.byte()? == Some(b'\n') {
                        return self.stop_at(start);
                    }
                    self.escape(&mut read, most_chars)?;
                }
                Some(b'\n') => return self.stop_at(start),
                Some(_) => {}
                None => {
                    self.has_stopped = true;
                    return Ok(read);
                }
            }
        }
    }

    /// Reads what stands behind a backslash.
    fn escape(&mut self, read: &mut Beginning, most_chars: usize) -> Result<(), S::Error> {
        let Some(first) = self.byte()? else {
            read.chars += 1;
            return Ok(());
        };
        let rest = self.rest();
        let inside = rest[1..].iter().take_while(|&&byte| is_continuation(byte));
        let length = 1 + inside.count();
        let mut unit = b"\\".to_vec();
        unit.extend_from_slice(&rest[..length]);
        self.at += length;
        if first != b'u' {
            read.push(&unit, most_chars);
            return Ok(());
        }
        let mut digits = Vec::with_capacity(HEX_DIGITS);
        while digits.len() < HEX_DIGITS
            && let Some(digit) = self.byte()?
            && digit.is_ascii_hexdigit()
        {
            digits.push(digit);
            self.at += 1;
        }
        if digits.len() == HEX_DIGITS {
            unit.append(&mut digits);
        } else if self.byte()?.is_none() {
            // The text ends inside the escape.
            read.chars += 1 + digits.len();
            return Ok(());
        }
        read.push(&unit, most_chars);
        read.extend(&digits, most_chars);
        Ok(())
    }

    /// Reads a number or a name.
    pub(super) fn literal(&mut self, most_chars: usize) -> Result<Beginning, S::Error> {
        let start = self.position();
        let mut read = Beginning::default();
        let mut literal = Literal::Start;
        loop {
            match self.byte()? {
                None | Some(b' ' | b'\t' | b'\r' | b'\n' | b',' | b']' | b'}') => break,
                Some(byte) => match literal.next(byte) {
                    Some(next) => {
                        literal = next;
                        read.push(&[byte], most_chars);
                        self.at += 1;
                    }
                    None => return self.stop_at(start),
                },
            }
        }
        if literal.is_whole() {
            return Ok(read);
        }
        self.stop_at(start)
    }

    /// Goes over a value, and counts its items, or its keys.
    pub(super) fn skip(&mut self) -> Result<usize, S::Error> {
        match self.peek()? {
            Some(b'"') => self.string(0).map(|_| 0),
            Some(b'[' | b'{') => self.skip_container(),
            _ => self.literal(0).map(|_| 0),
        }
    }

    fn skip_container(&mut self) -> Result<usize, S::Error> {
        self.at += 1;
        let is_empty = matches!(self.peek()?, None | Some(b']' | b'}'));
        let mut count = usize::from(!is_empty);
        let mut depth = 1_usize;
        while depth > 0 {
            match self.byte()? {
                None => {
                    self.has_stopped = true;
                    break;
                }
                Some(b'"') => {
                    self.string(0)?;
                    if self.has_stopped {
                        break;
                    }
                    continue;
                }
                Some(b'[' | b'{') => depth += 1,
                Some(b']' | b'}') => depth -= 1,
                Some(b',') if depth == 1 => count += 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(count)
    }

    /// Stops before a value that is none.
    fn stop_at(&mut self, start_chars: usize) -> Result<Beginning, S::Error> {
        self.has_stopped = true;
        self.seek(start_chars)?;
        Ok(Beginning::default())
    }

    fn piece(&self) -> &[u8] {
        self.piece.as_ref().map_or(b"", |piece| piece.as_ref())
    }

    fn rest(&self) -> &[u8] {
        &self.piece()[self.at..]
    }
}
