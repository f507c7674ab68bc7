//! The masks of a block by NEON, which every 64-bit ARM machine has.
//!
//! `unsafe` stands here for loads from a reference to 64 bytes.

use std::arch::aarch64::{
    uint8x16_t, vaddv_u8, vandq_u8, vceqq_u8, vcgeq_u8, vcltq_u8, vdupq_n_u8, vget_high_u8,
    vget_low_u8, vld1q_u8,
};

use super::masks::{BLOCK_BYTES, Masks};
use super::{End, find_end_by};

const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Finds the end of a string; see [`find_end`](super::find_end).
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
    find_end_by(body, start, masks_of)
}

#[expect(unsafe_code, reason = "loads of four parts of a reference to 64 bytes")]
fn masks_of(block: &[u8; BLOCK_BYTES]) -> Masks {
    let at = block.as_ptr();
    // SAFETY: all four parts lie inside of `block`, and no alignment is asked for. Every machine
    // of this kind has these instructions.
    let (parts, bits) = unsafe {
        let parts = [0, 16, 32, 48].map(|offset| vld1q_u8(at.add(offset)));
        (parts, vld1q_u8(BITS.as_ptr()))
    };
    let mask = |is: &dyn Fn(uint8x16_t) -> uint8x16_t| {
        let words = parts.map(|part| word(is(part), bits));
        words[0] | words[1] << 16 | words[2] << 32 | words[3] << 48
    };
    // SAFETY: every machine of this kind has these instructions.
    let same = |byte: u8| mask(&|part| unsafe { vceqq_u8(part, vdupq_n_u8(byte)) });
    Masks {
        quote: same(b'"'),
        backslash: same(b'\\'),
        // SAFETY: as above.
        control: mask(&|part| unsafe { vcltq_u8(part, vdupq_n_u8(b' ')) }),
        // SAFETY: as above.
        high: mask(&|part| unsafe { vcgeq_u8(part, vdupq_n_u8(0x80)) }),
        letter_n: same(b'n'),
    }
}

/// One bit for each byte that is set.
#[expect(
    unsafe_code,
    reason = "instructions that every machine of this kind has"
)]
fn word(set: uint8x16_t, bits: uint8x16_t) -> u64 {
    // SAFETY: every machine of this kind has these instructions.
    let [low, high] = unsafe {
        let bits = vandq_u8(set, bits);
        [vaddv_u8(vget_low_u8(bits)), vaddv_u8(vget_high_u8(bits))]
    };
    u64::from(low) | u64::from(high) << 8
}
