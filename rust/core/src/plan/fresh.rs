//! The fresh results of one group while it is judged.

use crate::decision::Key;
use crate::hash::KeyMap;
use crate::text::Text;

/// One undecided result and every place in its group where it stands.
pub(super) struct Fresh<T> {
    pub(super) key: Key<T>,
    pub(super) occurrences: Vec<usize>,
}

/// Fresh results in order of appearance.
pub(super) struct FreshResults<T> {
    items: Vec<Fresh<T>>,
    positions: KeyMap<Key<T>, usize>,
}

impl<T: Text> FreshResults<T> {
    pub(super) fn new() -> Self {
        Self {
            items: Vec::new(),
            positions: KeyMap::default(),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an occurrence of a result that is known here; tells whether it is.
    pub(super) fn add_occurrence(&mut self, key: &Key<T>, candidate: usize) -> bool {
        let Some(&position) = self.positions.get(key) else {
            return false;
        };
        self.items[position].occurrences.push(candidate);
        true
    }

    /// Adds a result that is not known here.
    pub(super) fn insert(&mut self, key: Key<T>, candidate: usize) {
        self.positions.insert(key.clone(), self.items.len());
        self.items.push(Fresh {
            key,
            occurrences: vec![candidate],
        });
    }

    pub(super) fn into_items(self) -> Vec<Fresh<T>> {
        self.items
    }
}
