//! Members of objects that look like those of the object before.
//!
//! Who writes a body writes the same names in the same order, with the same blanks. What stands
//! between two values is compared as a whole with what stood there before: the same bytes in the same
//! place mean the same, so nothing about them need be found out again.

use super::field::Field;

/// Bytes between two values that are remembered; what is longer is read each time.
const MOST_BYTES: usize = 24;
/// Members of an object that are remembered.
const MEMBERS: usize = 5;

/// Objects of one kind.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Element,
    Message,
    /// A block whose type is another one, or not yet known.
    Block,
    Call,
    Result,
    TextBlock,
}

/// What stood before the values of each kind of object.
pub(super) struct Members([[Learned; MEMBERS]; 6]);

impl Members {
    pub(super) const fn new() -> Self {
        Self([[Learned::TYPE; MEMBERS]; 6])
    }

    /// What stood before the value of a member, counted from the first one.
    #[inline]
    pub(super) fn get(&self, shape: Shape, member: usize) -> Option<&Learned> {
        self.0[shape as usize].get(member)
    }

    /// Remembers what stands there.
    pub(super) fn set(&mut self, shape: Shape, member: usize, text: &[u8], field: Field) {
        if let Some(known) = self.0[shape as usize].get_mut(member)
            && let Some(learned) = Learned::of(text, field)
        {
            *known = learned;
        }
    }
}

/// Bytes from the end of a value, or the beginning of an object, to the next value.
#[derive(Clone, Copy)]
pub(super) struct Learned {
    words: [u64; MOST_BYTES / 8],
    /// Which bits of the words count.
    masks: [u64; MOST_BYTES / 8],
    length: usize,
    field: Field,
}

impl Learned {
    /// True of any object, and so what is remembered at first.
    const TYPE: Self = Self {
        words: [u64::from_le_bytes(*b"{\"type\":"), 0, 0],
        masks: [u64::MAX, 0, 0],
        length: 8,
        field: Field::Type,
    };

    /// `None` if there are too many bytes.
    fn of(text: &[u8], field: Field) -> Option<Self> {
        let mut bytes = [0; MOST_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let mut marks = [0; MOST_BYTES];
        marks[..text.len()].fill(u8::MAX);
        Some(Self {
            words: words(&bytes),
            masks: words(&marks),
            length: text.len(),
            field,
        })
    }

    /// Whether the same bytes stand at a place, and a value behind them.
    #[inline]
    pub(super) fn is_at(&self, body: &[u8], at: usize) -> bool {
        let here = body.get(at..).unwrap_or_default();
        let Some(bytes) = here.first_chunk() else {
            return false;
        };
        let here_words = words(bytes);
        let differ = |index: usize| (here_words[index] ^ self.words[index]) & self.masks[index];
        // Blanks that follow belong to what stands before the value.
        differ(0) | differ(1) | differ(2) == 0
            && here.get(self.length).is_some_and(|&byte| byte > b' ')
    }

    pub(super) const fn length(&self) -> usize {
        self.length
    }

    pub(super) const fn field(&self) -> Field {
        self.field
    }
}

#[inline]
fn words(bytes: &[u8; MOST_BYTES]) -> [u64; MOST_BYTES / 8] {
    let (words, _) = bytes.as_chunks();
    [0, 1, 2].map(|index| u64::from_le_bytes(words[index]))
}
