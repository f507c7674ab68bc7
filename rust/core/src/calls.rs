//! Calls: which tool each result belongs to, by the calls of its chain.

use std::hash::BuildHasher as _;
use std::mem;

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

/// The calls of an input by chain and id, and which of them were answered so far.
#[derive(Debug)]
pub(crate) struct CallBook<T> {
    calls: Table<Calls<T>>,
    /// Results come in the order of their calls as a rule: the place of the next one.
    expected: usize,
}

/// The calls of one chain and id; nearly always there is but one.
#[derive(Debug)]
struct Calls<T> {
    chain: ChainIndex,
    tool_use_id: T,
    first: Call<T>,
    last: Option<Box<Call<T>>>,
    has_result: bool,
}

/// The call that a result belongs to.
pub(crate) struct Answered<'a, T> {
    pub(crate) call: &'a Call<T>,
    /// Whether no other result has answered a call of the same chain and id.
    pub(crate) is_first: bool,
}

impl<T: Text> CallBook<T> {
    /// Starts without calls, with room for some.
    pub(crate) fn with_capacity(calls: usize) -> Self {
        let mut book = Self {
            calls: Table::new(),
            expected: 0,
        };
        book.expect(calls);
        book
    }

    /// Makes room for so many more calls.
    pub(crate) fn expect(&mut self, calls: usize) {
        self.calls.expect(calls);
    }

    /// Takes note of a call; calls come in the order of their messages.
    pub(crate) fn add(&mut self, chain: ChainIndex, tool_use_id: T, call: Call<T>) {
        let hash = KeyState.hash_one((chain, &tool_use_id));
        if let Some(place) = self.find(hash, chain, &tool_use_id) {
            self.calls.get_mut(place).last = Some(Box::new(call));
            return;
        }
        let calls = Calls {
            chain,
            tool_use_id,
            first: call,
            last: None,
            has_result: false,
        };
        self.calls.add(hash, calls);
    }

    /// Gives the last call so far with the id of a result, and takes note that it was answered.
    #[inline]
    pub(crate) fn answer(&mut self, chain: ChainIndex, tool_use_id: &T) -> Option<Answered<'_, T>> {
        let next = self.calls.at(self.expected);
        if !next.is_some_and(|calls| calls.is_of(chain, tool_use_id)) {
            self.expected = self.place_of(chain, tool_use_id)?;
        }
        let calls = self.calls.get_mut(self.expected);
        self.expected += 1;
        Some(Answered {
            is_first: !mem::replace(&mut calls.has_result, true),
            call: calls.last.as_deref().unwrap_or(&calls.first),
        })
    }

    /// The same for a result before which there was no call: gives the first one.
    pub(crate) fn answer_late(
        &mut self,
        chain: ChainIndex,
        tool_use_id: &T,
    ) -> Option<Answered<'_, T>> {
        let place = self.place_of(chain, tool_use_id)?;
        let calls = self.calls.get_mut(place);
        Some(Answered {
            is_first: !mem::replace(&mut calls.has_result, true),
            call: &calls.first,
        })
    }

    #[cold]
    fn place_of(&self, chain: ChainIndex, tool_use_id: &T) -> Option<usize> {
        let hash = KeyState.hash_one((chain, tool_use_id));
        self.find(hash, chain, tool_use_id)
    }

    /// The place of the calls with an id.
    fn find(&self, hash: u64, chain: ChainIndex, tool_use_id: &T) -> Option<usize> {
        self.calls
            .find(hash, |calls| calls.is_of(chain, tool_use_id))
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
        /// The rule as it is worded, by looking at every call: the last one before a result, else
        /// the first one after it.
        #[test]
        fn the_nearest_call_is_found(before in 0_usize..4, after in 0_usize..4) {
            let chain = Grouper::<String>::new().chain(Chain::default());
            let mut book = CallBook::with_capacity(0);
            let add = |book: &mut CallBook<String>, position: usize| {
                let call = Call { tool_name: Some(position.to_string()), is_for_code: false };
                book.add(chain, "t".to_owned(), call);
            };
            let name = |answered: Answered<'_, String>| {
                assert!(answered.is_first);
                answered.call.tool_name.clone()
            };
            (0..before).for_each(|position| add(&mut book, position));
            let mut nearest = book.answer(chain, &"t".to_owned()).and_then(name);
            (before..before + after).for_each(|position| add(&mut book, position));
            if nearest.is_none() {
                nearest = book.answer_late(chain, &"t".to_owned()).and_then(name);
            }
            let expected = before.checked_sub(1).or((after > 0).then_some(0));
            prop_assert_eq!(nearest, expected.map(|position| position.to_string()));
            let again = book.answer(chain, &"t".to_owned());
            prop_assert!(again.is_none_or(|answered| !answered.is_first));
        }
    }
}
