//! Decoding blocks by the instructions of AVX-512 that close gaps in a vector.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size and back, which
//! have no invalid values. A function with instructions that not every machine has is called behind
//! the question whether this one has them.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8, _mm512_cmpeq_epi8_mask,
    _mm512_mask_blend_epi8, _mm512_maskz_compress_epi8, _mm512_permutex2var_epi8, _mm512_set1_epi8,
};
use std::mem::transmute;

use super::{BLOCK_BYTES, STEP_BYTES, unescaped};
use crate::json::skip::escaped;

/// What the letters of escapes stand for; each is ASCII.
const BY_LETTER: [[u8; BLOCK_BYTES]; 2] = {
    let mut table = [[0; BLOCK_BYTES]; 2];
    let mut letter = 0_u8;
    while letter.is_ascii() {
        let place = letter as usize;
        table[place / BLOCK_BYTES][place % BLOCK_BYTES] = unescaped(letter);
        letter += 1;
    }
    table
};

/// The bytes of a vector that every machine of this kind has.
const HALF_BYTES: usize = STEP_BYTES / 2;

/// Whether this machine decodes blocks.
pub(super) fn has_blocks() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// Decodes from the beginning of `raw` into `room`: up to an escape of a code point, or as long as
/// there are whole blocks in both. Gives how many bytes were read and written.
///
/// The machine must be one that [`has_blocks`]; on another one nothing is read.
pub(super) fn decode_blocks(raw: &[u8], room: &mut [u8]) -> (usize, usize) {
    if !has_blocks() {
        return (0, 0);
    }
    #[expect(unsafe_code, reason = "instructions that were asked for")]
    // SAFETY: the machine has just said that it has these instructions.
    unsafe {
        decode_by_avx512(raw, room)
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,popcnt")]
fn decode_by_avx512(raw: &[u8], room: &mut [u8]) -> (usize, usize) {
    let (blocks, _) = raw.as_chunks();
    let (mut read, mut written) = (0, 0);
    // 1 if the last byte was a backslash that belongs to the next one.
    let mut is_cut = 0;
    for block in blocks {
        let Some(place) = room.get_mut(written..).and_then(<[u8]>::first_chunk_mut) else {
            break;
        };
        let decoded = decode_block(block, &mut is_cut);
        let end = decoded.points.trailing_zeros();
        let kept = match end {
            u64::BITS => decoded.kept,
            _ => decoded.kept & ((1 << end) - 1),
        };
        *place = as_bytes(_mm512_maskz_compress_epi8(kept, decoded.bytes));
        written += kept.count_ones() as usize;
        read += end as usize;
        if end < u64::BITS {
            // The backslash before the letter is left, too.
            is_cut = 1;
            break;
        }
    }
    // What is left begins with a backslash, if anything was cut.
    (read - usize::from(is_cut == 1), written)
}

/// A block with letters in the place of which something else stands.
struct Decoded {
    bytes: __m512i,
    /// Which bytes belong to the text.
    kept: u64,
    /// The letters of escapes of code points.
    points: u64,
}

/// Decodes a block; its first byte stands behind a backslash if `is_cut` is 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,popcnt")]
#[expect(unsafe_code, reason = "bytes as a vector of the same size")]
fn decode_block(block: &[u8; BLOCK_BYTES], is_cut: &mut u64) -> Decoded {
    let same =
        |bytes, byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
    // SAFETY: all are 64 bytes, of which every value is valid.
    let [raw, low, high] = [*block, BY_LETTER[0], BY_LETTER[1]]
        .map(|bytes| unsafe { transmute::<[u8; BLOCK_BYTES], __m512i>(bytes) });
    let backslash = same(raw, b'\\');
    let letters = escaped(backslash, is_cut);
    // All at once: which letters there are cannot be foreseen.
    let unescaped = _mm512_permutex2var_epi8(low, raw, high);
    Decoded {
        bytes: _mm512_mask_blend_epi8(letters, raw, unescaped),
        kept: !(backslash & !letters),
        points: letters & same(raw, b'u'),
    }
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

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "a vector as bytes of the same size")]
fn as_bytes(vector: __m512i) -> [u8; BLOCK_BYTES] {
    // SAFETY: both are 64 bytes, of which every value is valid.
    unsafe { transmute::<__m512i, [u8; BLOCK_BYTES]>(vector) }
}
