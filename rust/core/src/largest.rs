//! The largest of many first, put in order only as far as they are asked for.

use std::cmp::Reverse;

/// So few are put in order at once.
const FEW: usize = 64;

/// The largest of those that are not in order, one in so many, are parted from the others at once;
/// the next step looks at these alone.
const PARTED: usize = 4;

/// If more than this part of all was asked for, all the rest is put in order at once.
const MANY: usize = 8;

/// The places of some sizes, those of the largest first, equal ones in order of appearance.
///
/// As a rule a few of many are asked for: to find these takes a few nanoseconds for each of all,
/// whatever their number.
pub(crate) enum LargestFirst {
    /// Of numbers and sizes of 32 bits.
    Short(Partial<u64>),
    /// Of any.
    Long(Partial<u128>),
}

impl LargestFirst {
    /// Takes sizes in order of appearance.
    pub(crate) fn of(sizes: impl ExactSizeIterator<Item = u64> + Clone) -> Self {
        let is_short = |size: u64| u32::try_from(size).is_ok();
        if is_short(sizes.len() as u64) && sizes.clone().all(is_short) {
            return Self::Short(Partial::of(sizes));
        }
        Self::Long(Partial::of(sizes))
    }

    /// The place among the sizes of the one with this rank: 0 is that of the largest one.
    #[inline]
    pub(crate) fn at(&mut self, rank: usize) -> Option<usize> {
        match self {
            Self::Short(keys) => keys.at(rank),
            Self::Long(keys) => keys.at(rank),
        }
    }
}

/// A size and its place as one number: of the largest size the largest, of equal ones the first.
pub(crate) trait Key: Copy + Ord {
    /// Both must have half as many bits as the key.
    fn of(size: u64, place: usize) -> Self;

    /// The place.
    fn place(self) -> usize;
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is cut off is the other half of the key"
)]
impl Key for u64 {
    #[inline]
    fn of(size: u64, place: usize) -> Self {
        size << u32::BITS | Self::from(!(place as u32))
    }

    #[inline]
    fn place(self) -> usize {
        !(self as u32) as usize
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is cut off is the other half of the key"
)]
impl Key for u128 {
    #[inline]
    fn of(size: u64, place: usize) -> Self {
        Self::from(size) << u64::BITS | Self::from(!(place as u64))
    }

    #[inline]
    fn place(self) -> usize {
        !(self as u64) as usize
    }
}

/// Keys of which the first ones are in order.
pub(crate) struct Partial<K> {
    keys: Vec<K>,
    /// How many are in order.
    ordered: usize,
    /// Where what was parted ends, the nearest end last: none before it is smaller than one behind.
    ends: Vec<usize>,
}

impl<K: Key> Partial<K> {
    fn of(sizes: impl ExactSizeIterator<Item = u64>) -> Self {
        let keys = sizes.enumerate();
        let keys: Vec<K> = keys.map(|(place, size)| K::of(size, place)).collect();
        // As where all are of one size: to part them would only put them out of order.
        let is_in_order = keys.is_sorted_by(|key, next| key > next);
        Self {
            ordered: if is_in_order { keys.len() } else { 0 },
            keys,
            ends: Vec::new(),
        }
    }

    #[inline]
    fn at(&mut self, rank: usize) -> Option<usize> {
        while rank >= self.ordered {
            if self.ordered == self.keys.len() {
                return None;
            }
            self.order_more();
        }
        self.keys.get(rank).map(|key| key.place())
    }

    /// Puts some more in order, at least one of those that are not.
    #[cold]
    fn order_more(&mut self) {
        let start = self.ordered;
        let mut end = self.keys.len();
        if start <= end / MANY {
            end = self.ends.pop().unwrap_or(end);
            while end - start > FEW {
                self.ends.push(end);
                let part = ((end - start) / PARTED).max(FEW / 2);
                self.keys[start..end].select_nth_unstable_by_key(part, |&key| Reverse(key));
                end = start + part;
            }
        }
        self.keys[start..end].sort_unstable_by_key(|&key| Reverse(key));
        self.ordered = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sizes() -> impl Strategy<Value = Vec<u64>> {
        let size = prop_oneof![0_u64..9, 0_u64..100_000, u64::from(u32::MAX) - 2..1 << 33];
        let descending = |mut sizes: Vec<u64>| {
            sizes.sort_by_key(|&size| Reverse(size));
            sizes
        };
        prop_oneof![
            prop::collection::vec(0_u64..50_000, 0..3_000),
            prop::collection::vec(0_u64..50_000, 0..300).prop_map(descending),
            prop::collection::vec(0_u64..3, 0..3_000),
            prop::collection::vec(size, 0..3_000),
            prop::collection::vec(any::<u64>(), 0..300),
        ]
    }

    proptest! {
        /// However few or many are asked for, and in which order.
        #[test]
        fn it_is_a_stable_sort(sizes in sizes(), ranks in prop::collection::vec(0_usize..3_100, 0..4)) {
            let mut sorted: Vec<usize> = (0..sizes.len()).collect();
            sorted.sort_by_key(|&place| Reverse(sizes[place]));
            let mut largest_first = LargestFirst::of(sizes.iter().copied());
            for rank in ranks {
                prop_assert_eq!(largest_first.at(rank), sorted.get(rank).copied());
            }
            for (rank, &place) in sorted.iter().enumerate() {
                prop_assert_eq!(largest_first.at(rank), Some(place));
            }
            prop_assert_eq!(largest_first.at(sizes.len()), None);
        }
    }
}
