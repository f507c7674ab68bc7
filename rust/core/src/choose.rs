//! Choosing among the fresh results of one group: largest first, previews counted, shrinking.

mod forecast;

use crate::largest::LargestFirst;
use crate::limit::Limit;
use crate::replacement::{FRAME_CHARS, Outlook, Replacement};
use crate::unit::{Measure, Unit};
use forecast::Forecast;

/// Shares of the preview's size, tried in this order until the group fits.
const PREVIEW_STEPS_PERCENT: [i128; 5] = [100, 50, 25, 10, 0];

/// What counts towards the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// All that the model sees: previews and standing replacements too.
    Visible,
    /// Originals alone, by the plain rule.
    Originals,
}

/// By which limits to choose.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The largest size of a group, in the unit.
    pub limit: Limit,
    /// Size of a preview before any shrinking.
    pub preview_bytes: i128,
    /// What counts towards the limit.
    pub accounting: Accounting,
    /// What the limit and the totals count. The order of the choice is that of characters.
    pub unit: Unit,
}

/// Sizes of one group by kind, in the unit of its limit; exempt results are in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Kept results.
    pub frozen: i128,
    /// Replacements that stand already.
    pub standing: i128,
    /// Fresh results before the choice.
    pub fresh: i128,
    /// What the choice takes off.
    pub gained: i128,
}

impl Totals {
    /// What the limit bounds.
    #[must_use]
    pub const fn visible(&self, accounting: Accounting) -> i128 {
        let standing = match accounting {
            Accounting::Visible => self.standing,
            Accounting::Originals => 0,
        };
        self.frozen + standing + self.fresh - self.gained
    }
}

/// One result that may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Choosable {
    /// Characters of its text.
    pub size_chars: u64,
    /// The size of its text in the unit of the limit.
    pub size: u64,
    /// How often it stands in its group.
    pub occurrences: usize,
}

impl Choosable {
    /// The size of all its occurrences together, in the unit of the limit.
    pub(crate) fn total(self) -> i128 {
        times(i128::from(self.size), self.occurrences)
    }
}

/// A replacement that was built, in whatever form.
pub trait Built {
    /// Its characters.
    fn size_chars(&self) -> u64;

    /// Its size in another unit than characters.
    fn measure(&self, unit: Unit) -> u64;

    /// Its size in any unit.
    fn size(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Chars => self.size_chars(),
            Unit::Tokens | Unit::Bytes => self.measure(unit),
        }
    }
}

impl Built for Replacement {
    fn size_chars(&self) -> u64 {
        self.size_chars
    }

    fn measure(&self, unit: Unit) -> u64 {
        Measure::of(&self.text, unit)
    }
}

/// The size of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementSize {
    /// Its characters.
    pub chars: u64,
    /// Its size in the unit of the limit.
    pub size: u64,
}

impl ReplacementSize {
    /// That of so many characters, if the limit counts them.
    #[must_use]
    pub const fn in_chars(chars: u64) -> Self {
        Self { chars, size: chars }
    }

    /// That of a replacement which was built, if the limit counts `unit`.
    #[must_use]
    pub fn of(built: &impl Built, unit: Unit) -> Self {
        Self {
            chars: built.size_chars(),
            size: built.size(unit),
        }
    }
}

/// What is asked about replacements, by the index of their item, to choose among them.
pub trait ReplacementSizes {
    /// What may go wrong; choosing ends with the first one.
    type Error;

    /// What is known of every item's text without a look at it.
    fn outlook_of_all(&self) -> Outlook {
        Outlook::Unknown
    }

    /// What is known of an item's text before its replacement is measured, with a preview of so many
    /// bytes or fewer. A preview with which a group surely does not fit is passed over, so that the
    /// more this says, the less is asked.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn outlook(&mut self, item: usize, preview_bytes: i128) -> Result<Outlook, Self::Error> {
        let _ = (item, preview_bytes);
        Ok(Outlook::Unknown)
    }

    /// The size of a replacement. No choice depends on more, so that one whose size is known
    /// otherwise need not be built for it.
    ///
    /// # Errors
    ///
    /// What the replacement says cannot be found out.
    fn size(&mut self, item: usize, preview_bytes: i128) -> Result<ReplacementSize, Self::Error>;
}

