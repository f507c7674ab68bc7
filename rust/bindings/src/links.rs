//! By what a past hangs together with what follows it.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Chain, Outline};

use crate::address::{NumberMap, NumberSet};
use crate::raw::is_same_text;
use crate::text::PyText;

/// So many pairs of ids are compared sooner than a table of them is made.
const FEW_PAIRS: usize = 256;

/// The ids and open groups of the beginning of a conversation, of which every group has ended.
#[derive(Default)]
pub(crate) struct Links {
    /// The hashes of its ids.
    ids: NumberSet,
    open_chains: OwnChains,
}

/// Chains by the hashes of their agents: a conversation may have left any number of them open.
#[derive(Default)]
struct OwnChains(NumberMap<Vec<OwnChain>>);

/// A chain apart from the call that met it.
struct OwnChain {
    is_sidechain: bool,
    agent_id: Option<Py<PyString>>,
}

impl Links {
    /// Tells whether what follows has no call, result, answer or open group in common with it.
    pub(crate) fn are_apart_from(&self, rest: &Outline<PyText<'_>>) -> bool {
        let ended = rest.first_chain.as_ref();
        let mut going_on = rest.chains.iter().filter(|chain| Some(*chain) != ended);
        !going_on.any(|chain| self.open_chains.has(chain))
            && !rest.ids.iter().any(|id| self.ids.contains(&id.number()))
    }

    /// Takes the messages of an outline over up to its boundary.
    pub(crate) fn grow(&mut self, closed: &Outline<PyText<'_>>) {
        let ids = closed.ids.iter().take(closed.ids_before);
        self.ids.extend(ids.map(PyText::number));
        if let Some(first_chain) = &closed.first_chain {
            self.open_chains.remove(first_chain);
        }
        for chain in &closed.open_chains {
            self.open_chains.add(chain);
        }
    }
}

impl OwnChains {
    fn has(&self, chain: &Chain<PyText<'_>>) -> bool {
        let alike = self.0.get(&number_of(chain));
        alike.is_some_and(|alike| alike.iter().any(|own| own.is(chain)))
    }

    fn add(&mut self, chain: &Chain<PyText<'_>>) {
        if !self.has(chain) {
            let alike = self.0.entry(number_of(chain)).or_default();
            alike.push(OwnChain::of(chain));
        }
    }

    fn remove(&mut self, chain: &Chain<PyText<'_>>) {
        if let Some(alike) = self.0.get_mut(&number_of(chain)) {
            alike.retain(|own| !own.is(chain));
        }
    }
}

/// By which different chains are different as a rule.
fn number_of(chain: &Chain<PyText<'_>>) -> usize {
    chain.agent_id.as_ref().map_or(0, PyText::number)
}

/// Tells whether no id before the boundary of an outline occurs behind it.
pub(crate) fn are_parts_apart(outline: &Outline<PyText<'_>>) -> bool {
    let (before, behind) = outline.ids.split_at(outline.ids_before);
    if before.len() * behind.len() <= FEW_PAIRS {
        let mut behind = behind.iter().map(PyText::number);
        return !behind.any(|id| before.iter().any(|other| other.number() == id));
    }
    let before: NumberSet = before.iter().map(PyText::number).collect();
    !behind.iter().any(|id| before.contains(&id.number()))
}

impl OwnChain {
    fn of(chain: &Chain<PyText<'_>>) -> Self {
        let agent_id = chain.agent_id.as_ref();
        Self {
            is_sidechain: chain.is_sidechain,
            agent_id: agent_id.map(|agent_id| agent_id.as_object().clone().unbind()),
        }
    }

    fn is(&self, chain: &Chain<PyText<'_>>) -> bool {
        let is_same_agent = match (&self.agent_id, &chain.agent_id) {
            (None, None) => true,
            (Some(own), Some(other)) => {
                let other = other.as_object();
                is_same_text(own.bind(other.py()), other)
            }
            _ => false,
        };
        self.is_sidechain == chain.is_sidechain && is_same_agent
    }
}
