//! Telling that a group does not fit before any replacement is measured.

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
                None => self.ask(index, sizes)?,
            };
            let least_chars = outlook.least_chars(item.size_chars, preview_bytes);
            let most_gain = i128::from(item.size_chars.saturating_sub(least_chars));
            visible = visible.saturating_sub(times(most_gain, item.occurrences));
        }
        Ok(self.budget.limit.allows(visible))
    }

    fn ask<S: ReplacementSizes>(
        &mut self,
        index: usize,
        sizes: &mut S,
    ) -> Result<Outlook, S::Error> {
        let outlook = sizes.outlook(index)?;
        self.outlooks.push(outlook);
        Ok(outlook)
    }
}
