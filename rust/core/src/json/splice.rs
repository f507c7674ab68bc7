//! New values in a body.

use std::borrow::Cow;

use super::cursor::Span;
use super::event::ResultSpan;

/// Bytes that stand in the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// What they stand in for.
    pub span: Span,
    /// The new bytes.
    pub data: Vec<u8>,
}

/// Puts `text`, in WTF-8, in the place of a result's content, in the form that this has.
#[must_use]
pub fn replace_content(result: &ResultSpan, text: &[u8], body: &[u8]) -> Splice {
    let mut data = Vec::with_capacity(text.len() + text.len() / 16 + 64);
    let is_list = body.get(result.content.start) == Some(&b'[');
    if is_list {
        data.extend_from_slice(br#"[{"type":"text","text":"#);
    }
    encode_text(text, &mut data);
    if is_list {
        if let Some(cache_control) = result.cache_control {
            data.extend_from_slice(br#","cache_control":"#);
            data.extend_from_slice(cache_control.of(body));
        }
        data.extend_from_slice(b"}]");
    }
    Splice {
        span: result.content,
        data,
    }
}

/// Writes a text in WTF-8 as a JSON string in ASCII, as Python's `json.dumps` does.
///
/// ```
/// let mut json = Vec::new();
/// toolbudget_core::json::encode_text("\u{e9}\n\u{1f600}".as_bytes(), &mut json);
/// assert_eq!(json, br#""\u00e9\n\ud83d\ude00""#);
/// ```
pub fn encode_text(text: &[u8], json: &mut Vec<u8>) {
    json.push(b'"');
    let mut rest = text;
    while let Some(place) = find_special(rest) {
        json.extend_from_slice(&rest[..place]);
        rest = encode_char(&rest[place..], json);
    }
    json.extend_from_slice(rest);
    json.push(b'"');
}

/// The first byte that does not stand for itself.
fn find_special(text: &[u8]) -> Option<usize> {
    let words = text.as_chunks::<8>().0.iter();
    let plain_words = words.take_while(|word| is_plain_word(u64::from_le_bytes(**word)));
    let start = 8 * plain_words.count();
    let place = text[start..].iter().position(|&byte| !is_plain(byte))?;
    Some(start + place)
}

/// Whether each of eight bytes is plain; `false` may be said of plain ones that follow others.
const fn is_plain_word(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    const BLANK: u64 = b' ' as u64;
    const SPECIAL: [u64; 3] = [b'"' as u64, b'\\' as u64, 0x7F];
    let mut found = word | word.wrapping_sub(ONES * BLANK) & !word;
    let mut index = 0;
    while index < SPECIAL.len() {
        let difference = word ^ (ONES * SPECIAL[index]);
        found |= difference.wrapping_sub(ONES) & !difference;
        index += 1;
    }
    found & HIGH == 0
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// Writes the first character of a text as an escape; gives the rest.
fn encode_char<'a>(text: &'a [u8], json: &mut Vec<u8>) -> &'a [u8] {
    let (point, length) = first_code_point(text);
    let short: Cow<'_, [u8]> = match point {
        0x22 => br#"\""#.into(),
        0x5C => br"\\".into(),
        0x0A => br"\n".into(),
        0x0D => br"\r".into(),
        0x09 => br"\t".into(),
        0x0C => br"\f".into(),
        0x08 => br"\b".into(),
        0..0x1_0000 => format!("\\u{point:04x}").into_bytes().into(),
        _ => {
            let above = point - 0x1_0000;
            let (high, low) = (0xD800 + (above >> 10), 0xDC00 + (above & 0x3FF));
            format!("\\u{high:04x}\\u{low:04x}").into_bytes().into()
        }
    };
    json.extend_from_slice(&short);
    &text[length..]
}

/// The code point that text in WTF-8 begins with, and how many bytes it takes.
fn first_code_point(text: &[u8]) -> (u32, usize) {
    let first = u32::from(text[0]);
    let length = match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
    .min(text.len());
    let lead = if length == 1 {
        first
    } else {
        first & (0x7F >> length)
    };
    let tail = text[1..length].iter();
    let point = tail.fold(lead, |point, &byte| point << 6 | u32::from(byte & 0x3F));
    (point, length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_is_read_back(text in "[ -~]{0,20}[\\x00-\\x7F\"\\\\é日😀]{0,20}.{0,20}") {
            let mut json = Vec::new();
            encode_text(text.as_bytes(), &mut json);
            prop_assert!(json.is_ascii());
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn the_first_special_byte_is_found(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let expected = text.iter().position(|&byte| !is_plain(byte));
            prop_assert_eq!(find_special(&text), expected);
        }
    }
}
