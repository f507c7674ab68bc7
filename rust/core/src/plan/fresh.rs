//! The fresh results of one group while it is judged.

use std::iter;

/// One undecided result and every place in its group where it stands.
pub(super) struct Fresh {
    /// Its place among the results that this call has met.
    pub(super) place: usize,
    /// The candidate that it was met at first.
    pub(super) first: usize,
    /// Where else it stands; as a rule nowhere.
    later: Vec<usize>,
}

impl Fresh {
    pub(super) const fn new(place: usize, first: usize) -> Self {
        Self {
            place,
            first,
            later: Vec::new(),
        }
    }

    pub(super) fn add_occurrence(&mut self, candidate: usize) {
        self.later.push(candidate);
    }

    /// In how many places it stands.
    pub(super) const fn count(&self) -> usize {
        1 + self.later.len()
    }

    /// All of them, in order of appearance.
    pub(super) fn occurrences(&self) -> Vec<usize> {
        iter::once(self.first)
            .chain(self.later.iter().copied())
            .collect()
    }
}
