//! Items in the order in which they were added, of which any can be taken out again.

use hashbrown::HashTable;

/// Items that are found by a hash, each at a place that stays its own until one is taken out.
///
/// ```
/// use toolbudget_core::OrderedTable;
///
/// let mut table = OrderedTable::new();
/// table.push(7, "a");
/// let place = table.push(7, "b");
/// assert_eq!(table.find(7, |item| *item == "b"), Some(place));
/// assert_eq!(table.take(place), Some("b"));
/// assert_eq!(table.iter().collect::<Vec<_>>(), [&"a"]);
/// ```
#[derive(Debug)]
pub struct OrderedTable<T> {
    /// Into `places`.
    index: HashTable<u32>,
    /// With their hashes; what was taken out leaves a gap, until there are more of them than items.
    places: Vec<Option<(u64, T)>>,
}

/// So many gaps are never too many.
const FEW_GAPS: usize = 8;

impl<T> OrderedTable<T> {
    /// Starts without items.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            index: HashTable::new(),
            places: Vec::new(),
        }
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Makes room for so many more items.
    pub fn reserve(&mut self, items: usize) {
        self.places.reserve(items);
        let places = &self.places;
        self.index
            .reserve(items, |place| hash_at(places, *place as usize));
    }

    /// The place of the item with this hash that `is_it`.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        let is_there = |place: &u32| {
            self.places[*place as usize]
                .as_ref()
                .is_some_and(|(other, item)| *other == hash && is_it(item))
        };
        self.index.find(hash, is_there).map(|place| *place as usize)
    }

    /// Adds an item that is not there yet; gives its place.
    pub fn push(&mut self, hash: u64, item: T) -> usize {
        let place = self.places.len();
        self.places.push(Some((hash, item)));
        let places = &self.places;
        // Nobody has more of them in memory.
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        self.index
            .insert_unique(hash, number, |place| hash_at(places, *place as usize));
        place
    }

    /// The item at a place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&T> {
        self.places.get(place)?.as_ref().map(|(_, item)| item)
    }

    /// The same, to be changed; what it is found by must stay as it is.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.places.get_mut(place)?.as_mut().map(|(_, item)| item)
    }

    /// Takes the item at a place out.
    pub fn take(&mut self, place: usize) -> Option<T> {
        let (hash, item) = self.places.get_mut(place)?.take()?;
        let is_it = |number: &u32| *number as usize == place;
        if let Ok(entry) = self.index.find_entry(hash, is_it) {
            entry.remove();
        }
        if self.places.len() > 2 * self.len() + FEW_GAPS {
            self.close_gaps();
        }
        Some(item)
    }

    /// Every item, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|(_, item)| item)
    }

    /// A table of copies, each made by `copy`.
    #[must_use]
    pub fn copied(&self, copy: impl Fn(&T) -> T) -> Self {
        let places = self.places.iter();
        let copies = places.map(|place| place.as_ref().map(|(hash, item)| (*hash, copy(item))));
        Self {
            index: self.index.clone(),
            places: copies.collect(),
        }
    }

    fn close_gaps(&mut self) {
        let items = std::mem::take(&mut self.places);
        self.index = HashTable::with_capacity(self.index.len());
        for (hash, item) in items.into_iter().flatten() {
            self.push(hash, item);
        }
    }
}

impl<T> Default for OrderedTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn hash_at<T>(places: &[Option<(u64, T)>], place: usize) -> u64 {
    places[place].as_ref().map_or(0, |(hash, _)| *hash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(u8),
        Take(u8),
        Reserve(u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (0_u8..60).prop_map(Step::Add),
            3 => (0_u8..60).prop_map(Step::Take),
            1 => (0_u8..60).prop_map(Step::Reserve),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        /// It holds what a list holds that is searched from its beginning, in the same order.
        #[test]
        fn a_table_is_a_list_that_is_found_in(steps in steps(), hashes in 1_u64..9) {
            let mut table = OrderedTable::default();
            let mut list: Vec<u8> = Vec::new();
            for step in steps {
                match step {
                    Step::Add(item) if !list.contains(&item) => {
                        let place = table.push(u64::from(item) % hashes, item);
                        prop_assert_eq!(table.get(place), Some(&item));
                        list.push(item);
                    }
                    Step::Take(item) => {
                        let found = table.find(u64::from(item) % hashes, |other| *other == item);
                        prop_assert_eq!(found.is_some(), list.contains(&item));
                        let taken = found.and_then(|place| table.take(place));
                        prop_assert_eq!(taken, found.map(|_| item));
                        list.retain(|other| *other != item);
                    }
                    Step::Add(_) => {}
                    Step::Reserve(items) => table.reserve(items.into()),
                }
                let copy = table.copied(|item| *item);
                for table in [&table, &copy] {
                    prop_assert_eq!(table.iter().copied().collect::<Vec<_>>(), list.clone());
                }
                prop_assert_eq!((table.len(), table.is_empty()), (list.len(), list.is_empty()));
                for item in &list {
                    let found = table.find(u64::from(*item) % hashes, |other| other == item);
                    let place = found.unwrap_or(usize::MAX);
                    prop_assert_eq!(table.get_mut(place).copied(), Some(*item));
                }
            }
        }
    }
}
