//! Decoding what stands between the quotes of a string that was stepped over.

#[cfg(target_arch = "x86_64")]
#[path = "decode/x86.rs"]
mod machine;
#[cfg(not(target_arch = "x86_64"))]
mod machine {
    //! Any other machine.

    pub(super) const fn has_blocks() -> bool {
        false
    }

    pub(super) const fn decode_blocks(_raw: &[u8], _room: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }

    pub(super) use super::plain_bytes;
}

/// Decoded at once where the machine can do that.
const BLOCK_BYTES: usize = 64;

/// Decoded text is taken whenever so much of it has come together: it is still in the cache then.
const PIECE_BYTES: usize = 1 << 12;

/// Pieces of texts that are decoded in the same room: most are one piece, which is hashed at once.
const ROOM_BYTES: usize = 1 << 14;

/// Texts with fewer bytes are decoded at once, in less room.
const SHORT_BYTES: usize = 1 << 9;

/// Looked at together while text is decoded.
const STEP_BYTES: usize = 32;

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

/// Room for many texts, one after the other: to make it ready takes as long as to decode a text.
#[derive(Default)]
pub(super) struct Room(Vec<u8>);

impl Room {
    /// Whether [`decode_pieces`](Self::decode_pieces) gives the text as one piece.
    pub(super) const fn is_for_whole(raw: &[u8]) -> bool {
        raw.len() < ROOM_BYTES - BLOCK_BYTES
    }

    /// Decodes piece by piece. A piece may end inside a character.
    pub(super) fn decode_pieces(&mut self, raw: &[u8], take: impl FnMut(&[u8])) {
        self.0.resize(ROOM_BYTES + BLOCK_BYTES, 0);
        decode_in(&mut self.0, raw, take);
    }
}

/// Decodes piece by piece. A piece may end inside a character.
pub(super) fn decode_pieces(raw: &[u8], take: impl FnMut(&[u8])) {
    if raw.len() < SHORT_BYTES {
        // Not even the room for a piece is worth to be made ready.
        decode_in(&mut [0; SHORT_BYTES + 2 * BLOCK_BYTES], raw, take);
    } else {
        decode_in(&mut [0; PIECE_BYTES + BLOCK_BYTES], raw, take);
    }
}

/// Decodes piece by piece, each in `piece`, which has room for a block more than those have.
fn decode_in(piece: &mut [u8], raw: &[u8], mut take: impl FnMut(&[u8])) {
    let piece_bytes = piece.len() - BLOCK_BYTES;
    let mut size = 0;
    let mut rest = raw;
    let has_blocks = machine::has_blocks();
    while has_blocks && rest.len() >= BLOCK_BYTES {
        let (read, written) = machine::decode_blocks(rest, &mut piece[size..]);
        rest = &rest[read..];
        size += written;
        if size >= piece_bytes - BLOCK_BYTES {
            take(&piece[..size]);
            size = 0;
        } else if rest.len() >= BLOCK_BYTES {
            // What stands there now is an escape that blocks do not know.
            let escape = unescape(&rest[1..]);
            piece[size..size + escape.size].copy_from_slice(&escape.bytes[..escape.size]);
            size += escape.size;
            rest = escape.rest;
        }
    }
    if has_blocks && !rest.is_empty() {
        let mut block = [b' '; BLOCK_BYTES];
        block[..rest.len()].copy_from_slice(rest);
        let (read, written) = machine::decode_blocks(&block, &mut piece[size..]);
        let padding = read.saturating_sub(rest.len());
        rest = &rest[read - padding..];
        size += written - padding;
    }
    while !rest.is_empty() {
        let mut padded = [b' '; STEP_BYTES];
        let step = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        // The whole step is copied, and what does not belong there is overwritten next: copies of
        // one length are faster than those of just enough.
        piece[size..size + STEP_BYTES].copy_from_slice(step);
        let plain = machine::plain_bytes(step).min(rest.len());
        size += plain;
        rest = &rest[plain..];
        match rest {
            [b'\\', letter, behind @ ..] if *letter != b'u' => {
                piece[size] = unescaped(*letter);
                size += 1;
                rest = behind;
            }
            [b'\\', escape @ ..] => {
                let escape = unescape(escape);
                piece[size..size + escape.size].copy_from_slice(&escape.bytes[..escape.size]);
                size += escape.size;
                rest = escape.rest;
            }
            _ => {}
        }
        if size >= piece_bytes - STEP_BYTES {
            take(&piece[..size]);
            size = 0;
        }
    }
    take(&piece[..size]);
}

/// How many bytes of a step, from the first on, are no backslash.
#[cfg_attr(target_arch = "x86_64", cfg(test))]
fn plain_bytes(step: &[u8; STEP_BYTES]) -> usize {
    let (parts, _) = step.as_chunks::<8>();
    let mut plain = 0;
    for part in parts {
        let in_part = plain_in_part(*part);
        plain += in_part;
        if in_part < part.len() {
            break;
        }
    }
    plain
}

#[cfg_attr(target_arch = "x86_64", cfg(test))]
const fn plain_in_part(part: [u8; 8]) -> usize {
    const ONES: u64 = u64::MAX / 0xFF;
    let difference = u64::from_le_bytes(part) ^ (ONES * b'\\' as u64);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parts of the text between two quotes.
    pub(super) fn parts() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(
            prop::sample::select(vec![
                "\\\\",
                "\\n",
                "\\t\\r",
                "\\\"",
                "\\/",
                "\\b\\f",
                "\\u65e5",
                "\\ud83d\\ude00",
                "\\ud83d",
                "plain text of some length",
                "日本",
                "n",
                "u1234",
                "\\\\\\\\\\n",
                "twelve bytes and more than one block of sixty-four bytes without any escape in it",
            ]),
            0..200,
        )
    }

    /// As the functions for one escape say it, one byte after the other.
    pub(super) fn reference(raw: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::new();
        let mut rest = raw;
        while let Some((&byte, behind)) = rest.split_first() {
            if byte == b'\\' {
                let escape = unescape(behind);
                decoded.extend_from_slice(&escape.bytes[..escape.size]);
                rest = escape.rest;
            } else {
                decoded.push(byte);
                rest = behind;
            }
        }
        decoded
    }

    proptest! {
        #[test]
        fn pieces_are_what_bytes_are(parts in parts()) {
            let raw = parts.concat();
            let mut decoded = Vec::new();
            decode_pieces(raw.as_bytes(), |piece| decoded.extend_from_slice(piece));
            prop_assert_eq!(&decoded, &reference(raw.as_bytes()));
            let mut pieces = Vec::new();
            let mut room = Room::default();
            room.decode_pieces(b"what stood there before", |_| {});
            room.decode_pieces(raw.as_bytes(), |piece| pieces.push(piece.to_vec()));
            prop_assert!(pieces.len() == 1 || !Room::is_for_whole(raw.as_bytes()));
            prop_assert_eq!(pieces.concat(), decoded);
        }

        #[test]
        fn a_step_is_plain_up_to_its_first_backslash(
            bytes in prop::array::uniform32(prop::sample::select(b"\\\xDC\x5B\x5D\0a".as_slice())),
        ) {
            let first = bytes.iter().position(|&byte| byte == b'\\');
            prop_assert_eq!(plain_bytes(&bytes), first.unwrap_or(STEP_BYTES));
            prop_assert_eq!(machine::plain_bytes(&bytes), first.unwrap_or(STEP_BYTES));
        }
    }
}
