//! Hashing of keys that bring a hash of their own.

use std::hash::{BuildHasher, Hasher};

/// For maps whose keys are texts: these hash themselves, with a secret where that matters, so that
/// one more strong hash would only cost time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Folding;

impl BuildHasher for Folding {
    type Hasher = FoldingHasher;

    fn build_hasher(&self) -> FoldingHasher {
        FoldingHasher { state: 0 }
    }
}

pub(crate) struct FoldingHasher {
    state: u64,
}

impl FoldingHasher {
    #[inline]
    fn fold(&mut self, word: u64) {
        const FACTOR: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
        let product = u128::from(self.state ^ word).wrapping_mul(FACTOR) ^ FACTOR;
        let bytes = product.to_le_bytes();
        let [low, high] = [&bytes[..8], &bytes[8..]].map(read_word);
        self.state = low ^ high;
    }
}

fn read_word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Hasher for FoldingHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.fold(read_word(chunk));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.fold(word as u64);
    }

    #[inline]
    fn write_isize(&mut self, word: isize) {
        self.fold(word.cast_unsigned() as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}
