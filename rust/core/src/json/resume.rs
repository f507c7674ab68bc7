//! What a body has in common with an earlier one.

use super::document::{Form, Scan};
use super::event::ResultSpan;

/// Compared at once: memory is compared faster than byte by byte.
const STEP_BYTES: usize = 1 << 12;

/// Where to go on.
pub(super) struct Start {
    /// How many elements are the same.
    pub(super) elements: usize,
    /// The byte behind the last of them.
    pub(super) at: usize,
}

/// Results of an earlier scan that are not part of the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    pub(super) first: usize,
    pub(super) results: Vec<ResultSpan>,
    pub(super) is_nothing_else: bool,
}

impl Leftover {
    /// Which result of the earlier scan the first one is.
    #[must_use]
    pub const fn first(&self) -> usize {
        self.first
    }

    /// The results, in order, to the last one of the earlier scan.
    #[must_use]
    pub fn results(&self) -> &[ResultSpan] {
        &self.results
    }

    /// Whether the next scan has the same messages as the earlier one, and no others.
    #[must_use]
    pub const fn is_nothing_else(&self) -> bool {
        self.is_nothing_else
    }
}

/// Finds how many elements of an earlier scan are those of `body` too; `None` if there is none.
pub(super) fn find_start(body: &[u8], earlier_body: &[u8], earlier: &Scan) -> Option<Start> {
    // Records that begin as a body does are a body as soon as nothing follows the first of them.
    if earlier.form == Form::Records && earlier.begins_as_body {
        return None;
    }
    let common = common_prefix_bytes(body, earlier_body);
    // An element is an object, which ends where it ends, whatever follows.
    let elements = earlier.marks.partition_point(|mark| mark.end <= common);
    let last = earlier.marks.get(elements.checked_sub(1)?)?;
    Some(Start {
        elements,
        at: last.end,
    })
}

/// Counts the elements of an earlier body that `rest` begins with; the first of them begins there.
pub(super) fn count_elements(rest: &[u8], earlier_body: &[u8], earlier: &Scan) -> usize {
    if earlier.form != Form::Body {
        return 0;
    }
    let earlier_rest = earlier_body.get(earlier.first_at..).unwrap_or_default();
    let end = earlier.first_at + common_prefix_bytes(rest, earlier_rest);
    earlier.marks.partition_point(|mark| mark.end <= end)
}

fn common_prefix_bytes(one: &[u8], other: &[u8]) -> usize {
    let steps = one.chunks(STEP_BYTES).zip(other.chunks(STEP_BYTES));
    let same_steps = steps.take_while(|(one, other)| one == other);
    let same = same_steps.map(|(one, _)| one.len()).sum::<usize>();
    let rest = one.iter().skip(same).zip(other.iter().skip(same));
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_prefix_ends_at_the_first_difference(
            length in 0..3 * STEP_BYTES,
            cut in 0..3 * STEP_BYTES,
            place in prop::option::of(0..3 * STEP_BYTES),
        ) {
            let one = vec![7; length];
            let mut other = one.clone();
            other.truncate(cut);
            let mut expected = other.len();
            if let Some(byte) = place.and_then(|place| other.get_mut(place)) {
                *byte = 8;
                expected = place.unwrap_or_default();
            }
            prop_assert_eq!(common_prefix_bytes(&one, &other), expected);
        }
    }
}
