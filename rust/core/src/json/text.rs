//! The texts of JSON strings: decoded to WTF-8, compared, fingerprinted.

use std::borrow::Cow;

use super::cursor::TextSpan;
use super::decode::{Room, decode_pieces};
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

/// Decodes as [`decode_text`] does, in pieces of whole characters and about so many bytes.
///
/// # Errors
///
/// The first error of `take`, which is not called again.
///
/// ```
/// use toolbudget_core::json::decode_whole_chars;
///
/// let mut pieces = Vec::new();
/// let done: Result<(), ()> = decode_whole_chars("日本\\n".as_bytes(), 4, |piece| {
///     pieces.push(piece.to_vec());
///     Ok(())
/// });
/// assert_eq!((done, pieces.concat()), (Ok(()), "日本\n".into()));
/// ```
pub fn decode_whole_chars<E>(
    raw: &[u8],
    piece_bytes: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut decoded = Vec::new();
    let mut taken = Ok(());
    decode_pieces(raw, |piece| {
        if taken.is_err() {
            return;
        }
        decoded.extend_from_slice(piece);
        if decoded.len() >= piece_bytes {
            // The last character may go on.
            let is_start = |byte: &u8| byte & 0xC0 != 0x80;
            let whole = decoded.iter().rposition(is_start).unwrap_or(0);
            taken = take(&decoded[..whole]);
            decoded.drain(..whole);
        }
    });
    taken.and_then(|()| take(&decoded))
}

/// Fingerprints texts, one after the other.
#[derive(Default)]
pub(super) struct SpanReader(Room);

impl SpanReader {
    /// Fingerprints the text that several strings of a body make when they are joined.
    pub(super) fn fingerprint(&mut self, texts: &[TextSpan], body: &[u8]) -> Fingerprint {
        match texts {
            [text] if !text.has_escapes() => {
                let raw = text.span.of(body);
                Fingerprint::of(raw, count_chars(raw))
            }
            [text] if Room::is_for_whole(text.span.of(body)) => {
                let mut fingerprint = Fingerprint::of(&[], 0);
                self.0.decode_pieces(text.span.of(body), |piece| {
                    fingerprint = Fingerprint::of(piece, count_chars(piece));
                });
                fingerprint
            }
            _ => self.fingerprint_pieces(texts, body),
        }
    }

    fn fingerprint_pieces(&mut self, texts: &[TextSpan], body: &[u8]) -> Fingerprint {
        let mut fingerprinter = Fingerprinter::new();
        let mut push = |piece: &[u8]| fingerprinter.push(piece, count_chars(piece));
        for text in texts {
            let raw = text.span.of(body);
            if text.has_escapes() {
                self.0.decode_pieces(raw, &mut push);
            } else {
                push(raw);
            }
        }
        fingerprinter.finish()
    }
}

/// Measures the text that several strings of a body make when they are joined.
#[must_use]
pub fn measure_spans(texts: &[TextSpan], body: &[u8], unit: Unit) -> u64 {
    let mut measure = Measure::new(unit);
    for text in texts {
        let raw = text.span.of(body);
        if text.has_escapes() {
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
    if text.has_escapes() {
        decode_text(raw).into()
    } else {
        raw.into()
    }
}