impl<F, E> ReplacementSizes for F
where
    F: FnMut(usize, i128) -> Result<ReplacementSize, E>,
{
    type Error = E;

    fn size(&mut self, item: usize, preview_bytes: i128) -> Result<ReplacementSize, E> {
        self(item, preview_bytes)
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The step at which the group fits, or the last one.
    pub preview_bytes: i128,
    /// Indices into the items, in the order taken.
    pub taken: Vec<usize>,
}

/// Chooses what to replace in a group that is over the limit, and notes the gain in `totals`.
///
/// The first preview size at which the group fits holds for all; if none fits, the smallest one.
///
/// # Errors
///
/// Those of `sizes`.
///
/// ```
/// use toolbudget_core::{
///     Accounting, Budget, Choosable, ReplacementSize, Totals, Unit, choose,
/// };
///
/// let items = [300, 900].map(|size| Choosable { size_chars: size, size, occurrences: 1 });
/// let budget = Budget {
///     limit: 600.into(),
///     preview_bytes: 400,
///     accounting: Accounting::Visible,
///     unit: Unit::Chars,
/// };
/// let mut totals = Totals { fresh: 1_200, ..Totals::default() };
/// let chosen = choose(&items, &mut totals, &budget, |_, preview_bytes| {
///     Ok::<_, ()>(ReplacementSize::in_chars(100 + preview_bytes as u64))
/// })?;
/// assert_eq!(chosen.preview_bytes, 200);
/// assert_eq!(chosen.taken, [1]);
/// assert_eq!(totals.visible(Accounting::Visible), 600);
/// # Ok::<(), ()>(())
/// ```
pub fn choose<S: ReplacementSizes>(
    items: &[Choosable],
    totals: &mut Totals,
    budget: &Budget,
    mut sizes: S,
) -> Result<Chosen, S::Error> {
    let mut largest_first = LargestFirst::of(items.iter().map(|item| item.size_chars));
    let visible = totals.visible(budget.accounting);
    let mut chosen = Chosen {
        preview_bytes: budget.preview_bytes,
        taken: Vec::new(),
    };
    let mut forecast = Forecast::of(items, visible, budget);
    let mut steps = preview_steps(totals, budget).peekable();
    while let Some(preview_bytes) = steps.next() {
        let is_last = steps.peek().is_none();
        if !is_last && !forecast.may_fit(preview_bytes, &mut largest_first, &mut sizes)? {
            continue;
        }
        let mut attempt = Attempt::new(visible, budget);
        for rank in 0.. {
            if attempt.fits() {
                break;
            }
            let Some((index, item)) = of_rank(rank, items, &mut largest_first) else {
                break;
            };
            attempt.take(index, item, sizes.size(index, preview_bytes)?);
        }
        totals.gained = visible.saturating_sub(attempt.visible);
        let fits = attempt.fits();
        chosen = Chosen {
            preview_bytes,
            taken: attempt.taken,
        };
        if fits {
            break;
        }
    }
    Ok(chosen)
}

/// The index of an item and the item, the largest one first; `None` from the first one on that is no
/// longer than a frame: none of these can be replaced.
#[inline]
fn of_rank(
    rank: usize,
    items: &[Choosable],
    largest_first: &mut LargestFirst,
) -> Option<(usize, Choosable)> {
    let index = largest_first.at(rank)?;
    let item = items[index];
    (item.size_chars > FRAME_CHARS).then_some((index, item))
}

/// The sizes of previews to try. If what is fixed is over the limit already, shrinking is in vain.
fn preview_steps(totals: &Totals, budget: &Budget) -> impl Iterator<Item = i128> + use<> {
    let fixed = totals.frozen.saturating_add(totals.standing);
    let may_shrink =
        budget.accounting == Accounting::Visible && !budget.limit.is_exceeded_by(fixed);
    let steps = if may_shrink {
        &PREVIEW_STEPS_PERCENT[..]
    } else {
        &PREVIEW_STEPS_PERCENT[..1]
    };
    let preview_bytes = budget.preview_bytes;
    steps
        .iter()
        .map(move |percent| share_of(preview_bytes, *percent))
}

/// A percentage, rounded down; no product is larger than the result.
const fn share_of(preview_bytes: i128, percent: i128) -> i128 {
    preview_bytes / 100 * percent + (preview_bytes % 100 * percent).div_euclid(100)
}

/// A choice with one size of previews.
struct Attempt<'a> {
    budget: &'a Budget,
    visible: i128,
    taken: Vec<usize>,
}

impl<'a> Attempt<'a> {
    const fn new(visible: i128, budget: &'a Budget) -> Self {
        Self {
            budget,
            visible,
            taken: Vec::new(),
        }
    }

    const fn fits(&self) -> bool {
        self.budget.limit.allows(self.visible)
    }

    /// Takes an item, unless its replacement would not be shorter.
    fn take(&mut self, index: usize, item: Choosable, replacement: ReplacementSize) {
        if replacement.chars >= item.size_chars {
            return;
        }
        let shown = match self.budget.accounting {
            Accounting::Visible => replacement.size,
            Accounting::Originals => 0,
        };
        // Of other units a text with fewer characters may have more.
        let gain = i128::from(item.size) - i128::from(shown);
        self.visible = self.visible.saturating_sub(times(gain, item.occurrences));
        self.taken.push(index);
    }
}

fn times(size: i128, occurrences: usize) -> i128 {
    if occurrences == 1 {
        return size;
    }
    size.saturating_mul(i128::try_from(occurrences).unwrap_or(i128::MAX))
}

#[cfg(test)]
mod tests;
