//! Calls: which tool each result belongs to, by the calls of its chain.

use std::hash::BuildHasher as _;

use crate::group::ChainIndex;
use crate::hash::KeyState;
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
///
/// A table of its own instead of the standard one: an input has as many calls as results, and
/// nothing is ever taken out.
#[derive(Debug)]
pub(crate) struct CallBook<T> {
    /// Places in `calls`, each where its hash points or behind; as many as a power of two.
    slots: Vec<u32>,
    calls: Vec<Calls<T>>,
}

/// A slot without a place.
const FREE: u32 = u32::MAX;

#[derive(Debug)]
struct PlacedCall<T> {
    message_index: usize,
    call: Call<T>,
}

/// The calls of one chain and id; nearly always there is but one.
#[derive(Debug)]
struct Calls<T> {
    hash: u64,
    chain: ChainIndex,
    tool_use_id: T,
    first: PlacedCall<T>,
    later: Vec<PlacedCall<T>>,
}

impl<T: Text> CallBook<T> {
    /// Starts without calls, with room for some.
    pub(crate) fn with_capacity(calls: usize) -> Self {
        let slots = calls.saturating_mul(2).max(16).next_power_of_two();
        Self {
            slots: vec![FREE; slots],
            calls: Vec::with_capacity(calls),
        }
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
        let slot = match self.find(hash, chain, &tool_use_id) {
            Ok(place) => {
                self.calls[place].later.push(placed);
                return;
            }
            Err(slot) => slot,
        };
        self.slots[slot] = u32::try_from(self.calls.len()).unwrap_or(FREE);
        self.calls.push(Calls {
            hash,
            chain,
            tool_use_id,
            first: placed,
            later: Vec::new(),
        });
        if self.calls.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// Gives the last call before a result, else the first one after it.
    pub(crate) fn nearest(
        &self,
        chain: ChainIndex,
        tool_use_id: &T,
        message_index: usize,
    ) -> Option<&Call<T>> {
        let hash = KeyState.hash_one((chain, tool_use_id));
        let calls = &self.calls[self.find(hash, chain, tool_use_id).ok()?];
        let later = &calls.later;
        let before = later.partition_point(|placed| placed.message_index < message_index);
        let nearest = match before.checked_sub(1) {
            Some(last) => &later[last],
            None => &calls.first,
        };
        Some(&nearest.call)
    }

    /// The place of the calls with an id, or the slot that it would have.
    fn find(&self, hash: u64, chain: ChainIndex, tool_use_id: &T) -> Result<usize, usize> {
        let mut slot = slot_of(hash, self.slots.len());
        loop {
            let place = self.slots[slot] as usize;
            let Some(calls) = self.calls.get(place) else {
                return Err(slot);
            };
            if calls.hash == hash && calls.chain == chain && calls.tool_use_id == *tool_use_id {
                return Ok(place);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(count, FREE);
        for (place, calls) in (0..).zip(&self.calls) {
            let mut slot = slot_of(calls.hash, count);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (count - 1);
            }
            self.slots[slot] = place;
        }
    }
}

/// The slot that a hash points to, of a power of two of them.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits are what is wanted"
)]
const fn slot_of(hash: u64, slots: usize) -> usize {
    hash as usize & (slots - 1)
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
            let nearest = book.nearest(chain, &"t".to_owned(), message_index);
            let name = nearest.and_then(|call| call.tool_name.clone());
            prop_assert_eq!(name, expected.map(|position| position.to_string()));
        }
    }
}
