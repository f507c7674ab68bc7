//! The masks of a block by the vector instructions of x86-64, the widest that the machine has.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size, which have no
//! invalid values. A function with instructions that not every machine has is called behind the
//! question whether this one has them.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_movepi8_mask, _mm512_set1_epi8,
};
use std::mem::transmute;

use super::masks::{BLOCK_BYTES, Masks};
use super::{End, find_end_by};

const QUOTE: i8 = b'"'.cast_signed();
const BACKSLASH: i8 = b'\\'.cast_signed();
const LETTER_N: i8 = b'n'.cast_signed();
const BLANK: i8 = b' '.cast_signed();
const LAST_CONTROL: i8 = BLANK - 1;

/// Names and ids are short: they are found without asking what else the machine can do.
const SHORT_BYTES: usize = 32;

/// Finds the end of a string; see [`find_end`](super::find_end).
#[inline]
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
    match find_short(body, start) {
        Some(end) => Some(end),
        None => find_long(body, start),
    }
}

/// The end of a string that ends soon and has nothing special in it.
#[inline]
fn find_short(body: &[u8], start: usize) -> Option<End> {
    let bytes = body.get(start..)?.first_chunk::<SHORT_BYTES>()?;
    #[expect(unsafe_code, reason = "every x86-64 machine has these instructions")]
    // SAFETY: SSE2 is part of x86-64.
    let (quote, special) = unsafe { short_masks(bytes) };
    let before = (quote & quote.wrapping_neg()).wrapping_sub(1);
    if quote == 0 || special & before != 0 {
        return None;
    }
    Some(End {
        place: start + quote.trailing_zeros() as usize,
        has_escapes: false,
        is_ascii: true,
    })
}

/// Where quotes are, and where anything is that makes a string special. Of the second half, nothing
/// is said if the string ends in the first one: most names do.
#[inline]
#[target_feature(enable = "sse2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn short_masks(bytes: &[u8; SHORT_BYTES]) -> (u32, u32) {
    // SAFETY: both are 32 bytes, of which every value is valid.
    let halves = unsafe { transmute::<[u8; SHORT_BYTES], [__m128i; 2]>(*bytes) };
    let (low_quote, low_special) = short_masks_of(halves[0]);
    if low_quote != 0 {
        return (low_quote, low_special);
    }
    let (high_quote, high_special) = short_masks_of(halves[1]);
    (high_quote << 16, low_special | high_special << 16)
}

#[inline]
#[target_feature(enable = "sse2")]
fn short_masks_of(half: __m128i) -> (u32, u32) {
    let quote = _mm_cmpeq_epi8(half, _mm_set1_epi8(QUOTE));
    let backslash = _mm_cmpeq_epi8(half, _mm_set1_epi8(BACKSLASH));
    let smaller = _mm_min_epu8(half, _mm_set1_epi8(LAST_CONTROL));
    let control = _mm_cmpeq_epi8(smaller, half);
    // The highest bit of what is no ASCII is set already.
    let special = _mm_or_si128(_mm_or_si128(backslash, control), half);
    (bits_128(quote), bits_128(special))
}

#[expect(
    unsafe_code,
    reason = "instructions that not every machine has, after asking for them"
)]
fn find_long(body: &[u8], start: usize) -> Option<End> {
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the machine has just said that it has these instructions.
        return unsafe { find_by_avx512(body, start) };
    }
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the machine has just said that it has these instructions.
        return unsafe { find_by_avx2(body, start) };
    }
    // SAFETY: SSE2 is part of x86-64.
    unsafe { find_by_sse2(body, start) }
}

#[target_feature(enable = "sse2")]
fn find_by_sse2(body: &[u8], start: usize) -> Option<End> {
    find_end_by(body, start, |block| masks_by_sse2(block))
}

