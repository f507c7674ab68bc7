//! Whole numbers in as few bytes each as the largest of them needs.

use std::mem;

/// A column of numbers; most columns hold small ones.
#[derive(Debug)]
pub enum Numbers {
    /// All are below 2^8.
    Bytes(Vec<u8>),
    /// All are below 2^16.
    Shorts(Vec<u16>),
    /// All are below 2^32.
    Words(Vec<u32>),
    /// One is not.
    Longs(Vec<u64>),
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self::Bytes(Vec::new())
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(numbers) => numbers.len(),
            Self::Shorts(numbers) => numbers.len(),
            Self::Words(numbers) => numbers.len(),
            Self::Longs(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<u64> {
        match self {
            Self::Bytes(numbers) => numbers.get(position).copied().map(u64::from),
            Self::Shorts(numbers) => numbers.get(position).copied().map(u64::from),
            Self::Words(numbers) => numbers.get(position).copied().map(u64::from),
            Self::Longs(numbers) => numbers.get(position).copied(),
        }
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.len()).map_while(|position| self.get(position))
    }

    pub(super) fn push(&mut self, number: u64) {
        while !self.try_push(number) {
            self.widen();
        }
    }

    pub(super) fn set(&mut self, position: usize, number: u64) {
        while !self.try_set(position, number) {
            self.widen();
        }
    }

    /// Pushes a number, if it fits.
    fn try_push(&mut self, number: u64) -> bool {
        match self {
            Self::Bytes(numbers) => u8::try_from(number)
                .map(|number| numbers.push(number))
                .is_ok(),
            Self::Shorts(numbers) => u16::try_from(number)
                .map(|number| numbers.push(number))
                .is_ok(),
            Self::Words(numbers) => u32::try_from(number)
                .map(|number| numbers.push(number))
                .is_ok(),
            Self::Longs(numbers) => {
                numbers.push(number);
                true
            }
        }
    }

    /// Puts a number in the place of another one, if it fits.
    fn try_set(&mut self, position: usize, number: u64) -> bool {
        match self {
            Self::Bytes(numbers) => put(numbers, position, number),
            Self::Shorts(numbers) => put(numbers, position, number),
            Self::Words(numbers) => put(numbers, position, number),
            Self::Longs(numbers) => put(numbers, position, number),
        }
    }

    #[cold]
    fn widen(&mut self) {
        *self = match mem::replace(self, Self::new()) {
            Self::Bytes(numbers) => Self::Shorts(wider(numbers)),
            Self::Shorts(numbers) => Self::Words(wider(numbers)),
            Self::Words(numbers) => Self::Longs(wider(numbers)),
            Self::Longs(numbers) => Self::Longs(numbers),
        };
    }
}

fn put<N: TryFrom<u64>>(numbers: &mut [N], position: usize, number: u64) -> bool {
    let Ok(number) = N::try_from(number) else {
        return false;
    };
    if let Some(place) = numbers.get_mut(position) {
        *place = number;
    }
    true
}

fn wider<Narrow, Wide: From<Narrow>>(numbers: Vec<Narrow>) -> Vec<Wide> {
    numbers.into_iter().map(Wide::from).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It is a list of 64-bit numbers, whatever comes in which order.
        #[test]
        fn numbers_stay_what_they_are(
            shifted in prop::collection::vec((any::<u64>(), 0_u32..64), 1..40),
            changes in prop::collection::vec((0_usize..40, any::<u64>(), 0_u32..64), 0..10),
        ) {
            let mut expected: Vec<u64> = shifted.iter().map(|(bits, by)| bits >> by).collect();
            let mut numbers = Numbers::new();
            for number in &expected {
                numbers.push(*number);
            }
            for (position, bits, by) in changes {
                let position = position % expected.len();
                expected[position] = bits >> by;
                numbers.set(position, bits >> by);
            }
            prop_assert_eq!(numbers.len(), expected.len());
            prop_assert_eq!(numbers.get(expected.len()), None);
            prop_assert_eq!(numbers.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_number_takes_no_more_bytes_than_the_largest_needs() {
        let mut numbers = Numbers::new();
        assert!(numbers.is_empty());
        numbers.push(255);
        assert!(matches!(numbers, Numbers::Bytes(_)));
        numbers.push(256);
        assert!(matches!(numbers, Numbers::Shorts(_)));
        numbers.set(0, 1 << 16);
        assert!(matches!(numbers, Numbers::Words(_)));
        numbers.set(1, 1 << 32);
        assert!(matches!(numbers, Numbers::Longs(_)));
    }
}
