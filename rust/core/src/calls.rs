//! Calls: which tool each result belongs to, by the calls of its chain.

use std::hash::BuildHasher as _;

use crate::group::ChainIndex;
use crate::hash::{KeyState, Table};
use crate::text::Text;

/// Kinds of callers that are running code: what they get is data for a program, not for the model.
const CODE_CALLERS: [&str; 2] = ["code_execution", "program"];

/// A call of a tool: what the exemption of its result depends on.
#[derive(Clone, Debug)]
pub struct Call<T> {
    /// The tool, if the call names one.
    pub tool_name: Option<T>,
    /// Whether running code made it; see [`is_code_caller`].
    pub is_for_code: bool,
}

/// Tells by the kind of a call's caller whether that is running code, so that the result is data
/// for a program. A part of the text is enough, if it is not shorter than 14 bytes.
///
/// ```
/// assert!(toolbudget_core::is_code_caller(b"code_execution_20250825"));
/// assert!(!toolbudget_core::is_code_caller(b"direct"));
/// ```
#[must_use]
pub fn is_code_caller(kind: &[u8]) -> bool {
    CODE_CALLERS
        .iter()
        .any(|caller| kind.starts_with(caller.as_bytes()))
}

/// The calls of an input by chain and id, in the order of the input.
#[derive(Debug)]
pub(crate) struct CallBook<T>(Table<Calls<T>>);

#[derive(Debug)]
struct PlacedCall<T> {
    message_index: usize,
    call: Call<T>,
}

/// The calls of one chain and id; nearly always there is but one.
#[derive(Debug)]
struct Calls<T> {
    chain: ChainIndex,
    tool_use_id: T,
    first: PlacedCall<T>,
    later: Vec<PlacedCall<T>>,
}

impl<T: Text> CallBook<T> {
    /// Starts without calls, with room for some.
    pub(crate) fn with_capacity(calls: usize) -> Self {
        let mut table = Table::new();
        table.expect(calls);
        Self(table)
    }

    /// How many places there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes note of a call; calls come in the order of their messages.
    pub(crate) fn add(
        &mut self,
        chain: ChainIndex,
        tool_use_id: T,
        message_index: usize,
        call: Call<T>,
    ) {
        let placed = PlacedCall {
            message_index,
            call,
        };
        let hash = KeyState.hash_one((chain, &tool_use_id));
        if let Some(place) = self.find(hash, chain, &tool_use_id) {
            self.0.get_mut(place).later.push(placed);
            return;
        }
        let calls = Calls {
            chain,
            tool_use_id,
            first: placed,
            later: Vec::new(),
        };
        self.0.add(hash, calls);
    }

    /// Gives the last call before a result, else the first one after it.
    ///
    /// Results come in the order of their calls as a rule: `expected` is the place of the next one,
    /// where it is looked for at first. If one is found, it is the place behind that.
    pub(crate) fn nearest(
        &self,
        chain: ChainIndex,
        tool_use_id: &T,
        message_index: usize,
        expected: &mut usize,
    ) -> Option<&Call<T>> {
        let next = self.0.at(*expected);
        let calls = if let Some(calls) = next.filter(|calls| calls.is_of(chain, tool_use_id)) {
            calls
        } else {
            let hash = KeyState.hash_one((chain, tool_use_id));
            *expected = self.find(hash, chain, tool_use_id)?;
            self.0.get(*expected)
        };
        *expected += 1;
        let later = &calls.later;
        let before = later.partition_point(|placed| placed.message_index < message_index);
        let nearest = match before.checked_sub(1) {
            Some(last) => &later[last],
            None => &calls.first,
        };
        Some(&nearest.call)
    }

    /// The place of the calls with an id.
    fn find(&self, hash: u64, chain: ChainIndex, tool_use_id: &T) -> Option<usize> {
        self.0.find(hash, |calls| calls.is_of(chain, tool_use_id))
    }
}

impl<T: Text> Calls<T> {
    fn is_of(&self, chain: ChainIndex, tool_use_id: &T) -> bool {
        self.chain == chain && self.tool_use_id == *tool_use_id
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::group::{Chain, Grouper};

    proptest! {
        /// The rule as it is worded, by looking at every call.
        #[test]
        fn the_nearest_call_is_found(
            mut calls in prop::collection::vec(0_usize..20, 0..6),
            message_index in 0_usize..20,
        ) {
            calls.sort_unstable();
            let chain = Grouper::<String>::new().chain(Chain::default());
            let mut book = CallBook::with_capacity(0);
            for (position, &message_index) in calls.iter().enumerate() {
                let call = Call { tool_name: Some(position.to_string()), is_for_code: false };
                book.add(chain, "t".to_owned(), message_index, call);
            }
            let before = calls.iter().rposition(|&at| at < message_index);
            let expected = before.or_else(|| calls.iter().position(|&at| at >= message_index));
            let nearest = book.nearest(chain, &"t".to_owned(), message_index, &mut 0);
            let name = nearest.and_then(|call| call.tool_name.clone());
            prop_assert_eq!(name, expected.map(|position| position.to_string()));
        }
    }
}
