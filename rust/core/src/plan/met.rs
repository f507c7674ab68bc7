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
    /// The candidate that it was met at first; another one with its id and fingerprint is the same.
    pub(super) candidate: usize,
    pub(super) fingerprint: Fingerprint,
    pub(super) decided: Decided<R>,
}
