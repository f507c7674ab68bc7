//! Which calls have a result.

use std::mem;

use crate::calls::CallBook;
use crate::group::ChainIndex;
use crate::text::Text;

/// Which calls have a result, to tell without another table that all results have ids of their own:
/// calls of one chain do.
pub(super) struct Answered {
    has_result: Vec<bool>,
    chain: Option<ChainIndex>,
    /// Whether every result answers a call that no other one does, all of them of one chain.
    pub(super) is_each_once: bool,
}

impl Answered {
    pub(super) fn of<T: Text>(calls: &CallBook<T>) -> Self {
        Self {
            has_result: vec![false; calls.len()],
            chain: None,
            is_each_once: true,
        }
    }

    /// Takes note of a result and the place of its call.
    pub(super) fn add(&mut self, chain: ChainIndex, call: Option<usize>) {
        let has_result = call.and_then(|call| self.has_result.get_mut(call));
        self.is_each_once &= *self.chain.get_or_insert(chain) == chain
            && has_result.is_some_and(|has_result| !mem::replace(has_result, true));
    }
}
