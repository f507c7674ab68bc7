//! The plain rule as it is worded.

use std::cmp::Reverse;

/// Takes the largest, in a stable order, as long as the total is over the limit.
pub(crate) fn select(sizes: &[i64], total: i128, limit: i128) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| Reverse(sizes[index]));
    let mut left = total;
    order
        .into_iter()
        .take_while(|&index| {
            let is_over = left > limit;
            left = left.saturating_sub(i128::from(sizes[index]));
            is_over
        })
        .collect()
}
