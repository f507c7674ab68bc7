//! Hashing of keys whose owner has hashed them already.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map for keys that know their own hash; see [`KeyHasher`].
pub(crate) type KeyMap<K, V> = HashMap<K, V, KeyState>;
/// A set of such keys.
pub(crate) type KeySet<K> = HashSet<K, KeyState>;

/// Makes [`KeyHasher`]s, all with the random numbers of this process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyState;

/// Folds whole numbers in, and leaves bytes to the standard library's hasher.
///
/// A text that carries its hash, as Python's does, writes a number: it need not be hashed again. A
/// text that writes its bytes is hashed as anywhere else, so that nobody can choose ids that collide.
#[derive(Clone, Debug)]
pub(crate) struct KeyHasher {
    folded: u64,
    multiplier: u64,
    bytes: Option<DefaultHasher>,
}

impl BuildHasher for KeyState {
    type Hasher = KeyHasher;

    #[inline]
    fn build_hasher(&self) -> KeyHasher {
        let &(seed, multiplier) = seeds();
        KeyHasher {
            folded: seed,
            multiplier,
            bytes: None,
        }
    }
}

/// Two random numbers; the second is odd.
fn seeds() -> &'static (u64, u64) {
    static SEEDS: OnceLock<(u64, u64)> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let state = RandomState::new();
        (state.hash_one(0_u8), state.hash_one(1_u8) | 1)
    })
}

impl KeyHasher {
    /// The upper half of the product depends on every bit, and is folded into the lower one.
    #[inline]
    fn fold(&mut self, number: u64) {
        let product = u128::from(self.folded ^ number) * u128::from(self.multiplier);
        let [low, high] = halves(product);
        self.folded = low ^ high;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "that is how halves are taken"
)]
const fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes
            .get_or_insert_with(|| RandomState::build_hasher(random_state()))
            .write(bytes);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.fold(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.fold(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        for half in halves(number) {
            self.fold(half);
        }
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.fold(number.cast_unsigned() as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        match &self.bytes {
            Some(hasher) => self.folded ^ hasher.finish(),
            None => self.folded,
        }
    }
}

fn random_state() -> &'static RandomState {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_bytes_both_count() {
        let hashes: HashSet<u64> = [
            KeyState.hash_one((1_u64, "a")),
            KeyState.hash_one((2_u64, "a")),
            KeyState.hash_one((1_u64, "b")),
            KeyState.hash_one((1_u64, 1_isize)),
            KeyState.hash_one(1_u128),
            KeyState.hash_one(1_u128 << 64),
        ]
        .into();
        assert_eq!(hashes.len(), 6);
    }

    proptest! {
        /// What is equal has one hash; numbers close to each other spread over the low bits.
        #[test]
        fn close_numbers_spread(start in any::<u64>()) {
            let low_bits: HashSet<u64> = (0..256)
                .map(|step| KeyState.hash_one(start.wrapping_add(step)) & 0xFFFF)
                .collect();
            prop_assert_eq!(KeyState.hash_one(start), KeyState.hash_one(start));
            prop_assert!(low_bits.len() > 200);
        }
    }
}
