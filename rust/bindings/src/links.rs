//! By what a past hangs together with what follows it.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{Chain, Outline};

use crate::address::NumberSet;
use crate::raw::is_same_text;
use crate::text::PyText;

/// So many pairs of ids are compared sooner than a table of them is made.
const FEW_PAIRS: usize = 256;

/// The ids and open groups of the beginning of a conversation, of which every group has ended.
#[derive(Default)]
pub(crate) struct Links {
    /// The hashes of its ids.
    ids: NumberSet,
    open_chains: Vec<OwnChain>,
}

/// A chain apart from the call that met it.
struct OwnChain {
    is_sidechain: bool,
    agent_id: Option<Py<PyString>>,
}

impl Links {
    /// Tells whether what follows has no call, result, answer or open group in common with it.
    pub(crate) fn are_apart_from(&self, rest: &Outline<PyText<'_>>) -> bool {
        let first_chain = rest.first_chain.as_ref();
        let ended = |open: &OwnChain| first_chain.is_some_and(|first| open.is(first));
        let mut left = self.open_chains.iter().filter(|open| !ended(open));
        !left.any(|open| rest.chains.iter().any(|chain| open.is(chain)))
            && !rest.ids.iter().any(|id| self.ids.contains(&id.number()))
    }

    /// Takes the messages of an outline over up to its boundary.
    pub(crate) fn grow(&mut self, closed: &Outline<PyText<'_>>) {
        let ids = closed.ids.iter().take(closed.ids_before);
        self.ids.extend(ids.map(PyText::number));
        if let Some(first_chain) = &closed.first_chain {
            self.open_chains.retain(|open| !open.is(first_chain));
        }
        for chain in &closed.open_chains {
            if !self.open_chains.iter().any(|open| open.is(chain)) {
                self.open_chains.push(OwnChain::of(chain));
            }
        }
    }
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
