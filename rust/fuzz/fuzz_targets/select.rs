//! Selections of any sizes.

#![no_main]

#[path = "../../core/tests/rules/oracle/select.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use toolbudget_core::select_largest;

fuzz_target!(|input: (Vec<i64>, i128, i128, bool)| {
    let (sizes, total, limit, is_near) = input;
    let sum: i128 = sizes.iter().map(|&size| i128::from(size)).sum();
    // Random totals are nearly always met at once or never.
    let (total, limit) = if is_near {
        (sum, limit % sum.max(1))
    } else {
        (total, limit)
    };
    let taken = select_largest(&sizes, total, limit.into());
    assert_eq!(taken, oracle::select(&sizes, total, limit));
});
