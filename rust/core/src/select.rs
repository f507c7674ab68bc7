//! Selection by the plain rule: the largest first, until what is left fits.

use crate::largest::LargestFirst;
use crate::limit::Limit;

/// Chooses what to take away so that `total` comes down to `limit`.
///
/// Gives the indices into `sizes` in the order taken: the largest first, equal ones in order of
/// appearance. All of them, if the total does not come down far enough.
///
/// ```
/// use toolbudget_core::select_largest;
///
/// assert_eq!(select_largest(&[10, 30, 20], 60, 25.into()), [1, 2]);
/// assert!(select_largest(&[10, 30, 20], 60, 60.into()).is_empty());
/// ```
#[must_use]
pub fn select_largest(sizes: &[i64], total: i128, limit: Limit) -> Vec<usize> {
    if limit.allows(total) {
        return Vec::new();
    }
    let mut remaining = total;
    // What they differ by from the least one has no sign.
    let least = sizes.iter().copied().min().unwrap_or(0).min(0);
    let mut largest_first = LargestFirst::of(sizes.iter().map(|size| size.abs_diff(least)));
    let mut taken = Vec::new();
    while !limit.allows(remaining)
        && let Some(index) = largest_first.at(taken.len())
    {
        taken.push(index);
        remaining = remaining.saturating_sub(i128::from(sizes[index]));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sizes_are_taken_in_order_of_appearance() {
        assert_eq!(select_largest(&[5, 7, 5, 7], 24, 6.into()), [1, 3, 0]);
    }

    #[test]
    fn everything_is_taken_when_nothing_fits() {
        assert_eq!(select_largest(&[1, 2], 1_000, 10.into()), [1, 0]);
    }

    #[test]
    fn extreme_totals_do_not_overflow() {
        assert_eq!(select_largest(&[i64::MIN], i128::MAX, 0.into()), [0]);
    }

    #[test]
    fn a_limit_that_is_no_number_takes_all() {
        assert_eq!(select_largest(&[1, 2], 3, f64::NAN.into()), [1, 0]);
    }
}
