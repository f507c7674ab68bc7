//! Outlines: what a part of a message list could have to do with the parts before and after it.

use crate::chains::Chains;
use crate::group::Chain;
use crate::hash::KeySet;
use crate::text::Text;

/// By what a message list hangs together, and where it could be cut in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline<T> {
    /// Index of an assistant message before which it could be cut; 0 if there is none.
    pub boundary: usize,
    /// Ids of assistant messages, calls and results, in order of appearance.
    pub ids: Vec<T>,
    /// How many of `ids` stand before the boundary.
    pub ids_before: usize,
    /// The chains that its messages belong to, in the order in which they begin.
    pub chains: Vec<Chain<T>>,
    /// Those whose last group no assistant message before the boundary ends. The one at the boundary
    /// may end one of these; of the others no message stands behind it.
    pub open_chains: Vec<Chain<T>>,
    /// That of the first message, if it is an assistant message.
    pub first_chain: Option<Chain<T>>,
}

/// Makes an [`Outline`] in one pass over a list.
///
/// ```
/// use toolbudget_core::{Chain, Drawer};
///
/// let mut drawer = Drawer::new();
/// drawer.begin_user(0, Chain::default());
/// drawer.add_id("t1".to_owned());
/// drawer.begin_assistant(1, Chain::default(), Some("m2".to_owned()));
/// let outline = drawer.finish();
/// assert_eq!((outline.boundary, outline.ids_before), (1, 1));
/// assert_eq!(outline.ids, ["t1", "m2"]);
/// ```
#[derive(Debug)]
pub struct Drawer<T> {
    ids: Vec<T>,
    chains: Chains<T>,
    /// What was drawn of each of them.
    drawn: Vec<DrawnChain<T>>,
    /// How many chains are open: a chain is from a user message on.
    open: usize,
    /// By how many are open: the last message that could be a boundary.
    starts: Vec<Option<Start>>,
    first: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Start {
    index: usize,
    ids_before: usize,
    /// The chain whose group it ends.
    ended: Option<usize>,
}

#[derive(Debug)]
struct DrawnChain<T> {
    last_message: usize,
    is_open: bool,
    seen_message_ids: KeySet<T>,
}

impl<T: Text> Drawer<T> {
    /// Starts before the first message.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Makes room for so many ids, which as a rule is enough.
    #[must_use]
    pub fn with_capacity(ids: usize) -> Self {
        Self {
            ids: Vec::with_capacity(ids),
            chains: Chains::new(),
            drawn: Vec::new(),
            open: 0,
            starts: Vec::new(),
            first: None,
        }
    }

    /// Goes on with an assistant message. `index` grows from message to message.
    pub fn begin_assistant(&mut self, index: usize, chain: Chain<T>, message_id: Option<T>) {
        let chain = self.go_on(index, chain);
        if index == 0 {
            self.first = Some(chain);
        }
        let drawn = &mut self.drawn[chain];
        let is_start = match &message_id {
            Some(id) => drawn.seen_message_ids.insert(id.clone()),
            None => true,
        };
        if is_start {
            let ended = drawn.is_open.then_some(chain);
            self.open -= usize::from(drawn.is_open);
            drawn.is_open = false;
            if self.starts.len() <= self.open {
                self.starts.resize(self.open + 1, None);
            }
            self.starts[self.open] = Some(Start {
                index,
                ids_before: self.ids.len(),
                ended,
            });
        }
        self.ids.extend(message_id);
    }

    /// Goes on with a user message.
    pub fn begin_user(&mut self, index: usize, chain: Chain<T>) {
        let chain = self.go_on(index, chain);
        let drawn = &mut self.drawn[chain];
        self.open += usize::from(!drawn.is_open);
        drawn.is_open = true;
    }

    /// Adds the id of a call or result of the message that was begun last.
    pub fn add_id(&mut self, id: T) {
        self.ids.push(id);
    }

    fn go_on(&mut self, index: usize, chain: Chain<T>) -> usize {
        let (place, is_new) = self.chains.number_of(chain);
        if is_new {
            self.drawn.push(DrawnChain {
                last_message: index,
                is_open: false,
                seen_message_ids: KeySet::default(),
            });
        }
        self.drawn[place].last_message = index;
        place
    }

    /// Takes the last boundary that no open chain goes on behind.
    #[must_use]
    pub fn finish(self) -> Outline<T> {
        // Open, and without a message since: these were open there too.
        let ends = self.drawn.iter().filter(|drawn| drawn.is_open);
        let mut ends: Vec<usize> = ends.map(|drawn| drawn.last_message).collect();
        ends.sort_unstable();
        let mut boundary = Start {
            index: 0,
            ids_before: 0,
            ended: None,
        };
        for (count, start) in self.starts.iter().enumerate() {
            let Some(start) = *start else { continue };
            let left = ends.partition_point(|&end| end < start.index);
            if start.index > boundary.index && left == count {
                boundary = start;
            }
        }
        let is_left = |drawn: &DrawnChain<T>| drawn.is_open && drawn.last_message < boundary.index;
        let left = self.drawn.iter().enumerate();
        let left = left.filter_map(|(place, drawn)| is_left(drawn).then_some(place));
        let open = left.chain(boundary.ended);
        let open = open.map(|place| self.chains.get(place).clone()).collect();
        Outline {
            boundary: boundary.index,
            ids_before: boundary.ids_before,
            open_chains: open,
            first_chain: self.first.map(|place| self.chains.get(place).clone()),
            chains: self.chains.into_met(),
            ids: self.ids,
        }
    }
}

impl<T: Text> Default for Drawer<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> Chain<String> {
        Chain {
            is_sidechain: true,
            agent_id: Some(name.to_owned()),
        }
    }

    #[test]
    fn a_chain_that_goes_on_behind_moves_the_boundary_before_it() {
        let mut drawer = Drawer::<String>::new();
        drawer.begin_user(0, Chain::default());
        drawer.begin_assistant(1, Chain::default(), None);
        drawer.begin_user(2, agent("a"));
        drawer.begin_assistant(3, Chain::default(), None);
        drawer.begin_user(4, agent("a"));
        let outline = drawer.finish();
        assert_eq!(outline.boundary, 1);
        assert_eq!(outline.open_chains, [Chain::default()]);
        assert_eq!(outline.first_chain, None);
    }

    #[test]
    fn a_chain_that_was_left_alone_stays_open_before_the_boundary() {
        let mut drawer = Drawer::<String>::new();
        drawer.begin_user(0, agent("a"));
        drawer.begin_user(1, Chain::default());
        drawer.begin_assistant(2, Chain::default(), None);
        let outline = drawer.finish();
        assert_eq!(outline.boundary, 2);
        assert_eq!(outline.open_chains, [agent("a"), Chain::default()]);
        assert_eq!(outline.chains, [agent("a"), Chain::default()]);
    }

    #[test]
    fn a_streamed_answer_has_its_boundary_before_its_first_record() {
        let mut drawer = Drawer::new();
        let id = |name: &str| Some(name.to_owned());
        drawer.begin_assistant(0, Chain::default(), id("m1"));
        drawer.begin_user(1, Chain::default());
        drawer.begin_assistant(2, Chain::default(), id("m2"));
        drawer.begin_user(3, Chain::default());
        drawer.begin_assistant(4, Chain::default(), id("m2"));
        let outline = drawer.finish();
        assert_eq!(outline.boundary, 2);
        assert_eq!(outline.first_chain, Some(Chain::default()));
    }
}
