//! Ids and names of a scan, each known by a number: so they are hashed once, and compared without
//! going back to the bytes.

use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::num::NonZero;
use std::sync::OnceLock;

use twox_hash::XxHash3_64;

use super::cursor::{Shift, TextSpan};
use super::text::{JsonText, text_of};
use crate::hash::Table;

/// The number of a text, counted from 1: so none takes no more room than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(NonZero<u32>);

impl Name {
    /// Stands where a text has no number yet.
    pub(super) const UNKNOWN: Self = Self(NonZero::<u32>::MAX);

    const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Every text that has a number.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Where each text stands first.
    spans: Table<TextSpan>,
    /// Where the id of the next result stands, if results come in the order of their calls.
    next_result: usize,
    /// The tool of the call before.
    last_tool: usize,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            spans: Table::new(),
            next_result: 0,
            last_tool: 0,
        }
    }
}

impl Names {
    /// The number of a text, which may be a new one.
    pub(super) fn number(&mut self, span: TextSpan, body: &[u8]) -> Name {
        name_at(self.place(span, body))
    }

    /// The number of a result's id.
    pub(super) fn number_result(&mut self, span: TextSpan, body: &[u8]) -> Name {
        let place = self.place_near(self.next_result, span, body);
        self.next_result = place + 1;
        name_at(place)
    }

    /// The number of a tool's name.
    pub(super) fn number_tool(&mut self, span: TextSpan, body: &[u8]) -> Name {
        self.last_tool = self.place_near(self.last_tool, span, body);
        name_at(self.last_tool)
    }

    /// The place of a text that may well stand at a known one.
    #[inline]
    fn place_near(&mut self, guess: usize, span: TextSpan, body: &[u8]) -> usize {
        match self.spans.at(guess) {
            Some(known) if known.is_surely(span, body) => guess,
            _ => self.place(span, body),
        }
    }

    fn place(&mut self, span: TextSpan, body: &[u8]) -> usize {
        let text = text_of(span, body);
        let hash = keyed_hash(&text);
        let known = self.spans.find(hash, |other| text_of(*other, body) == text);
        known.unwrap_or_else(|| self.spans.add(hash, span))
    }

    pub(super) fn text<'a>(&self, name: Name, body: &'a [u8]) -> JsonText<'a> {
        text_of(*self.spans.get(name.place()), body)
    }

    pub(super) const fn len(&self) -> usize {
        self.spans.len()
    }

    /// Moves the places where the texts stand.
    pub(super) fn move_by(&mut self, shift: Shift) {
        for span in self.spans.items_mut() {
            *span = span.moved_by(shift);
        }
    }

    /// Forgets all but the first ones.
    pub(super) fn truncate(&mut self, length: usize) {
        self.spans.truncate(length);
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        let texts = 0..self.len().max(other.len());
        texts
            .into_iter()
            .all(|place| self.spans.at(place) == other.spans.at(place))
    }
}

impl Eq for Names {}

fn name_at(place: usize) -> Name {
    // More texts than fit would need a body of many gigabytes.
    let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
    Name(NonZero::new(number).unwrap_or(NonZero::<u32>::MAX))
}

/// A hash that nobody outside of this process can foresee: ids come from anywhere.
#[inline]
fn keyed_hash(text: &[u8]) -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| RandomState::new().hash_one(0_u8));
    XxHash3_64::oneshot_with_seed(seed, text)
}

/// A name as a key. Names of one scan are compared by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonName<'a> {
    name: Name,
    names: &'a Names,
    body: &'a [u8],
}

impl<'a> JsonName<'a> {
    pub(super) const fn new(name: Name, names: &'a Names, body: &'a [u8]) -> Self {
        Self { name, names, body }
    }

    pub(super) const fn name(&self) -> Name {
        self.name
    }

    fn text(&self) -> JsonText<'a> {
        self.names.text(self.name, self.body)
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
