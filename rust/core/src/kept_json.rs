//! The kept results of a record, as JSON.

use std::collections::TryReserveError;
use std::mem;

use crate::Fingerprint;

/// A character of an id becomes two escapes at most; only one of four bytes becomes two.
const ESCAPED_BYTES: usize = 6;
/// What an entry takes beside its id: quotes, brackets, commas, a number and a hash.
const ENTRY_BYTES: usize = 64;
const HASH_CHARS: usize = 32;
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lists of results as records name them: id, size and hash.
///
/// ```
/// use toolbudget_core::{Fingerprint, KeptJson};
///
/// let mut kept = KeptJson::new(1_000);
/// kept.add("té".as_bytes(), 2, Fingerprint::of(b"abc", 3))?;
/// let expected = r#"[["t\u00e9",3,"06b05ab6733a618578af5f94892f3950"]]"#;
/// assert_eq!(kept.into_parts(), [expected.as_bytes()]);
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Debug)]
pub struct KeptJson {
    max_part_chars: usize,
    parts: Vec<Vec<u8>>,
    /// The last part, not ended.
    part: Vec<u8>,
    chars: usize,
}

impl KeptJson {
    /// Begins with an empty list; more than `max_part_chars` of ids and hashes begin another one.
    #[must_use]
    pub fn new(max_part_chars: usize) -> Self {
        Self {
            max_part_chars,
            parts: Vec::new(),
            part: vec![b'['],
            chars: 0,
        }
    }

    /// Adds a result; an id in WTF-8 that JSON cannot tell from another one is left out.
    ///
    /// # Errors
    ///
    /// There is no room for it; then nothing else is to be done with this.
    pub fn add(
        &mut self,
        tool_use_id: &[u8],
        id_chars: usize,
        fingerprint: Fingerprint,
    ) -> Result<(), TryReserveError> {
        // Nearly always all of it is: to look at many bytes at once is quicker than to stop early.
        let is_plain = tool_use_id
            .iter()
            .fold(true, |is_so_far, byte| is_so_far & is_plain(*byte));
        if !is_plain && has_surrogate_pair(tool_use_id) {
            return Ok(());
        }
        if self.chars > self.max_part_chars {
            self.end_part();
        }
        let escaped_bytes = if is_plain { 1 } else { ESCAPED_BYTES };
        let id_bytes = tool_use_id.len().saturating_mul(escaped_bytes);
        self.part
            .try_reserve(id_bytes.saturating_add(ENTRY_BYTES))?;
        let begins_part = self.part.len() == 1;
        self.part
            .extend_from_slice(if begins_part { b"[\"" } else { b",[\"" });
        if is_plain {
            self.part.extend_from_slice(tool_use_id);
        } else {
            code_points(tool_use_id).for_each(|code_point| self.escape(code_point));
        }
        self.part.extend_from_slice(b"\",");
        self.number(fingerprint.size_chars);
        self.part.extend_from_slice(b",\"");
        self.part.extend_from_slice(&fingerprint.hash.to_hex());
        self.part.extend_from_slice(b"\"]");
        self.chars = self.chars.saturating_add(id_chars + HASH_CHARS);
        Ok(())
    }

    /// The lists; at least one.
    #[must_use]
    pub fn into_parts(mut self) -> Vec<Vec<u8>> {
        self.end_part();
        self.parts
    }

    fn end_part(&mut self) {
        self.part.push(b']');
        self.parts.push(mem::replace(&mut self.part, vec![b'[']));
        self.chars = 0;
    }

    fn number(&mut self, mut number: u64) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] += (number % 10).to_le_bytes()[0];
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.part.extend_from_slice(&digits[first..]);
    }

    fn escape(&mut self, code_point: u32) {
        let short = match code_point {
            0x22 => b'"',
            0x5c => b'\\',
            0x08 => b'b',
            0x09 => b't',
            0x0a => b'n',
            0x0c => b'f',
            0x0d => b'r',
            _ => return self.escape_long(code_point),
        };
        self.part.extend_from_slice(&[b'\\', short]);
    }

    fn escape_long(&mut self, code_point: u32) {
        let byte = code_point.to_le_bytes()[0];
        if code_point < 0x80 && is_plain(byte) {
            self.part.push(byte);
        } else if let Some(beyond) = code_point.checked_sub(0x1_0000) {
            self.escape_unit(0xd800 + (beyond >> 10));
            self.escape_unit(0xdc00 + (beyond & 0x3ff));
        } else {
            self.escape_unit(code_point);
        }
    }

    fn escape_unit(&mut self, unit: u32) {
        self.part.extend_from_slice(b"\\u");
        for shift in [12, 8, 4, 0] {
            self.part.push(HEX_DIGITS[(unit >> shift & 0xf) as usize]);
        }
    }
}

