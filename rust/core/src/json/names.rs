//! Ids and names of a scan, each known by a number: so they are hashed once, and compared without
//! going back to the bytes.

use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::num::NonZero;
use std::sync::OnceLock;

use twox_hash::XxHash3_128;

use super::cursor::TextSpan;
use super::text::{JsonText, text_of};
use crate::hash::KeyMap;

/// The number of a text, counted from 1: so none takes no more room than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(NonZero<u32>);

impl Name {
    /// Stands where a text has no number yet.
    pub(super) const UNKNOWN: Self = Self(NonZero::<u32>::MAX);

    const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Every text that has a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    by_hash: KeyMap<u64, Name>,
    /// Where each text stands first.
    spans: Vec<TextSpan>,
}

impl Names {
    /// The number of a text, which may be a new one.
    pub(super) fn number(&mut self, span: TextSpan, body: &[u8]) -> Name {
        let text = text_of(span, body);
        let mut hash = keyed_hash(&text);
        while let Some(&known) = self.by_hash.get(&hash) {
            if text_of(self.spans[known.place()], body) == text {
                return known;
            }
            hash = hash.wrapping_add(1);
        }
        self.spans.push(span);
        // More texts than fit would need a body of many gigabytes.
        let count = u32::try_from(self.spans.len()).unwrap_or(u32::MAX);
        let name = Name(NonZero::new(count).unwrap_or(NonZero::<u32>::MAX));
        self.by_hash.insert(hash, name);
        name
    }

    pub(super) const fn len(&self) -> usize {
        self.spans.len()
    }

    /// Forgets all but the first ones.
    pub(super) fn truncate(&mut self, length: usize) {
        if length < self.spans.len() {
            self.spans.truncate(length);
            self.by_hash.retain(|_, name| name.place() < length);
        }
    }
}

/// A hash that nobody outside of this process can foresee: ids come from anywhere.
#[expect(
    clippy::cast_possible_truncation,
    reason = "each half is as good as the other"
)]
fn keyed_hash(text: &[u8]) -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| RandomState::new().hash_one(0_u8));
    XxHash3_128::oneshot_with_seed(seed, text) as u64
}

/// A name as a key. Names of one scan are compared by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct JsonName<'a> {
    name: Name,
    names: &'a Names,
    body: &'a [u8],
}

impl<'a> JsonName<'a> {
    pub(super) const fn new(name: Name, names: &'a Names, body: &'a [u8]) -> Self {
        Self { name, names, body }
    }

    /// The text itself.
    #[must_use]
    pub fn text(&self) -> JsonText<'a> {
        text_of(self.names.spans[self.name.place()], self.body)
    }
}

impl Hash for JsonName<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.name.0.get().into());
    }
}

impl PartialEq for JsonName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JsonName<'_> {}

impl PartialEq<str> for JsonName<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.text() == *other.as_bytes()
    }
}
