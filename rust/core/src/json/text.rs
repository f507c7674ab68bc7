//! The texts of JSON strings: decoded to WTF-8, compared, fingerprinted.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::cursor::TextSpan;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::size::count_chars;

/// Decoded text is hashed whenever so much of it has come together: it is still in the cache then.
const PIECE_BYTES: usize = 1 << 14;

/// Looked at together while text is decoded.
const WORD_BYTES: usize = 8;

/// What an escape of one letter stands for.
const fn unescaped(letter: u8) -> u8 {
    match letter {
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

/// Decodes what stands between the quotes of a string that was stepped over.
///
/// ```
/// use toolbudget_core::json::decode_text;
///
/// assert_eq!(decode_text(br"a\n\u65e5\ud83d\ude00"), "a\n日😀".as_bytes());
/// assert_eq!(decode_text(br"\ud83d"), b"\xed\xa0\xbd");
/// ```
#[must_use]
pub fn decode_text(raw: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(raw.len());
    decode_pieces(raw, |piece| decoded.extend_from_slice(piece));
    decoded
}

/// Fingerprints the text that several strings of a body make when they are joined.
#[must_use]
pub fn fingerprint_spans(texts: &[TextSpan], body: &[u8]) -> Fingerprint {
    if let [text] = texts
        && !text.has_escapes
    {
        let raw = text.span.of(body);
        return Fingerprint::of(raw, count_chars(raw));
    }
    let mut fingerprinter = Fingerprinter::new();
    for text in texts {
        let raw = text.span.of(body);
        if text.has_escapes {
            decode_pieces(raw, |piece| fingerprinter.push(piece, count_chars(piece)));
        } else {
            fingerprinter.push(raw, count_chars(raw));
        }
    }
    fingerprinter.finish()
}

/// Decodes piece by piece. A piece may end inside a character.
fn decode_pieces(raw: &[u8], mut take: impl FnMut(&[u8])) {
    let mut piece = Vec::with_capacity(PIECE_BYTES.min(raw.len()) + WORD_BYTES);
    let mut rest = raw;
    while let Some(word) = rest.first_chunk::<WORD_BYTES>() {
        let plain = plain_bytes(u64::from_le_bytes(*word));
        // The whole word is written, and what does not belong there is overwritten next: copies of
        // one length are faster than those of just enough.
        let end = piece.len() + plain;
        piece.extend_from_slice(word);
        piece.truncate(end);
        rest = &rest[plain..];
        if plain < WORD_BYTES {
            rest = push_unescaped(&rest[1..], &mut piece);
        }
        if piece.len() >= PIECE_BYTES {
            take(&piece);
            piece.clear();
        }
    }
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'\\' {
            rest = push_unescaped(behind, &mut piece);
        } else {
            piece.push(byte);
            rest = behind;
        }
    }
    take(&piece);
}

/// How many bytes of a word, from the first on, are no backslash.
const fn plain_bytes(word: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let difference = word ^ (ONES * b'\\' as u64);
    // The lowest bit that is set is that of the first byte that is zero.
    let zeros = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
    (zeros.trailing_zeros() / 8) as usize
}

/// Adds what an escape stands for; `escape` begins behind its backslash. Gives what follows it.
fn push_unescaped<'a>(escape: &'a [u8], decoded: &mut Vec<u8>) -> &'a [u8] {
    let Some((&letter, rest)) = escape.split_first() else {
        return escape;
    };
    if letter != b'u' {
        decoded.push(unescaped(letter));
        return rest;
    }
    let Some((unit, rest)) = read_unit(rest) else {
        return rest;
    };
    if let Some((low, rest)) = read_low_surrogate(unit, rest) {
        push_code_point(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00), decoded);
        return rest;
    }
    push_code_point(unit, decoded);
    rest
}

/// The second half of a pair, if `unit` is a first one.
fn read_low_surrogate(unit: u32, rest: &[u8]) -> Option<(u32, &[u8])> {
    if !(0xD800..0xDC00).contains(&unit) {
        return None;
    }
    let (low, rest) = read_unit(rest.strip_prefix(br"\u")?)?;
    (0xDC00..0xE000).contains(&low).then_some((low, rest))
}

fn read_unit(rest: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = rest.split_first_chunk::<4>()?;
    let unit = digits.iter().try_fold(0, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | value)
    })?;
    Some((unit, rest))
}

/// Writes a code point, surrogates as if they were characters.
#[expect(
    clippy::cast_possible_truncation,
    reason = "each part is cut to what fits into its byte"
)]
fn push_code_point(point: u32, decoded: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (point >> shift & 0x3F) as u8;
    match point {
        0..0x80 => decoded.push(point as u8),
        0x80..0x800 => decoded.extend([0xC0 | (point >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => decoded.extend([0xE0 | (point >> 12) as u8, tail(6), tail(0)]),
        _ => decoded.extend([0xF0 | (point >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

/// A text of a body as a key: borrowed where its bytes are those of the body.
#[derive(Clone, Debug)]
pub enum JsonText<'a> {
    /// The bytes between the quotes.
    Raw(&'a [u8]),
    /// Text that had escapes.
    Decoded(Rc<[u8]>),
}

impl<'a> JsonText<'a> {
    /// The text of a span of `body`.
    #[must_use]
    pub fn new(text: TextSpan, body: &'a [u8]) -> Self {
        let raw = text.span.of(body);
        if text.has_escapes {
            Self::Decoded(decode_text(raw).into())
        } else {
            Self::Raw(raw)
        }
    }

    /// The text in WTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Raw(bytes) => bytes,
            Self::Decoded(bytes) => bytes,
        }
    }
}

impl Hash for JsonText<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq for JsonText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for JsonText<'_> {}

impl PartialEq<str> for JsonText<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
