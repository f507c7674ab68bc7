//! Text as its owner holds it.

use std::hash::Hash;

/// Ids and names in whatever form their owner holds them: they are compared and hashed, and a clone
/// is another handle to the same text.
///
/// ```
/// fn is_memory(name: &impl toolbudget_core::Text) -> bool {
///     name == "memory"
/// }
/// assert!(is_memory(&String::from("memory")));
/// ```
pub trait Text: Clone + Eq + Hash + PartialEq<str> {}

impl<T: Clone + Eq + Hash + PartialEq<str>> Text for T {}
