//! The masks of a block by the vector instructions of x86-64, the widest that the machine has.
//!
//! `unsafe` stands here for two things. Bytes are taken as vectors of the same size, which have no
//! invalid values. A function with instructions that not every machine has is called behind the
//! question whether this one has them.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_min_epu8, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_min_epu8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8,
};
use std::mem::transmute;

use super::masks::{Block, Masks};
use super::{End, Inside, Rare, find_end_by};

const QUOTE: i8 = b'"'.cast_signed();
const BACKSLASH: i8 = b'\\'.cast_signed();
const LETTER_N: i8 = b'n'.cast_signed();
const BLANK: i8 = b' '.cast_signed();
const LAST_CONTROL: i8 = BLANK - 1;

/// What [`bits_256`] gives if every byte is set.
const ALL_256: u64 = u32::MAX as u64;

/// Names and ids are short: they are found without asking what else the machine can do.
const SHORT_BYTES: usize = 32;

/// Finds a near end; see [`find_near_end`](super::find_near_end).
#[inline]
pub(super) fn find_near_end(body: &[u8], start: usize) -> Option<usize> {
    let bytes = body.get(start..)?.first_chunk::<SHORT_BYTES>()?;
    #[expect(unsafe_code, reason = "every x86-64 machine has these instructions")]
    // SAFETY: SSE2 is part of x86-64.
    let (quote, special) = unsafe { short_masks(bytes) };
    let before = (quote & quote.wrapping_neg()).wrapping_sub(1);
    if quote == 0 || special & before != 0 {
        return None;
    }
    Some(start + quote.trailing_zeros() as usize)
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
    // As numbers with a sign, what is no ASCII is below the blank, too.
    let control_or_high = _mm_cmplt_epi8(half, _mm_set1_epi8(BLANK));
    let special = _mm_or_si128(backslash, control_or_high);
    (bits_128(quote), bits_128(special))
}

/// Finds the end of a string; see [`find_end`](super::find_end).
#[expect(
    unsafe_code,
    reason = "instructions that not every machine has, after asking for them"
)]
pub(super) fn find_end(body: &[u8], start: usize) -> Option<End> {
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
    let inside = Inside {
        nothing: (_mm_set1_epi8(BLANK), _mm_set1_epi8(0)),
        add: |seen, block: &Block| {
            let parts = parts_128(block).into_iter();
            parts.fold(seen, |(least, all), bytes| {
                (_mm_min_epu8(least, bytes), _mm_or_si128(all, bytes))
            })
        },
        rare: |(least, all)| Rare {
            has_control: bits_128(_mm_cmpeq_epi8(least, _mm_set1_epi8(BLANK))) != 0xFFFF,
            has_high: bits_128(all) != 0,
        },
    };
    find_end_by(body, start, |block| masks_by_sse2(block), &inside)
}

#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
fn find_by_avx512(body: &[u8], start: usize) -> Option<End> {
    let inside = Inside {
        nothing: (_mm512_set1_epi8(BLANK), _mm512_set1_epi8(0)),
        add: |(least, all), block: &Block| {
            let bytes = whole_512(block);
            (_mm512_min_epu8(least, bytes), _mm512_or_si512(all, bytes))
        },
        rare: |(least, all)| Rare {
            has_control: _mm512_cmplt_epu8_mask(least, _mm512_set1_epi8(BLANK)) != 0,
            has_high: _mm512_movepi8_mask(all) != 0,
        },
    };
    find_end_by(body, start, |block| masks_by_avx512(block), &inside)
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn find_by_avx2(body: &[u8], start: usize) -> Option<End> {
    let inside = Inside {
        nothing: (_mm256_set1_epi8(BLANK), _mm256_set1_epi8(0)),
        add: |(least, all), block: &Block| {
            let [low, high] = halves_256(block);
            (
                _mm256_min_epu8(_mm256_min_epu8(least, low), high),
                _mm256_or_si256(_mm256_or_si256(all, low), high),
            )
        },
        rare: |(least, all)| Rare {
            has_control: bits_256(_mm256_cmpeq_epi8(least, _mm256_set1_epi8(BLANK))) != ALL_256,
            has_high: bits_256(all) != 0,
        },
    };
    find_end_by(body, start, |block| masks_by_avx2(block), &inside)
}

#[inline]
#[target_feature(enable = "sse2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn parts_128(block: &Block) -> [__m128i; 4] {
    // SAFETY: both are 64 bytes, of which every value is valid.
    unsafe { transmute::<Block, [__m128i; 4]>(*block) }
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn halves_256(block: &Block) -> [__m256i; 2] {
    // SAFETY: both are 64 bytes, of which every value is valid.
    unsafe { transmute::<Block, [__m256i; 2]>(*block) }
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "bytes as a vector of the same size")]
fn whole_512(block: &Block) -> __m512i {
    // SAFETY: both are 64 bytes, of which every value is valid.
    unsafe { transmute::<Block, __m512i>(*block) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn masks_by_avx512(block: &Block) -> Masks {
    let bytes = whole_512(block);
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
fn masks_by_avx2(block: &Block) -> Masks {
    let [low, high] = halves_256(block);
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
fn masks_by_sse2(block: &Block) -> Masks {
    let mut masks = Masks::default();
    for (part, bytes) in parts_128(block).into_iter().enumerate() {
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

    use super::super::find_end_portably;
    use super::super::masks::BLOCK_BYTES;
    use super::super::tests::parts;
    use super::*;

    proptest! {
        /// Whatever this machine has says the same as the portable form.
        #[test]
        fn masks_are_the_same(bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES)) {
            let block: &Block = bytes.as_slice().try_into().unwrap();
            let expected = Masks::portable(block);
            for masks in masks_of_this_machine(block) {
                prop_assert_eq!(masks, expected);
            }
        }
    }

    proptest! {
        /// Every instruction set finds the same end, not the widest one alone.
        #[test]
        fn ends_are_the_same(parts in parts(), end in "\"?") {
            let body = parts.concat() + &end;
            let expected = find_end_portably(body.as_bytes(), 0);
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
        found.push(find_end(body, 0));
        found
    }

    #[expect(
        unsafe_code,
        reason = "instructions are asked for before they are used"
    )]
    fn masks_of_this_machine(block: &Block) -> Vec<Masks> {
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