/// Whether a byte stands for itself in JSON that is printable ASCII alone.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// Whether two surrogates stand side by side which JSON cannot tell from a single character.
fn has_surrogate_pair(text: &[u8]) -> bool {
    let mut is_high = false;
    code_points(text).any(|code_point| {
        let follows_high = mem::replace(&mut is_high, (0xd800..0xdc00).contains(&code_point));
        follows_high && (0xdc00..0xe000).contains(&code_point)
    })
}

/// The characters of a text in WTF-8, a lone surrogate as one.
fn code_points(mut text: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let (&first, rest) = text.split_first()?;
        let (bits, more_bytes) = match first {
            0..0x80 => (first, 0),
            0x80..0xe0 => (first & 0x1f, 1),
            0xe0..0xf0 => (first & 0x0f, 2),
            _ => (first & 0x07, 3),
        };
        let (more, rest) = rest.split_at(more_bytes.min(rest.len()));
        text = rest;
        let code_point = more.iter().fold(u32::from(bits), |code_point, byte| {
            code_point << 6 | u32::from(byte & 0x3f)
        });
        Some(code_point)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(ids: &[&[u8]], max_part_chars: usize) -> Vec<String> {
        let mut kept = KeptJson::new(max_part_chars);
        for id in ids {
            let added = kept.add(id, id.len(), Fingerprint::of(b"", 0));
            assert_eq!(added, Ok(()));
        }
        let parts = kept.into_parts().into_iter();
        let hash = Fingerprint::of(b"", 0).hash.to_string();
        parts
            .map(|part| String::from_utf8_lossy(&part).replace(&hash, "#"))
            .collect()
    }

    #[test]
    fn ids_become_ascii() {
        let id = "\u{8}\t\n\u{c}\r\"\\/ ~\u{0}\u{7f}\u{e9}\u{20ac}\u{1f600}";
        let expected = r##"[["\b\t\n\f\r\"\\/ ~\u0000\u007f\u00e9\u20ac\ud83d\ude00",0,"#"]]"##;
        assert_eq!(written(&[id.as_bytes()], 100), [expected]);
    }

    #[test]
    fn a_lone_surrogate_is_written_and_a_pair_is_left_out() {
        let (high, low, pair) = (
            b"\xed\xa0\xbd",
            b"\xed\xb8\x80",
            b"\xed\xa0\xbd\xed\xb8\x80",
        );
        let expected = r##"[["\ud83d",0,"#"],["\ude00",0,"#"]]"##;
        assert_eq!(written(&[high, pair, low], 100), [expected]);
    }

    #[test]
    fn a_part_ends_once_it_is_too_long() {
        let expected = [r##"[["a",0,"#"],["b",0,"#"]]"##, r##"[["c",0,"#"]]"##];
        assert_eq!(written(&[b"a", b"b", b"c"], 33), expected);
        assert_eq!(written(&[], 0), ["[]"]);
    }

    #[test]
    fn sizes_are_written_in_full() {
        let mut kept = KeptJson::new(0);
        let sizes = [0, 10, 109, u64::MAX];
        for size_chars in sizes {
            let hash = Fingerprint::of(b"", 0).hash;
            assert_eq!(kept.add(b"", 0, Fingerprint { size_chars, hash }), Ok(()));
        }
        for (part, size_chars) in kept.into_parts().iter().zip(sizes) {
            let part = String::from_utf8_lossy(part).into_owned();
            assert!(
                part.starts_with(&format!("[[\"\",{size_chars},\"")),
                "{part}"
            );
        }
    }
}
