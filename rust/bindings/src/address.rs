//! Maps and sets by addresses and the like.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map for addresses, and for other numbers that nobody chooses so that they collide.
pub(crate) type NumberMap<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// A set of such numbers.
pub(crate) type NumberSet = HashSet<usize, BuildHasherDefault<AddressHasher>>;

/// Hashes addresses: what differs in them lies in the middle bits.
#[derive(Clone, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, address: usize) {
        let product = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ (product >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
