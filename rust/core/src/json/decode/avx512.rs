//! Closing the gaps by the instruction of AVX-512 that is made for it.
//!
//! `unsafe` stands here for bytes that are taken as vectors of the same size and back, which have no
//! invalid values.

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_mask_blend_epi8, _mm512_maskz_compress_epi8,
    _mm512_permutex2var_epi8, _mm512_set1_epi8,
};
use std::mem::transmute;

use super::super::{BLOCK_BYTES, unescaped};
use super::{Block, Decoded, decode_by};
use crate::json::skip::escaped;

/// What the letters of escapes stand for; each is ASCII.
const BY_LETTER: [Block; 2] = {
    let mut table = [[0; BLOCK_BYTES]; 2];
    let mut letter = 0_u8;
    while letter.is_ascii() {
        let place = letter as usize;
        table[place / BLOCK_BYTES][place % BLOCK_BYTES] = unescaped(letter);
        letter += 1;
    }
    table
};

/// Whether this machine has the instructions of [`decode`].
#[inline]
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// Decodes blocks; see [`decode_blocks`](super::decode_blocks).
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,popcnt")]
pub(super) fn decode(raw: &[u8], room: &mut [u8]) -> (usize, usize) {
    decode_by(raw, room, |block, place, is_cut| {
        decode_block(block, place, is_cut)
    })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,popcnt")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size, and back")]
fn decode_block(block: &Block, place: &mut Block, is_cut: &mut u64) -> Decoded {
    let same =
        |bytes, byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
    // SAFETY: all are 64 bytes, of which every value is valid.
    let [raw, low, high] = [*block, BY_LETTER[0], BY_LETTER[1]]
        .map(|bytes| unsafe { transmute::<Block, __m512i>(bytes) });
    let backslash = same(raw, b'\\');
    let letters = escaped(backslash, is_cut);
    // All at once: which letters there are cannot be foreseen.
    let unescaped = _mm512_permutex2var_epi8(low, raw, high);
    let kept = !(backslash & !letters);
    let bytes = _mm512_mask_blend_epi8(letters, raw, unescaped);
    // SAFETY: both are 64 bytes, of which every value is valid.
    *place = unsafe { transmute::<__m512i, Block>(_mm512_maskz_compress_epi8(kept, bytes)) };
    Decoded {
        kept,
        points: letters & same(raw, b'u'),
    }
}
