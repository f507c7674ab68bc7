//! Stepping over strings in blocks of 64 bytes, each looked at as a few masks of 64 bits.
//!
//! How fast that is does not depend on what stands in the string. The widest instruction set that
//! the machine has is found out at run time.

#[cfg(target_arch = "aarch64")]
#[path = "skip/neon.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "skip/x86.rs"]
mod machine;
mod masks;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
mod machine {
    //! Any other machine.

    pub(super) use super::find_end_portably as find_end;

    pub(super) const fn find_near_end(_body: &[u8], _start: usize) -> Option<usize> {
        None
    }
}

use super::error::{JsonError, Problem};
use masks::{BLOCK_BYTES, Block, Masks};

/// Where a string ends, and what was seen on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The closing quote.
    pub(super) place: usize,
    pub(super) has_escapes: bool,
    pub(super) is_ascii: bool,
}

/// Finds the end of the string whose first byte behind the quote is at `start`.
///
/// `None` if it has none, or holds a raw control character or an escape that is unknown. Whether it
/// is UTF-8 is not looked at.
#[inline]
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
    machine::find_end(body, start)
}

/// Finds the closing quote of a string that has nothing special in it, if that is near: most names
/// and ids end soon. `None` says nothing about the string.
#[inline]
pub(super) fn find_near_end(body: &[u8], start: usize) -> Option<usize> {
    machine::find_near_end(body, start)
}

/// Looking at blocks that are inside of a string as a whole: what is rare is asked for once, at the
/// end of the string, and not for each of them.
struct Inside<S, A, R> {
    /// Before the first block.
    nothing: S,
    /// Adds a block to those before it.
    add: A,
    /// Tells what they hold.
    rare: R,
}

/// What some blocks hold anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rare {
    has_control: bool,
    has_high: bool,
}

/// The loop over blocks; `masks_of` and `inside` are the parts that depend on the machine.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled once for each instruction set, inside a function that enables it"
)]
fn find_end_by<S: Copy>(
    body: &[u8],
    start: usize,
    masks_of: impl Fn(&Block) -> Masks,
    inside: &Inside<S, impl Fn(S, &Block) -> S, impl Fn(S) -> Rare>,
) -> Option<End> {
    let mut at = start;
    let mut seen = inside.nothing;
    let mut carry = 0;
    let mut backslashes = 0;
    let (masks, escaped) = loop {
        let rest = body.get(at..)?;
        let Some(block) = rest.first_chunk() else {
            let masks = masks_of(&padded(rest)?);
            break (masks, escaped(masks.backslash, &mut carry));
        };
        let masks = masks_of(block);
        let escaped = escaped(masks.backslash, &mut carry);
        if masks.quote & !escaped != 0 {
            break (masks, escaped);
        }
        let odd = masks.odd(escaped);
        if odd != 0 && !are_known(body, at, odd) {
            return None;
        }
        backslashes |= masks.backslash;
        seen = (inside.add)(seen, block);
        at += BLOCK_BYTES;
    };
    let quotes = masks.quote & !escaped;
    let before = (quotes & quotes.wrapping_neg()).wrapping_sub(1);
    let odd = masks.odd(escaped) & before;
    let rare = (inside.rare)(seen);
    if quotes == 0
        || rare.has_control
        || masks.control & before != 0
        || (odd != 0 && !are_known(body, at, odd))
    {
        return None;
    }
    Some(End {
        place: at + quotes.trailing_zeros() as usize,
        has_escapes: (backslashes | masks.backslash & before) != 0,
        is_ascii: !rare.has_high && masks.high & before == 0,
    })
}

/// [`find_end`] by the meaning of the words, on any machine.
#[cfg(any(test, not(any(target_arch = "aarch64", target_arch = "x86_64"))))]
fn find_end_portably(body: &[u8], start: usize) -> Option<End> {
    let inside = Inside {
        nothing: Rare::default(),
        add: |seen: Rare, block: &Block| {
            let masks = Masks::portable(block);
            Rare {
                has_control: seen.has_control || masks.control != 0,
                has_high: seen.has_high || masks.high != 0,
            }
        },
        rare: |seen| seen,
    };
    find_end_by(body, start, Masks::portable, &inside)
}

/// The last bytes of a body as a block; what is added means nothing in a string. `None` if there
/// are none.
#[inline(never)]
fn padded(rest: &[u8]) -> Option<Block> {
    if rest.is_empty() {
        return None;
    }
    let mut block = [b' '; BLOCK_BYTES];
    block[..rest.len()].copy_from_slice(rest);
    Some(block)
}

/// Which bytes stand behind a backslash that is not itself behind one; `carry` is 1 if the first
/// byte of the next block does.
#[inline]
pub(super) const fn escaped(backslash: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let follows = *carry;
    if backslash == 0 {
        *carry = 0;
        return follows;
    }
    // A run of backslashes escapes every second byte from its beginning on, which an addition finds
    // for all runs at once: it carries to the end of those that begin at an odd place.
    let backslash = backslash & !follows;
    let behind = backslash << 1 | follows;
    let odd_starts = backslash & !EVEN & !behind;
    let (sum, overflows) = odd_starts.overflowing_add(backslash);
    *carry = overflows as u64;
    (EVEN ^ (sum << 1)) & behind
}

/// Looks at escapes of a block that are not quotes, backslashes or line breaks, one by one.
fn are_known(body: &[u8], block_at: usize, mut places: u64) -> bool {
    while places != 0 {
        let place = block_at + places.trailing_zeros() as usize;
        let is_known = match body.get(place) {
            Some(b'/' | b'b' | b'f' | b'r' | b't') => true,
            Some(b'u') => has_hex_digits(body, place + 1),
            _ => false,
        };
        if !is_known {
            return false;
        }
        places &= places - 1;
    }
    true
}

fn has_hex_digits(bytes: &[u8], start: usize) -> bool {
    let digits = bytes.get(start..).and_then(<[u8]>::first_chunk::<4>);
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Says what is wrong with the string that [`find_end`] finds no end of.
#[cold]
pub(super) fn diagnose(body: &[u8], start: usize) -> JsonError {
    let mut at = start;
    while let Some(&byte) = body.get(at) {
        match (byte, body.get(at + 1)) {
            (b'\\', Some(b'u')) => {
                // As in Python, digits that end with the body are not a whole escape.
                if !has_hex_digits(body, at + 2) || at + 6 >= body.len() {
                    return JsonError::new(Problem::InvalidEscape, at + 1);
                }
                at += 6;
            }
            (b'\\', Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => at += 2,
            (b'\\', Some(_)) => return JsonError::new(Problem::InvalidEscape, at),
            (b'\\', None) | (b'"', _) => break,
            (0..0x20, _) => return JsonError::new(Problem::ControlCharacter, at),
            _ => at += 1,
        }
    }
    JsonError::new(Problem::UnterminatedString, start - 1)
}

#[cfg(test)]
mod tests;
