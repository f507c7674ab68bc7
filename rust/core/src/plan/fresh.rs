//! The fresh results of one group while it is judged.

use std::mem;

/// One undecided result and every place in its group where it stands.
pub(super) struct Fresh {
    /// Its place among the results that this call has met, if it may meet it again.
    pub(super) place: Option<usize>,
    /// The candidate that it was met at first.
    pub(super) first: usize,
    /// In the unit of the limit, once its group is decided about.
    pub(super) size: u64,
    /// Where else it stands; as a rule nowhere.
    later: Vec<usize>,
}

impl Fresh {
    pub(super) const fn new(place: Option<usize>, first: usize) -> Self {
        Self {
            place,
            first,
            size: 0,
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

    /// Where else it stands, in order of appearance; given once.
    pub(super) fn take_later(&mut self) -> Vec<usize> {
        mem::take(&mut self.later)
    }
}
