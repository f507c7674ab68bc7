//! The masks of a block by NEON, which every 64-bit ARM machine has.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size, which have no
//! invalid values. A function with NEON instructions is called, which this kind of machine has.

use std::arch::aarch64::{
    uint8x16_t, vaddv_u8, vandq_u8, vceqq_u8, vcgeq_u8, vcltq_u8, vdupq_n_u8, vget_high_u8,
    vget_low_u8, vmaxvq_u8, vminq_u8, vminvq_u8, vorrq_u8,
};
use std::mem::transmute;

use super::masks::{Block, Masks};
use super::{End, Inside, Rare, find_end_by};

/// One bit for each byte of one half of a vector.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Finds the end of a string; see [`find_end`](super::find_end).
#[expect(unsafe_code, reason = "every machine of this kind has NEON")]
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
    // SAFETY: NEON is part of 64-bit ARM.
    unsafe { find_by_neon(body, start) }
}

/// Looks for nothing: a block is no more than what is looked at here.
pub(super) const fn find_near_end(_body: &[u8], _start: usize) -> Option<usize> {
    None
}

#[target_feature(enable = "neon")]
fn find_by_neon(body: &[u8], start: usize) -> Option<End> {
    let inside = Inside {
        nothing: (vdupq_n_u8(b' '), vdupq_n_u8(0)),
        add: |seen, block: &Block| {
            let parts = parts_of(block).into_iter();
            parts.fold(seen, |(least, all), bytes| {
                (vminq_u8(least, bytes), vorrq_u8(all, bytes))
            })
        },
        rare: |(least, all)| Rare {
            has_control: vminvq_u8(least) < b' ',
            has_high: vmaxvq_u8(all) >= 0x80,
        },
    };
    find_end_by(body, start, |block| masks_by_neon(block), &inside)
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn masks_by_neon(block: &Block) -> Masks {
    // SAFETY: both are 16 bytes, of which every value is valid.
    let bits = unsafe { transmute::<[u8; 16], uint8x16_t>(BITS) };
    let mut masks = Masks::default();
    for (part, bytes) in parts_of(block).into_iter().enumerate() {
        let place = 16 * part;
        masks.quote |= word(vceqq_u8(bytes, vdupq_n_u8(b'"')), bits) << place;
        masks.backslash |= word(vceqq_u8(bytes, vdupq_n_u8(b'\\')), bits) << place;
        masks.control |= word(vcltq_u8(bytes, vdupq_n_u8(b' ')), bits) << place;
        masks.high |= word(vcgeq_u8(bytes, vdupq_n_u8(0x80)), bits) << place;
        masks.letter_n |= word(vceqq_u8(bytes, vdupq_n_u8(b'n')), bits) << place;
    }
    masks
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn parts_of(block: &Block) -> [uint8x16_t; 4] {
    // SAFETY: both are 64 bytes, of which every value is valid.
    unsafe { transmute::<Block, [uint8x16_t; 4]>(*block) }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::masks::BLOCK_BYTES;
    use super::*;

    proptest! {
        /// The machine says the same as the portable form.
        #[test]
        fn masks_are_the_same(bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES)) {
            let block: &Block = bytes.as_slice().try_into().unwrap();
            prop_assert_eq!(masks_of_this_machine(block), Masks::portable(block));
        }
    }

    #[expect(unsafe_code, reason = "every machine of this kind has NEON")]
    fn masks_of_this_machine(block: &Block) -> Masks {
        // SAFETY: NEON is part of 64-bit ARM.
        unsafe { masks_by_neon(block) }
    }
}
