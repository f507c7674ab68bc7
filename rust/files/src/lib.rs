//! Storing plain texts under their names, many in one call.
//!
//! This is the straight way only: whatever does not go straight (a name that holds something else,
//! an error, a file system without unnamed files) is left to the caller as if nothing had been
//! tried, who goes every way there is. Nothing is synced.

#[cfg(target_os = "linux")]
mod linux;

use toolbudget_core::TextHash;

/// What became of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new file holds it.
    Written(TextHash),
    /// The same bytes were there already.
    Found(TextHash),
    /// Nothing was done, or nothing is left of it.
    Left,
}

/// Stores each text under its name in an open directory.
///
/// A new file is written where nobody sees it and gets its name when it is complete; a name that
/// is taken is never overwritten. With `expects_free` no name is looked at before it is written
/// to. Names are looked at until one is free: what is stored again mostly comes as a whole.
///
/// `directory` is a descriptor, which must stay open until this returns.
#[must_use]
pub fn place(directory: i32, texts: &[(&str, &[u8])], expects_free: bool) -> Vec<Outcome> {
    #[cfg(target_os = "linux")]
    return linux::place(directory, texts, expects_free);
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (directory, expects_free);
        vec![Outcome::Left; texts.len()]
    };
}
