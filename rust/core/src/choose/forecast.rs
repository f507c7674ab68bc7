//! Telling that a group does not fit before any replacement is measured.

use super::{Budget, Choosable, ReplacementSizes};
use crate::replacement::{FRAME_CHARS, LeastChars, Outlook};
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
        let Some(excess) = self.budget.limit.excess_of(self.visible) else {
            return Ok(true);
        };
        let least = LeastChars::with(preview_bytes);
        // Nothing need be asked where even what holds of all texts tells that it does not fit.
        if !self.fits_at_best(excess, &least, sizes.outlook_of_all()) {
            return Ok(false);
        }
        let mut gain = 0_u64;
        for (place, &(index, item)) in self.largest_first.iter().enumerate() {
            if gain >= excess || item.size_chars <= FRAME_CHARS {
                break;
            }
            let outlook = match self.outlooks.get(place) {
                Some(outlook) => *outlook,
                None => self.ask(index, preview_bytes, sizes)?,
            };
            gain = gain.saturating_add(most_gain(item, least.of(outlook, item.size_chars)));
        }
        Ok(gain >= excess)
    }

    /// Whether the group may fit by what is known of its texts, and what holds of all others.
    fn fits_at_best(&self, excess: u64, least: &LeastChars, of_others: Outlook) -> bool {
        let mut gain = 0_u64;
        for (place, (_, item)) in self.largest_first.iter().enumerate() {
            if gain >= excess || item.size_chars <= FRAME_CHARS {
                break;
            }
            let outlook = self.outlooks.get(place).copied().unwrap_or(of_others);
            gain = gain.saturating_add(most_gain(*item, least.of(outlook, item.size_chars)));
        }
        gain >= excess
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

/// What is taken off at most if an item is replaced by at least so many characters.
#[inline]
const fn most_gain(item: Choosable, least_chars: u64) -> u64 {
    let gain = item.size_chars.saturating_sub(least_chars);
    if item.occurrences == 1 {
        return gain;
    }
    gain.saturating_mul(item.occurrences as u64)
}
