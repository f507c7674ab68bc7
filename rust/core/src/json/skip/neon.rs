//! The masks of a block by NEON, which every 64-bit ARM machine has.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size, which have no
//! invalid values. A function with NEON instructions is called, which this kind of machine has.

use std::arch::aarch64::{
    uint8x16_t, vaddv_u8, vandq_u8, vceqq_u8, vcgeq_u8, vcltq_u8, vdupq_n_u8, vget_high_u8,
    vget_low_u8,
};
use std::mem::transmute;

use super::masks::{BLOCK_BYTES, Masks};
use super::{End, find_end_by};

/// One bit for each byte of one half of a vector.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Finds the end of a string; see [`find_end`](super::find_end).
#[expect(unsafe_code, reason = "every machine of this kind has NEON")]
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
    // SAFETY: NEON is part of 64-bit ARM.
    unsafe { find_by_neon(body, start) }
}

#[target_feature(enable = "neon")]
fn find_by_neon(body: &[u8], start: usize) -> Option<End> {
    find_end_by(body, start, |block| masks_by_neon(block))
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn masks_by_neon(block: &[u8; BLOCK_BYTES]) -> Masks {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let parts = unsafe { transmute::<[u8; BLOCK_BYTES], [uint8x16_t; 4]>(*block) };
    // SAFETY: both are 16 bytes, of which every value is valid.
    let bits = unsafe { transmute::<[u8; 16], uint8x16_t>(BITS) };
    let mut masks = Masks::default();
    for (part, bytes) in parts.into_iter().enumerate() {
        let place = 16 * part;
        masks.quote |= word(vceqq_u8(bytes, vdupq_n_u8(b'"')), bits) << place;
        masks.backslash |= word(vceqq_u8(bytes, vdupq_n_u8(b'\\')), bits) << place;
        masks.control |= word(vcltq_u8(bytes, vdupq_n_u8(b' ')), bits) << place;
        masks.high |= word(vcgeq_u8(bytes, vdupq_n_u8(0x80)), bits) << place;
        masks.letter_n |= word(vceqq_u8(bytes, vdupq_n_u8(b'n')), bits) << place;
    }
    masks
}

/// One bit for each byte that is set.
#[inline]
#[target_feature(enable = "neon")]
fn word(set: uint8x16_t, bits: uint8x16_t) -> u64 {
    let bits = vandq_u8(set, bits);
    let low = vaddv_u8(vget_low_u8(bits));
    let high = vaddv_u8(vget_high_u8(bits));
    u64::from(low) | u64::from(high) << 8
}
