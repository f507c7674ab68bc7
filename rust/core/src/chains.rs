//! The chains of a conversation, numbered in the order in which they are met.

use crate::group::Chain;
use crate::hash::KeyMap;
use crate::text::Text;

/// So many are looked through one by one: as a rule there is one, and no table is made for it.
const FEW: usize = 8;

#[derive(Debug)]
pub(crate) struct Chains<T> {
    met: Vec<Chain<T>>,
    /// The one that was asked for last: the next message is of the same as a rule.
    last: usize,
    /// The number of each chain, once there are more than [`FEW`].
    numbers: KeyMap<Chain<T>, usize>,
}

impl<T: Text> Chains<T> {
    /// Starts before the first one.
    pub(crate) fn new() -> Self {
        Self {
            met: Vec::new(),
            last: 0,
            numbers: KeyMap::default(),
        }
    }

    /// The number of a chain, and whether it was not met before.
    pub(crate) fn number_of(&mut self, chain: Chain<T>) -> (usize, bool) {
        if self.met.get(self.last) == Some(&chain) {
            return (self.last, false);
        }
        let known = self.find(&chain);
        self.last = known.unwrap_or(self.met.len());
        if known.is_none() {
            self.add(chain);
        }
        (self.last, known.is_none())
    }

    fn find(&self, chain: &Chain<T>) -> Option<usize> {
        if self.met.len() > FEW {
            return self.numbers.get(chain).copied();
        }
        self.met.iter().position(|met| met == chain)
    }

    fn add(&mut self, chain: Chain<T>) {
        self.met.push(chain);
        if self.met.len() > FEW {
            let numbered = self.met.iter().enumerate().skip(self.numbers.len());
            let numbered = numbered.map(|(number, chain)| (chain.clone(), number));
            self.numbers.extend(numbered);
        }
    }

    /// The chain with a number that was given out.
    pub(crate) fn get(&self, number: usize) -> &Chain<T> {
        &self.met[number]
    }

    /// All of them.
    pub(crate) fn into_met(self) -> Vec<Chain<T>> {
        self.met
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_chain_has_the_number_of_its_first_meeting(
            names in prop::collection::vec(prop::option::of(0_u8..24), 0..80)
        ) {
            let mut chains = Chains::new();
            let mut met: Vec<Option<u8>> = Vec::new();
            for name in names {
                let known = met.iter().position(|other| *other == name);
                let chain = Chain {
                    is_sidechain: name.is_some(),
                    agent_id: name.map(|name| name.to_string()),
                };
                let expected = (known.unwrap_or(met.len()), known.is_none());
                prop_assert_eq!(chains.number_of(chain.clone()), expected);
                prop_assert_eq!(chains.get(expected.0), &chain);
                if known.is_none() {
                    met.push(name);
                }
            }
            prop_assert_eq!(chains.into_met().len(), met.len());
        }
    }
}
