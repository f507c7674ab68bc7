//! Ids by a number, in a few bytes for each.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::hash::KeyState;
use crate::text::Text;

/// Numbers ids in the order in which they are met; none is ever taken out.
///
/// The index holds numbers alone and is made anew from the ids where it grows, so that there are
/// never two of them: of a million ids each takes itself and about ten bytes at the peak.
#[derive(Debug)]
pub(crate) struct IdTable<T> {
    /// Into `ids`.
    index: HashTable<u32>,
    ids: Vec<T>,
}

impl<T: Text> IdTable<T> {
    pub(crate) const fn new() -> Self {
        Self {
            index: HashTable::new(),
            ids: Vec::new(),
        }
    }

    /// The id with a number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.ids.get(number as usize)
    }

    /// The number of an id, perhaps from now on; tells whether it is new.
    #[inline]
    pub(crate) fn number_of(&mut self, id: T) -> (u32, bool) {
        if self.index.len() == self.index.capacity() {
            self.grow();
        }
        let hash = KeyState.hash_one(&id);
        let ids = &self.ids;
        let is_it = |number: &u32| ids.get(*number as usize) == Some(&id);
        let hash_of = |number: &u32| {
            ids.get(*number as usize)
                .map_or(0, |id| KeyState.hash_one(id))
        };
        match self.index.entry(hash, is_it, hash_of) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(free) => {
                let number = next_number(ids.len());
                free.insert(number);
                self.ids.push(id);
                (number, true)
            }
        }
    }

    /// Makes room. What a table would do by itself reads the ids in no order, and holds the old
    /// one meanwhile.
    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.index.capacity()).max(1);
        self.index = HashTable::new();
        self.index = HashTable::with_capacity(capacity);
        for (number, id) in self.ids.iter().enumerate() {
            let hash = KeyState.hash_one(id);
            self.index
                .insert_unique(hash, next_number(number), |_| hash);
        }
    }
}

/// Nobody has more messages or calls than this in memory.
fn next_number(known: usize) -> u32 {
    u32::try_from(known).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::hash::{Hash, Hasher};

    use proptest::prelude::*;

    use super::*;

    /// A text that has its hash in common with all others.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Colliding(String);

    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u8(0);
        }
    }

    impl PartialEq<str> for Colliding {
        fn eq(&self, other: &str) -> bool {
            self.0 == other
        }
    }

    fn assert_numbers<T: Text>(ids: &[u16], to_text: impl Fn(u16) -> T) {
        let mut table = IdTable::new();
        let mut known: Vec<u16> = Vec::new();
        for &id in ids {
            let place = known.iter().position(|other| *other == id);
            let number = place.unwrap_or(known.len());
            if place.is_none() {
                known.push(id);
            }
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            assert_eq!(table.number_of(to_text(id)), (number, place.is_none()));
            assert!(table.get(number) == Some(&to_text(id)));
        }
        assert!(table.get(u32::MAX).is_none());
    }

    proptest! {
        /// A number stands for one id whatever else comes, also if all hashes are the same.
        #[test]
        fn ids_keep_their_numbers(ids in prop::collection::vec(0_u16..300, 0..600)) {
            assert_numbers(&ids, |id| id.to_string());
            assert_numbers(&ids, |id| Colliding(id.to_string()));
        }
    }
}
