//! Results that one call has met, and what holds about them.

use crate::decision::Decision;
use crate::fingerprint::Fingerprint;

/// What holds about a result, wherever it was decided.
#[derive(Clone)]
pub(super) enum Decided<R> {
    Earlier(Decision<R>),
    /// Chosen in an earlier group of this call: an index into the plan's choices.
    Chosen(usize),
    /// To be decided with its group: an index into the fresh results of that.
    Fresh {
        group: usize,
        position: usize,
    },
}

/// A result that this call has met and no earlier one had decided about.
pub(super) struct Met<R> {
    /// The candidate that it was met at; another one with its id and fingerprint is the same.
    pub(super) candidate: usize,
    /// `None` for the first one with its id: nearly always that alone tells results apart, and no
    /// fingerprint is asked for.
    pub(super) fingerprint: Option<Box<Fingerprint>>,
    pub(super) decided: Decided<R>,
}

/// Where a result is found among those that were met, or is to be added.
pub(super) struct Place {
    pub(super) hash: u64,
    pub(super) fingerprint: Option<Box<Fingerprint>>,
    pub(super) known: Option<usize>,
}
