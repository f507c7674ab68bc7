//! Telling that a group does not fit before any replacement is measured.

use super::{Budget, Choosable, ReplacementSizes, of_rank};
use crate::largest::LargestFirst;
use crate::replacement::{LeastChars, Outlook};
use crate::unit::Unit;

/// The items of a group that is over its limit, and what is known of their texts so far.
pub(super) struct Forecast<'a> {
    items: &'a [Choosable],
    visible: i128,
    budget: &'a Budget,
    /// Of the first items; asked for when they are needed.
    outlooks: Vec<Outlook>,
}

impl<'a> Forecast<'a> {
    pub(super) const fn of(items: &'a [Choosable], visible: i128, budget: &'a Budget) -> Self {
        Self {
            items,
            visible,
            budget,
            outlooks: Vec::new(),
        }
    }

    /// Whether the group may fit with previews of such a size.
    pub(super) fn may_fit<S: ReplacementSizes>(
        &mut self,
        preview_bytes: i128,
        largest_first: &mut LargestFirst,
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
        let of_others = sizes.outlook_of_all();
        // What the first items that are enough at best come to: each is asked about in turn, and
        // others are counted where that is less.
        let (mut gain, mut counted) = (0_u128, 0);
        for rank in 0.. {
            while gain < excess.into() {
                let Some((_, item)) = of_rank(counted, self.items, largest_first) else {
                    return Ok(false);
                };
                // By what is known of its text, or else by what holds of all.
                let outlook = self.outlooks.get(counted).copied().unwrap_or(of_others);
                gain += u128::from(least.gain(item, outlook));
                counted += 1;
            }
            if rank == counted {
                break;
            }
            if rank == self.outlooks.len()
                && let Some((index, item)) = of_rank(rank, self.items, largest_first)
            {
                let at_best = least.gain(item, of_others);
                let outlook = sizes.outlook(index, preview_bytes)?;
                self.outlooks.push(outlook);
                gain = gain + u128::from(least.gain(item, outlook)) - u128::from(at_best);
            }
        }
        Ok(true)
    }
}

impl LeastChars {
    /// What is taken off at most if an item is replaced of whose text so much is known.
    #[inline]
    fn gain(&self, item: Choosable, outlook: Outlook) -> u64 {
        let gain = item
            .size_chars
            .saturating_sub(self.of(outlook, item.size_chars));
        if item.occurrences == 1 {
            return gain;
        }
        gain.saturating_mul(item.occurrences as u64)
    }
}
