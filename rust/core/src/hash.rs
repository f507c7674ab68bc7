//! Hashing of keys whose owner has hashed them already.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map for keys that know their own hash; see [`KeyHasher`].
pub(crate) type KeyMap<K, V> = HashMap<K, V, KeyState>;
/// A set of such keys.
pub(crate) type KeySet<K> = HashSet<K, KeyState>;

/// Items in the order in which they were added, found by a hash that they carry.
///
/// A table of its own instead of the standard one: it is probed once for each result, items can be
/// changed by their place without another look-up, and only those that were added last are ever taken
/// out.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// Places in `items`, each where its hash points or behind; as many as a power of two.
    slots: Vec<u32>,
    items: Vec<(u64, T)>,
}

/// A slot without a place.
const FREE: u32 = u32::MAX;

impl<T> Table<T> {
    /// Starts without items, and takes no memory before there is one.
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Makes room for so many more items.
    #[inline]
    pub(crate) fn expect(&mut self, items: usize) {
        let slots = (self.items.len() + items).saturating_mul(2);
        if slots > self.slots.len() || self.slots.is_empty() {
            self.items.reserve(items);
            let at_least = self.slots.len().saturating_mul(4).max(16);
            self.spread(slots.max(at_least).next_power_of_two());
        }
    }

    /// The place of the item with this hash that `is_it`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let mut slot = slot_of(hash, last);
        loop {
            let place = self.slots[slot] as usize;
            let (other, item) = self.items.get(place)?;
            if *other == hash && is_it(item) {
                return Some(place);
            }
            slot = (slot + 1) & last;
        }
    }

    /// Adds an item that is not there yet; gives its place.
    pub(crate) fn add(&mut self, hash: u64, item: T) -> usize {
        let place = self.items.len();
        self.items.push((hash, item));
        if self.items.len() * 2 > self.slots.len() {
            self.spread((self.slots.len() * 4).max(16));
        } else {
            self.put(place);
        }
        place
    }

    /// How many items there are.
    pub(crate) const fn len(&self) -> usize {
        self.items.len()
    }

    /// Takes out all but the first items.
    pub(crate) fn truncate(&mut self, length: usize) {
        let Some(last) = self.slots.len().checked_sub(1) else {
            return;
        };
        while self.items.len() > length
            && let Some((hash, _)) = self.items.pop()
        {
            // What was put last stands in no other item's way.
            let mut slot = slot_of(hash, last);
            while self.slots[slot] as usize != self.items.len() {
                slot = (slot + 1) & last;
            }
            self.slots[slot] = FREE;
        }
    }

    pub(crate) fn get(&self, place: usize) -> &T {
        &self.items[place].1
    }

    /// The item at a place, if there is one.
    pub(crate) fn at(&self, place: usize) -> Option<&T> {
        Some(&self.items.get(place)?.1)
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> &mut T {
        &mut self.items[place].1
    }

    /// Every item, in order; what they are found by must stay as it is.
    pub(crate) fn items_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().map(|(_, item)| item)
    }

    fn put(&mut self, place: usize) {
        let last = self.slots.len() - 1;
        let mut slot = slot_of(self.items[place].0, last);
        while self.slots[slot] != FREE {
            slot = (slot + 1) & last;
        }
        self.slots[slot] = u32::try_from(place).unwrap_or(FREE);
    }

    #[cold]
    fn spread(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, FREE);
        for place in 0..self.items.len() {
            self.put(place);
        }
    }
}

/// The slot that a hash points to, of those up to `last`, a power of two less one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits are what is wanted"
)]
const fn slot_of(hash: u64, last: usize) -> usize {
    hash as usize & last
}

/// Makes [`KeyHasher`]s, all with the random numbers of this process.
///
/// ```
/// use std::collections::HashSet;
///
/// let mut ids = HashSet::with_hasher(toolbudget_core::KeyState);
/// assert!(ids.insert("t1") && !ids.insert("t1"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyState;

/// Folds whole numbers in, and leaves bytes to the standard library's hasher.
///
/// A text that carries its hash, as Python's does, writes a number: it need not be hashed again. A
/// text that writes its bytes is hashed as anywhere else, so that nobody can choose ids that collide.
#[derive(Clone, Debug)]
pub struct KeyHasher {
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
        /// A table holds what a map holds, whatever hashes collide and whatever was expected.
        #[test]
        fn a_table_finds_what_was_added(
            keys in prop::collection::vec((0_u64..4, 0_u32..40), 0..120),
            expected in 0_usize..60,
            kept in 0_usize..60,
        ) {
            let mut table = Table::new();
            if expected % 2 == 0 {
                table.expect(expected);
            }
            let mut places: HashMap<(u64, u32), usize> = HashMap::new();
            for key in keys {
                let found = table.find(key.0, |item| *item == key);
                prop_assert_eq!(found, places.get(&key).copied());
                if found.is_none() {
                    let place = table.add(key.0, key);
                    places.insert(key, place);
                }
            }
            prop_assert_eq!(table.len(), places.len());
            table.expect(expected);
            for (&key, &place) in &places {
                prop_assert_eq!(*table.get(place), key);
            }
            table.truncate(kept);
            for (key, place) in places {
                let found = table.find(key.0, |item| *item == key);
                prop_assert_eq!(found, (place < kept).then_some(place));
            }
        }

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
