//! Which candidates a group holds.

use std::ops::Range;

/// Indices in ascending order. They follow each other as a rule, and take no memory of their own
/// then: where chains do not take turns within a group, each group is a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The first ones, as far as none is left out.
    first: Range<usize>,
    others: Vec<usize>,
}

impl Members {
    /// Adds one that is larger than all there are.
    pub(crate) fn push(&mut self, index: usize) {
        if self.first.is_empty() {
            self.first = index..index + 1;
        } else if self.first.end == index {
            self.first.end += 1;
        } else {
            self.others.push(index);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.first.clone().chain(self.others.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn members_are_what_was_added(indices in prop::collection::btree_set(0_usize..40, 0..30)) {
            let mut members = Members::default();
            for &index in &indices {
                members.push(index);
            }
            prop_assert_eq!(members.len(), indices.len());
            prop_assert_eq!(members.is_empty(), indices.is_empty());
            prop_assert_eq!(members.iter().collect::<BTreeSet<_>>(), indices.clone());
            prop_assert!(members.iter().is_sorted());
        }
    }
}
