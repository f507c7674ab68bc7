//! Grouping by what the API sees as one user message, not by the list's own elements.

use crate::chains::Chains;
use crate::ids::IdTable;
use crate::text::Text;

/// Which conversation a record belongs to: the main one or a sub-agent's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain<T> {
    /// Whether the record says that it stands beside the main conversation.
    pub is_sidechain: bool,
    /// The agent, if the record names one.
    pub agent_id: Option<T>,
}

impl<T> Default for Chain<T> {
    /// The main conversation.
    fn default() -> Self {
        Self {
            is_sidechain: false,
            agent_id: None,
        }
    }
}

/// One chain among those that a [`Grouper`] has met: a short name for a [`Chain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChainIndex(usize);

impl ChainIndex {
    /// Chains are numbered in the order in which they were met.
    pub(crate) const fn number(self) -> usize {
        self.0
    }
}

/// Assigns messages to groups, in one pass over a list or a stream.
///
/// Only an assistant message whose id is new in its chain ends a group: a streamed answer comes as
/// several assistant records of one id, with user messages in between. Groups are numbered in the
/// order in which they begin.
#[derive(Debug)]
pub(crate) struct Grouper<T> {
    chains: Chains<T>,
    states: Vec<ChainState<T>>,
    groups: usize,
}

#[derive(Debug)]
struct ChainState<T> {
    message_ids: IdTable<T>,
    open_group: Option<usize>,
}

impl<T: Text> Grouper<T> {
    /// Starts before the first message.
    pub(crate) fn new() -> Self {
        Self {
            chains: Chains::new(),
            states: Vec::new(),
            groups: 0,
        }
    }

    /// Looks up a chain, or takes note of a new one. An index is of use to this grouper only.
    pub(crate) fn chain(&mut self, chain: Chain<T>) -> ChainIndex {
        // Records of one chain follow each other as a rule.
        let (number, is_new) = self.chains.number_of(chain);
        if is_new {
            self.states.push(ChainState {
                message_ids: IdTable::new(),
                open_group: None,
            });
        }
        ChainIndex(number)
    }

    /// Takes note of an assistant message; gives the group that it ends, if it ends one.
    pub(crate) fn ended_by(&mut self, chain: ChainIndex, message_id: Option<T>) -> Option<usize> {
        let state = &mut self.states[chain.0];
        let is_new = message_id.is_none_or(|id| state.message_ids.number_of(id).1);
        if is_new {
            state.open_group.take()
        } else {
            None
        }
    }

    /// Gives the group that a user message belongs to.
    pub(crate) fn group_of(&mut self, chain: ChainIndex) -> usize {
        *self.states[chain.0].open_group.get_or_insert_with(|| {
            self.groups += 1;
            self.groups - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(agent_id: Option<&str>) -> Chain<String> {
        Chain {
            is_sidechain: agent_id.is_some(),
            agent_id: agent_id.map(str::to_owned),
        }
    }

    #[test]
    fn a_streamed_answer_ends_one_group() {
        let mut grouper = Grouper::new();
        let main = grouper.chain(Chain::default());
        let id = |name: &str| Some(name.to_owned());
        assert_eq!(grouper.ended_by(main, id("m1")), None);
        assert_eq!(grouper.group_of(main), 0);
        assert_eq!(grouper.ended_by(main, id("m1")), None);
        assert_eq!(grouper.group_of(main), 0);
        assert_eq!(grouper.ended_by(main, id("m2")), Some(0));
        assert_eq!(grouper.group_of(main), 1);
    }

    #[test]
    fn an_answer_without_an_id_always_ends_a_group() {
        let mut grouper = Grouper::<String>::new();
        let main = grouper.chain(Chain::default());
        for group in 0..3 {
            assert_eq!(grouper.group_of(main), group);
            assert_eq!(grouper.ended_by(main, None), Some(group));
            assert_eq!(grouper.ended_by(main, None), None);
        }
    }

    #[test]
    fn chains_do_not_end_each_others_groups() {
        let mut grouper = Grouper::new();
        let main = grouper.chain(chain(None));
        let side = grouper.chain(chain(Some("a")));
        assert_eq!(grouper.group_of(main), 0);
        assert_eq!(grouper.group_of(side), 1);
        assert_eq!(grouper.ended_by(side, Some("m1".to_owned())), Some(1));
        assert_eq!(grouper.ended_by(main, Some("m1".to_owned())), Some(0));
        assert_eq!(grouper.chain(chain(None)), main);
        assert_eq!(grouper.chain(chain(Some("a"))), side);
    }

    proptest! {
        /// A group is what stands between two assistant messages that start something.
        #[test]
        fn groups_are_the_gaps_between_starts(
            turns in prop::collection::vec(prop::option::of(0_u8..5), 0..40)
        ) {
            let mut grouper = Grouper::new();
            let main = grouper.chain(Chain::default());
            let mut seen: Vec<u8> = Vec::new();
            let mut starts = 0;
            let mut starts_of_groups: Vec<usize> = Vec::new();
            for turn in turns {
                if let Some(id) = turn {
                    starts += usize::from(!seen.contains(&id));
                    seen.push(id);
                    grouper.ended_by(main, Some(id.to_string()));
                } else {
                    let group = grouper.group_of(main);
                    if starts_of_groups.last() != Some(&starts) {
                        starts_of_groups.push(starts);
                    }
                    prop_assert_eq!(group, starts_of_groups.len() - 1);
                }
            }
        }
    }
}
