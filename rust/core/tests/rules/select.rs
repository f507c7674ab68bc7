//! Selection against the rule.

use proptest::prelude::*;
use toolbudget_core::select_largest;

use crate::oracle::select::select;

proptest! {
    #[test]
    fn the_heap_gives_what_sorting_gives(
        sizes in prop::collection::vec(-3_i64..40, 0..60),
        total in -100_i128..2_000,
        limit in -100_i128..2_000,
    ) {
        prop_assert_eq!(
            select_largest(&sizes, total, limit.into()),
            select(&sizes, total, limit)
        );
    }
}