#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
fn find_by_avx512(body: &[u8], start: usize) -> Option<End> {
    find_end_by(body, start, |block| masks_by_avx512(block))
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn find_by_avx2(body: &[u8], start: usize) -> Option<End> {
    find_end_by(body, start, |block| masks_by_avx2(block))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn masks_by_avx512(block: &[u8; BLOCK_BYTES]) -> Masks {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let bytes = unsafe { transmute::<[u8; BLOCK_BYTES], __m512i>(*block) };
    Masks {
        quote: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(QUOTE)),
        backslash: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(BACKSLASH)),
        control: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(BLANK)),
        high: _mm512_movepi8_mask(bytes),
        letter_n: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(LETTER_N)),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn masks_by_avx2(block: &[u8; BLOCK_BYTES]) -> Masks {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let [low, high] = unsafe { transmute::<[u8; BLOCK_BYTES], [__m256i; 2]>(*block) };
    let same = |byte: i8| {
        let wanted = _mm256_set1_epi8(byte);
        bits_256(_mm256_cmpeq_epi8(low, wanted)) | bits_256(_mm256_cmpeq_epi8(high, wanted)) << 32
    };
    let control = |half: __m256i| {
        let smaller = _mm256_min_epu8(half, _mm256_set1_epi8(LAST_CONTROL));
        bits_256(_mm256_cmpeq_epi8(smaller, half))
    };
    Masks {
        quote: same(QUOTE),
        backslash: same(BACKSLASH),
        control: control(low) | control(high) << 32,
        high: bits_256(low) | bits_256(high) << 32,
        letter_n: same(LETTER_N),
    }
}

#[inline]
#[target_feature(enable = "sse2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn masks_by_sse2(block: &[u8; BLOCK_BYTES]) -> Masks {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let parts = unsafe { transmute::<[u8; BLOCK_BYTES], [__m128i; 4]>(*block) };
    let mut masks = Masks::default();
    for (part, bytes) in parts.into_iter().enumerate() {
        let place = 16 * part;
        let same = |byte: i8| u64::from(bits_128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte))));
        let smaller = _mm_min_epu8(bytes, _mm_set1_epi8(LAST_CONTROL));
        masks.quote |= same(QUOTE) << place;
        masks.backslash |= same(BACKSLASH) << place;
        masks.control |= u64::from(bits_128(_mm_cmpeq_epi8(smaller, bytes))) << place;
        masks.high |= u64::from(bits_128(bytes)) << place;
        masks.letter_n |= same(LETTER_N) << place;
    }
    masks
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "sse2")]
fn bits_128(bytes: __m128i) -> u32 {
    _mm_movemask_epi8(bytes).cast_unsigned()
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn bits_256(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever this machine has says the same as the portable form.
        #[test]
        fn masks_are_the_same(bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES)) {
            let block: &[u8; BLOCK_BYTES] = bytes.as_slice().try_into().unwrap();
            let expected = Masks::portable(block);
            for masks in masks_of_this_machine(block) {
                prop_assert_eq!(masks, expected);
            }
        }
    }

    proptest! {
        /// Every instruction set finds the same end, not the widest one alone.
        #[test]
        fn ends_are_the_same(
            parts in prop::collection::vec(prop::sample::select(vec![
                "\\\\", "\\n", "\\\"", "\\u12aF", "some plain text", "日本", "\\", "\\x", "\n", "\"",
            ]), 0..40),
        ) {
            let body = parts.concat();
            let expected = find_end_by(body.as_bytes(), 0, Masks::portable);
            for found in ends_by_this_machine(body.as_bytes()) {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[expect(
        unsafe_code,
        reason = "instructions are asked for before they are used"
    )]
    fn ends_by_this_machine(body: &[u8]) -> Vec<Option<End>> {
        // SAFETY: SSE2 is part of x86-64; for the others the machine is asked.
        let mut found = vec![unsafe { find_by_sse2(body, 0) }];
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
        {
            // SAFETY: the machine has just said that it has these instructions.
            found.push(unsafe { find_by_avx2(body, 0) });
        }
        found.push(find_long(body, 0));
        found
    }

    #[expect(
        unsafe_code,
        reason = "instructions are asked for before they are used"
    )]
    fn masks_of_this_machine(block: &[u8; BLOCK_BYTES]) -> Vec<Masks> {
        // SAFETY: SSE2 is part of x86-64; for the others the machine is asked.
        let mut found = vec![unsafe { masks_by_sse2(block) }];
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has just said that it has these instructions.
            found.push(unsafe { masks_by_avx2(block) });
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has just said that it has these instructions.
            found.push(unsafe { masks_by_avx512(block) });
        }
        found
    }
}
