//! What stands where in 64 bytes.

/// Bytes that are looked at together: one for each bit of a mask.
pub(super) const BLOCK_BYTES: usize = 64;

pub(super) type Block = [u8; BLOCK_BYTES];

/// Which bytes of a block are what; the lowest bit stands for the first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) quote: u64,
    pub(super) backslash: u64,
    /// Below the blank.
    pub(super) control: u64,
    /// No ASCII.
    pub(super) high: u64,
    /// The letter of the most frequent escape.
    pub(super) letter_n: u64,
}

impl Masks {
    /// Which of the escaped bytes are not those of the most frequent escapes.
    #[inline]
    pub(super) const fn odd(&self, escaped: u64) -> u64 {
        escaped & !(self.quote | self.backslash | self.letter_n)
    }

    /// By the meaning of the words, on any machine.
    #[cfg(any(test, not(any(target_arch = "aarch64", target_arch = "x86_64"))))]
    pub(super) fn portable(block: &Block) -> Self {
        let mut masks = Self::default();
        for (place, &byte) in block.iter().enumerate() {
            masks.quote |= u64::from(byte == b'"') << place;
            masks.backslash |= u64::from(byte == b'\\') << place;
            masks.control |= u64::from(byte < b' ') << place;
            masks.high |= u64::from(byte >= 0x80) << place;
            masks.letter_n |= u64::from(byte == b'n') << place;
        }
        masks
    }
}
