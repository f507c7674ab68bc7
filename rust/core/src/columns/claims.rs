//! Replacements of another program, known by the id alone: which rows they stand in for.

use crate::fingerprint::Fingerprint;
use crate::hash::KeyMap;
use crate::text::Text;

/// An undecided result that such a replacement would fit.
#[derive(Debug)]
pub(super) struct Claim<T> {
    pub(super) group: i32,
    pub(super) row: i32,
    pub(super) tool_use_id: T,
    pub(super) fingerprint: Fingerprint,
    pub(super) replacement_chars: u64,
}

/// The rows that get what they claim, each with the characters of its replacement: the first text
/// that claims it, wherever that stands. Groups are judged in order.
pub(super) fn granted<T: Text>(mut claims: Vec<Claim<T>>) -> Vec<(i32, u64)> {
    claims.sort_by_key(|claim| (claim.group, claim.row));
    let mut adopted: KeyMap<T, Fingerprint> = KeyMap::default();
    let mut rows = Vec::new();
    for claim in claims {
        let first = adopted
            .entry(claim.tool_use_id)
            .or_insert(claim.fingerprint);
        if *first == claim.fingerprint {
            rows.push((claim.row, claim.replacement_chars));
        }
    }
    rows
}
