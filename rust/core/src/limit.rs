//! Limits: the largest total that is allowed.

/// The largest total that is allowed, as a whole number: totals are whole, so this loses nothing.
///
/// ```
/// use toolbudget_core::Limit;
///
/// assert!(Limit::from(199_999.5).allows(199_999));
/// assert!(Limit::from(199_999.5).is_exceeded_by(200_000));
/// assert!(!Limit::from(f64::INFINITY).is_exceeded_by(i128::MAX));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// `None` for a limit that is no number: it allows nothing, and nothing exceeds it.
    largest: Option<i128>,
}

impl Limit {
    /// Tells whether `total <= limit`.
    #[must_use]
    pub const fn allows(self, total: i128) -> bool {
        matches!(self.largest, Some(largest) if total <= largest)
    }

    /// Tells whether `total > limit`.
    #[must_use]
    pub const fn is_exceeded_by(self, total: i128) -> bool {
        matches!(self.largest, Some(largest) if total > largest)
    }

    /// By how much `total` is over the limit; `None` if that is no usual number.
    pub(crate) fn excess_of(self, total: i128) -> Option<u64> {
        let excess = total.checked_sub(self.largest?)?;
        u64::try_from(excess.max(0)).ok()
    }
}

impl From<i128> for Limit {
    fn from(limit: i128) -> Self {
        Self {
            largest: Some(limit),
        }
    }
}

impl From<f64> for Limit {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, as it should"
    )]
    fn from(limit: f64) -> Self {
        Self {
            largest: (!limit.is_nan()).then(|| limit.floor() as i128),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_limits_have_a_whole_number() {
        assert_eq!(Limit::from(f64::NEG_INFINITY), Limit::from(i128::MIN));
        assert_eq!(Limit::from(f64::INFINITY), Limit::from(i128::MAX));
        assert_eq!(Limit::from(-0.5), Limit::from(-1));
    }

    #[test]
    fn an_excess_is_what_is_over() {
        assert_eq!(Limit::from(10).excess_of(15), Some(5));
        assert_eq!(Limit::from(10).excess_of(-15), Some(0));
        assert_eq!(Limit::from(i128::MIN).excess_of(1), None);
        assert_eq!(Limit::from(f64::NAN).excess_of(1), None);
    }

    #[test]
    fn nothing_compares_with_what_is_no_number() {
        for total in [i128::MIN, 0, i128::MAX] {
            assert!(!Limit::from(f64::NAN).allows(total));
            assert!(!Limit::from(f64::NAN).is_exceeded_by(total));
        }
    }

    proptest! {
        /// Below 2^53 a float holds the total exactly, so both comparisons can be made.
        #[test]
        fn a_whole_limit_allows_the_same_totals(
            total in -(1_i64 << 53)..1 << 53,
            distance in -2.0_f64..2.0,
        ) {
            #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
            let total_as_float = total as f64;
            let limit = total_as_float + distance;
            let whole = Limit::from(limit);
            prop_assert_eq!(whole.allows(total.into()), total_as_float <= limit);
            prop_assert_eq!(whole.is_exceeded_by(total.into()), total_as_float > limit);
        }
    }
}
