//! Closing the gaps by tables of where the bytes of a part come from, for machines with AVX2.
//!
//! `unsafe` stands here for bytes that are taken as vectors of the same size, which have no invalid
//! values, and for writing half a vector to a place that is not checked once more.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_castsi128_pd, _mm_set_epi64x, _mm_shuffle_epi8, _mm_storeh_pd,
    _mm_storel_epi64, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8,
    _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_shuffle_epi8,
    _mm256_srli_epi16, _mm256_xor_si256,
};
use std::mem::transmute;

use super::super::unescaped;
use super::{Block, Decoded, decode_by};
use crate::json::skip::escaped;

/// So many bytes are closed up together.
const PART_BYTES: usize = 8;

/// For every choice of the bytes of the lower half of a vector: where the chosen ones are, in order.
static LOWER_PLACES: [u64; 1 << PART_BYTES] = places(0);

/// The same for the upper half.
static UPPER_PLACES: [u64; 1 << PART_BYTES] = places(PART_BYTES);

const fn places(first: usize) -> [u64; 1 << PART_BYTES] {
    let mut table = [0; 1 << PART_BYTES];
    let mut chosen = 0;
    while chosen < table.len() {
        let (mut number, mut count) = (0, 0);
        while number < PART_BYTES {
            if chosen >> number & 1 == 1 {
                table[chosen] |= ((first + number) as u64) << (8 * count);
                count += 1;
            }
            number += 1;
        }
        chosen += 1;
    }
    table
}

/// What the small letters of escapes differ by from what they stand for, by bits 1 to 4 of the
/// letter: these tell them apart.
const DIFFERENCES: [u8; 16] = {
    let mut table = [0; 16];
    let letters = *b"bfnrt";
    let mut number = 0;
    while number < letters.len() {
        let letter = letters[number];
        table[(letter >> 1 & 0x0F) as usize] = letter ^ unescaped(letter);
        number += 1;
    }
    table
};

/// The signs that may be escaped are below this, and the letters above.
const BEFORE_LETTERS: i8 = b'`'.cast_signed();

/// Whether this machine has the instructions of [`decode`].
#[inline]
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// Decodes blocks; see [`decode_blocks`](super::decode_blocks).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn decode(raw: &[u8], room: &mut [u8]) -> (usize, usize) {
    decode_by(raw, room, |block, place, is_cut| {
        decode_block(block, place, is_cut)
    })
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
fn decode_block(block: &Block, place: &mut Block, is_cut: &mut u64) -> Decoded {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let halves = unsafe { transmute::<Block, [__m256i; 2]>(*block) };
    let backslash = same(halves, b'\\');
    if backslash == 0 && *is_cut == 0 {
        *place = *block;
        return Decoded {
            kept: u64::MAX,
            points: 0,
        };
    }
    let letters = escaped(backslash, is_cut);
    let kept = !(backslash & !letters);
    let [low, high] = halves;
    close_up(
        [unescape(low, letters), unescape(high, letters >> 32)],
        kept,
        place,
    );
    Decoded {
        kept,
        points: letters & same(halves, b'u'),
    }
}

/// One bit for each byte that is this one.
#[inline]
#[target_feature(enable = "avx2")]
fn same(halves: [__m256i; 2], byte: u8) -> u64 {
    let wanted = _mm256_set1_epi8(byte.cast_signed());
    let [low, high] = halves.map(|bytes| {
        let equal = _mm256_cmpeq_epi8(bytes, wanted);
        u64::from(_mm256_movemask_epi8(equal).cast_unsigned())
    });
    low | high << 32
}

/// Puts what they stand for in the place of `letters`, one bit for each byte from the lowest on.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "bytes as vectors of the same size")]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a vector has 32 bytes, and so many bits count"
)]
fn unescape(bytes: __m256i, letters: u64) -> __m256i {
    const BITS: i64 = 0x8040_2010_0804_0201_u64.cast_signed();
    const EACH: u64 = u64::MAX / 0xFF;
    const BYTE_OF_BITS: [u64; 4] = [0, EACH, 2 * EACH, 3 * EACH];
    // SAFETY: all are 32 bytes, of which every value is valid.
    let (byte_of_bits, differences) = unsafe {
        (
            transmute::<[u64; 4], __m256i>(BYTE_OF_BITS),
            transmute::<[[u8; 16]; 2], __m256i>([DIFFERENCES; 2]),
        )
    };
    let bits = _mm256_set1_epi64x(BITS);
    let spread = _mm256_shuffle_epi8(
        _mm256_set1_epi32((letters as u32).cast_signed()),
        byte_of_bits,
    );
    let is_letter = _mm256_and_si256(
        _mm256_cmpeq_epi8(_mm256_and_si256(spread, bits), bits),
        _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(BEFORE_LETTERS)),
    );
    let key = _mm256_and_si256(_mm256_srli_epi16::<1>(bytes), _mm256_set1_epi8(0x0F));
    let difference = _mm256_shuffle_epi8(differences, key);
    _mm256_xor_si256(bytes, _mm256_and_si256(is_letter, difference))
}

/// Writes the bytes that are `kept`, one after the other; what stands behind them means nothing.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
#[expect(
    unsafe_code,
    reason = "vectors as others of the same size, and places that were reckoned"
)]
fn close_up(halves: [__m256i; 2], kept: u64, place: &mut Block) {
    // SAFETY: both are 64 bytes, of which every value is valid.
    let pairs = unsafe { transmute::<[__m256i; 2], [__m128i; 4]>(halves) };
    let parts = kept.to_le_bytes();
    let (kept_of_pairs, _) = parts.as_chunks::<2>();
    let start = place.as_mut_ptr();
    let mut size = 0;
    for (pair, &[lower, upper]) in pairs.into_iter().zip(kept_of_pairs) {
        let from = _mm_set_epi64x(
            UPPER_PLACES[usize::from(upper)].cast_signed(),
            LOWER_PLACES[usize::from(lower)].cast_signed(),
        );
        let packed = _mm_shuffle_epi8(pair, from);
        // SAFETY: of each part before this one at most eight bytes are kept, so that there is room
        // for eight more of the 64.
        unsafe { _mm_storel_epi64(start.add(size).cast(), packed) };
        size += lower.count_ones() as usize;
        // SAFETY: as above; the instruction asks for no alignment.
        unsafe { _mm_storeh_pd(start.add(size).cast(), _mm_castsi128_pd(packed)) };
        size += upper.count_ones() as usize;
    }
}
