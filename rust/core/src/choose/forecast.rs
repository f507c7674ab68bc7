//! Telling that a group does not fit before any replacement is measured.

use std::iter::repeat;

use super::{Budget, Choosable, ReplacementSizes, times};
use crate::replacement::{FRAME_CHARS, Outlook};
use crate::unit::Unit;

/// The items of a group that is over its limit, and what is known of their texts so far.
pub(super) struct Forecast<'a> {
    largest_first: &'a [(usize, Choosable)],
    visible: i128,
    budget: &'a Budget,
    /// Of the first items; asked for when they are needed.
    outlooks: Vec<Outlook>,
}

impl<'a> Forecast<'a> {
    pub(super) const fn of(
        largest_first: &'a [(usize, Choosable)],
        visible: i128,
        budget: &'a Budget,
    ) -> Self {
        Self {
            largest_first,
            visible,
            budget,
            outlooks: Vec::new(),
        }
    }

    /// Whether the group may fit with previews of such a size.
    pub(super) fn may_fit<S: ReplacementSizes>(
        &mut self,
        preview_bytes: i128,
        sizes: &mut S,
    ) -> Result<bool, S::Error> {
        // In other units a replacement may be smaller than its characters say.
        if self.budget.unit != Unit::Chars {
            return Ok(true);
        }
        // Nothing need be asked where even what holds of all texts tells that it does not fit.
        if !self.fits_at_best(preview_bytes, sizes.outlook_of_all()) {
            return Ok(false);
        }
        let mut visible = self.visible;
        for (place, &(index, item)) in self.largest_first.iter().enumerate() {
            if self.budget.limit.allows(visible) {
                return Ok(true);
            }
            if item.size_chars <= FRAME_CHARS {
                break;
            }
            let outlook = match self.outlooks.get(place) {
                Some(outlook) => *outlook,
                None => self.ask(index, preview_bytes, sizes)?,
            };
            visible = visible.saturating_sub(most_gain(item, outlook, preview_bytes));
        }
        Ok(self.budget.limit.allows(visible))
    }

    /// Whether the group may fit by what is known of its texts, and what holds of all others.
    fn fits_at_best(&self, preview_bytes: i128, of_others: Outlook) -> bool {
        let mut visible = self.visible;
        let known = self.outlooks.iter().copied();
        for ((_, item), outlook) in self
            .largest_first
            .iter()
            .zip(known.chain(repeat(of_others)))
        {
            if self.budget.limit.allows(visible) {
                return true;
            }
            if item.size_chars <= FRAME_CHARS {
                break;
            }
            visible = visible.saturating_sub(most_gain(*item, outlook, preview_bytes));
        }
        self.budget.limit.allows(visible)
    }

    fn ask<S: ReplacementSizes>(
        &mut self,
        index: usize,
        preview_bytes: i128,
        sizes: &mut S,
    ) -> Result<Outlook, S::Error> {
        let outlook = sizes.outlook(index, preview_bytes)?;
        self.outlooks.push(outlook);
        Ok(outlook)
    }
}

/// What is taken off at most if an item is replaced.
#[inline]
fn most_gain(item: Choosable, outlook: Outlook, preview_bytes: i128) -> i128 {
    let least_chars = outlook.least_chars(item.size_chars, preview_bytes);
    let gain = item.size_chars.saturating_sub(least_chars);
    times(gain.into(), item.occurrences)
}
