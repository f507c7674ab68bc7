//! Decoding blocks by vector instructions that close gaps: of AVX-512, or of AVX2 with tables.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size, which have no
//! invalid values. A function with instructions that not every machine has is called behind the
//! question whether this one has them.

mod avx2;
mod avx512;

use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};
use std::mem::transmute;

use super::{BLOCK_BYTES, STEP_BYTES};

type Block = [u8; BLOCK_BYTES];

/// The bytes of a vector that every machine of this kind has.
const HALF_BYTES: usize = STEP_BYTES / 2;

/// Whether this machine decodes blocks.
pub(super) fn has_blocks() -> bool {
    avx512::is_there() || avx2::is_there()
}

/// Decodes from the beginning of `raw` into `room`: up to an escape of a code point, or as long as
/// there are whole blocks in both. Gives how many bytes were read and written.
///
/// The machine must be one that [`has_blocks`]; on another one nothing is read.
pub(super) fn decode_blocks(raw: &[u8], room: &mut [u8]) -> (usize, usize) {
    if avx512::is_there() {
        #[expect(unsafe_code, reason = "instructions that were asked for")]
        // SAFETY: the machine has just said that it has these instructions.
        return unsafe { avx512::decode(raw, room) };
    }
    if avx2::is_there() {
        #[expect(unsafe_code, reason = "instructions that were asked for")]
        // SAFETY: the machine has just said that it has these instructions.
        return unsafe { avx2::decode(raw, room) };
    }
    (0, 0)
}

/// What a block held.
#[derive(Clone, Copy)]
struct Decoded {
    /// Which bytes belong to the text: all but the backslashes of escapes.
    kept: u64,
    /// The letters of escapes of code points.
    points: u64,
}

/// The loop over blocks. `decode_block` is the part that depends on the machine: it writes the bytes
/// that are kept, with what their escapes stand for, without gaps. The number that it gets and
/// leaves is 1 if a backslash at the end of the block before belongs to the first byte.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "it is compiled once for each instruction set, inside a function that enables it"
)]
fn decode_by(
    raw: &[u8],
    room: &mut [u8],
    decode_block: impl Fn(&Block, &mut Block, &mut u64) -> Decoded,
) -> (usize, usize) {
    let (blocks, _) = raw.as_chunks();
    let (mut read, mut written) = (0, 0);
    let mut is_cut = 0;
    for block in blocks {
        let Some(place) = room.get_mut(written..).and_then(<[u8]>::first_chunk_mut) else {
            break;
        };
        let Decoded { kept, points } = decode_block(block, place, &mut is_cut);
        if points == 0 {
            written += kept.count_ones() as usize;
            read += BLOCK_BYTES;
            continue;
        }
        let before = (points & points.wrapping_neg()) - 1;
        written += (kept & before).count_ones() as usize;
        read += points.trailing_zeros() as usize;
        // The backslash before the letter is left, too.
        is_cut = 1;
        break;
    }
    // What is left begins with a backslash, if anything was cut.
    (read - usize::from(is_cut == 1), written)
}

/// How many bytes of a step, from the first on, are no backslash.
#[inline]
pub(super) fn plain_bytes(step: &[u8; STEP_BYTES]) -> usize {
    let (halves, _) = step.as_chunks();
    let mut backslashes = 1 << STEP_BYTES;
    for (half, bytes) in halves.iter().enumerate() {
        backslashes |= backslashes_of(bytes) << (half * HALF_BYTES);
    }
    backslashes.trailing_zeros() as usize
}

/// One bit for each byte that is a backslash, by what every machine of this kind has.
#[inline]
#[expect(
    unsafe_code,
    reason = "bytes as a vector of the same size, and basic instructions"
)]
fn backslashes_of(bytes: &[u8; HALF_BYTES]) -> u64 {
    // SAFETY: both are 16 bytes, of which every value is valid; every x86-64 has SSE2.
    let same = unsafe {
        let bytes = transmute::<[u8; HALF_BYTES], __m128i>(*bytes);
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed())))
    };
    same.cast_unsigned().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{parts, reference};
    use super::*;

    /// What each instruction set of this machine decodes in one call, and how much it reads.
    fn decoded_by_this_machine(raw: &[u8], room_bytes: usize) -> Vec<(usize, Vec<u8>)> {
        let mut outcomes = Vec::new();
        let mut room = vec![0; room_bytes];
        let mut add = |(read, written): (usize, usize), room: &[u8]| {
            outcomes.push((read, room[..written].to_vec()));
        };
        if avx512::is_there() {
            #[expect(unsafe_code, reason = "instructions that were asked for")]
            // SAFETY: the machine has just said that it has these instructions.
            add(unsafe { avx512::decode(raw, &mut room) }, &room);
        }
        if avx2::is_there() {
            #[expect(unsafe_code, reason = "instructions that were asked for")]
            // SAFETY: the machine has just said that it has these instructions.
            add(unsafe { avx2::decode(raw, &mut room) }, &room);
        }
        outcomes
    }

    proptest! {
        /// Whatever this machine has, not its widest instructions alone.
        #[test]
        fn blocks_are_what_bytes_are(parts in parts(), room_bytes in 0_usize..2_000) {
            let raw = parts.concat();
            for (read, decoded) in decoded_by_this_machine(raw.as_bytes(), room_bytes) {
                prop_assert_eq!(&decoded, &reference(&raw.as_bytes()[..read]));
                let rest = &raw.as_bytes()[read..];
                let is_point = rest.starts_with(br"\u");
                let is_at_end = rest.len() <= BLOCK_BYTES;
                prop_assert!(is_point || is_at_end || room_bytes - decoded.len() < BLOCK_BYTES);
            }
        }
    }
}
