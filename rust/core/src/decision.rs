//! Decisions: what identifies one, and what was decided before.

use crate::fingerprint::Fingerprint;
use crate::replacement::Replacement;

/// Identity of a decision: which id, and which text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key<T> {
    /// The id of the result.
    pub tool_use_id: T,
    /// The fingerprint of its text.
    pub fingerprint: Fingerprint,
}

/// What was decided about a result before this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<R> {
    /// It stays as it is.
    Kept,
    /// This stands in for it.
    Replaced(R),
}

/// What an undecided result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Fresh.
    Running,
    /// Kept, if a later group of its chain follows.
    Resumed,
    /// Kept, wherever it stands.
    Seen,
}

/// A recorded replacement, in whatever form its owner holds it; a clone is another handle to it.
pub trait Recorded: Clone {
    /// Its characters.
    fn size_chars(&self) -> u64;
}

impl Recorded for Replacement {
    fn size_chars(&self) -> u64 {
        self.size_chars
    }
}
