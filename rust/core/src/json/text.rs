//! The texts of JSON strings: decoded to WTF-8, compared, fingerprinted.

use std::borrow::Cow;

use super::cursor::TextSpan;
use super::decode::decode_pieces;
use crate::fingerprint::{Fingerprint, Fingerprinter};
use crate::size::count_chars;
use crate::unit::{Measure, Unit};

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

/// Measures the text that several strings of a body make when they are joined.
#[must_use]
pub fn measure_spans(texts: &[TextSpan], body: &[u8], unit: Unit) -> u64 {
    let mut measure = Measure::new(unit);
    for text in texts {
        let raw = text.span.of(body);
        if text.has_escapes {
            decode_pieces(raw, |piece| measure.push(piece));
        } else {
            measure.push(raw);
        }
    }
    measure.finish()
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
