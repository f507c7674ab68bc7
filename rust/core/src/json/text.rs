//! The texts of JSON strings: decoded to WTF-8, compared, fingerprinted.

use std::borrow::Cow;

use super::cursor::TextSpan;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::size::count_chars;

/// Decoded text is hashed whenever so much of it has come together: it is still in the cache then.
const PIECE_BYTES: usize = 1 << 12;

/// Looked at together while text is decoded.
const STEP_BYTES: usize = 16;

/// What an escape of one letter stands for.
#[inline]
const fn unescaped(letter: u8) -> u8 {
    const BY_LETTER: [u8; 256] = {
        let mut table = [0; 256];
        let mut letter = 0_u8;
        while letter < u8::MAX {
            table[letter as usize] = letter;
            letter += 1;
        }
        table[b'b' as usize] = 0x08;
        table[b'f' as usize] = 0x0C;
        table[b'n' as usize] = b'\n';
        table[b'r' as usize] = b'\r';
        table[b't' as usize] = b'\t';
        table
    };
    BY_LETTER[letter as usize]
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
    let mut piece = [0; PIECE_BYTES + STEP_BYTES];
    let mut size = 0;
    let mut rest = raw;
    while let Some(step) = rest.first_chunk::<STEP_BYTES>() {
        // The whole step is copied, and what does not belong there is overwritten next: copies of
        // one length are faster than those of just enough.
        piece[size..size + STEP_BYTES].copy_from_slice(step);
        let plain = plain_bytes(step);
        size += plain;
        rest = &rest[plain..];
        match rest {
            _ if plain == STEP_BYTES => {}
            [_, letter, behind @ ..] if *letter != b'u' => {
                piece[size] = unescaped(*letter);
                size += 1;
                rest = behind;
            }
            _ => {
                let escape = unescape(rest.get(1..).unwrap_or_default());
                piece[size..size + escape.size].copy_from_slice(&escape.bytes[..escape.size]);
                size += escape.size;
                rest = escape.rest;
            }
        }
        if size >= PIECE_BYTES - STEP_BYTES {
            take(&piece[..size]);
            size = 0;
        }
    }
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'\\' {
            let escape = unescape(behind);
            piece[size..size + escape.size].copy_from_slice(&escape.bytes[..escape.size]);
            size += escape.size;
            rest = escape.rest;
        } else {
            piece[size] = byte;
            size += 1;
            rest = behind;
        }
    }
    take(&piece[..size]);
}

/// How many bytes of a step, from the first on, are no backslash.
fn plain_bytes(step: &[u8; STEP_BYTES]) -> usize {
    const ONES: u128 = u128::MAX / 0xFF;
    let difference = u128::from_le_bytes(*step) ^ (ONES * u128::from(b'\\'));
    // The lowest bit that is set is that of the first byte that is zero.
    let zeros = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
    (zeros.trailing_zeros() / 8) as usize
}

/// What an escape stands for.
struct Unescaped<'a> {
    bytes: [u8; 4],
    size: usize,
    /// What follows the escape.
    rest: &'a [u8],
}

/// Reads an escape, which begins behind its backslash.
#[cold]
fn unescape(escape: &[u8]) -> Unescaped<'_> {
    let Some((&letter, rest)) = escape.split_first() else {
        return Unescaped {
            bytes: [0; 4],
            size: 0,
            rest: escape,
        };
    };
    if letter == b'u' {
        return unescape_units(rest);
    }
    Unescaped {
        bytes: [unescaped(letter), 0, 0, 0],
        size: 1,
        rest,
    }
}

/// Reads the digits of an escape, and the escape behind it if both make one character.
fn unescape_units(digits: &[u8]) -> Unescaped<'_> {
    let Some((unit, rest)) = read_unit(digits) else {
        return Unescaped {
            bytes: [0; 4],
            size: 0,
            rest: digits,
        };
    };
    if let Some((low, rest)) = read_low_surrogate(unit, rest) {
        let point = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        return encoded(point, rest);
    }
    encoded(unit, rest)
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

/// The bytes of a code point, surrogates as if they were characters.
#[expect(
    clippy::cast_possible_truncation,
    reason = "each part is cut to what fits into its byte"
)]
const fn encoded(point: u32, rest: &[u8]) -> Unescaped<'_> {
    let tail = [
        0x80 | (point & 0x3F) as u8,
        0x80 | (point >> 6 & 0x3F) as u8,
        0x80 | (point >> 12 & 0x3F) as u8,
    ];
    let (bytes, size) = match point {
        0..0x80 => ([point as u8, 0, 0, 0], 1),
        0x80..0x800 => ([0xC0 | (point >> 6) as u8, tail[0], 0, 0], 2),
        0x800..0x1_0000 => ([0xE0 | (point >> 12) as u8, tail[1], tail[0], 0], 3),
        _ => ([0xF0 | (point >> 18) as u8, tail[2], tail[1], tail[0]], 4),
    };
    Unescaped { bytes, size, rest }
}

/// A text of a body in WTF-8: borrowed where its bytes are those of the body.
pub type JsonText<'a> = Cow<'a, [u8]>;

/// The text of a span of `body`.
#[must_use]
pub fn text_of(text: TextSpan, body: &[u8]) -> JsonText<'_> {
    let raw = text.span.of(body);
    if text.has_escapes {
        decode_text(raw).into()
    } else {
        raw.into()
    }
}
