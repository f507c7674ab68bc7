//! Fingerprints: with its id, the fingerprint says *which* result a decision is about.

use std::fmt;

use twox_hash::XxHash3_128;

/// Size in characters and XXH3-128 of a text in WTF-8.
///
/// ```
/// use toolbudget_core::Fingerprint;
///
/// let fingerprint = Fingerprint::of(b"abc", 3);
/// assert_eq!(fingerprint.hash.to_string(), "06b05ab6733a618578af5f94892f3950");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Characters of the text: code points, a lone surrogate is one.
    pub size_chars: u64,
    /// Hash of its bytes.
    pub hash: TextHash,
}

impl Fingerprint {
    /// Fingerprints a text that lies in memory as a whole and is known to have `size_chars`
    /// characters.
    #[must_use]
    pub fn of(text: &[u8], size_chars: u64) -> Self {
        Self {
            size_chars,
            hash: TextHash::of(text),
        }
    }
}

/// XXH3-128, shown as 32 hex digits.
///
/// As a number it would be aligned to 16 bytes, and so make everything larger that holds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(Rust, packed(8))]
pub struct TextHash(u128);

impl TextHash {
    /// Hashes a text that lies in memory as a whole.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(text))
    }

    /// Reads what [`Display`](fmt::Display) writes; `None` for anything else.
    ///
    /// ```
    /// use toolbudget_core::{Fingerprint, TextHash};
    ///
    /// let hash = Fingerprint::of(b"", 0).hash;
    /// assert_eq!(TextHash::from_hex(&hash.to_string()), Some(hash));
    /// assert_eq!(TextHash::from_hex("99AA06D3014798D86001C324468D497F"), None);
    /// ```
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Self> {
        let is_canonical = hex.len() == 32
            && hex
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if !is_canonical {
            return None;
        }
        u128::from_str_radix(hex, 16).ok().map(Self)
    }
}

impl TextHash {
    /// Its bytes, the first digits first.
    ///
    /// ```
    /// use toolbudget_core::{Fingerprint, TextHash};
    ///
    /// let hash = Fingerprint::of(b"", 0).hash;
    /// assert_eq!(TextHash::from_be_bytes(hash.to_be_bytes()), hash);
    /// ```
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_be_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// The 32 hex digits that [`Display`](fmt::Display) writes, in ASCII.
    #[must_use]
    pub fn to_hex(self) -> [u8; 32] {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = hex_digit(byte >> 4);
            pair[1] = hex_digit(byte & 0xF);
        }
        digits
    }
}

const fn hex_digit(value: u8) -> u8 {
    if value < 10 {
        b'0' + value
    } else {
        b'a' + value - 10
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", { self.0 })
    }
}

/// Fingerprints a text that comes in pieces, without joining them.
///
/// ```
/// use toolbudget_core::{Fingerprint, Fingerprinter};
///
/// let mut fingerprinter = Fingerprinter::new();
/// fingerprinter.push("日".as_bytes(), 1);
/// fingerprinter.push(b"c", 1);
/// assert_eq!(fingerprinter.finish(), Fingerprint::of("日c".as_bytes(), 2));
/// ```
pub struct Fingerprinter {
    size_chars: u64,
    hasher: XxHash3_128,
}

impl Fingerprinter {
    /// Starts with an empty text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            size_chars: 0,
            hasher: XxHash3_128::new(),
        }
    }

    /// Adds the next piece, which is known to have `size_chars` characters.
    pub fn push(&mut self, piece: &[u8], size_chars: u64) {
        self.size_chars = self.size_chars.saturating_add(size_chars);
        self.hasher.write(piece);
    }

    /// Gives the fingerprint of all pieces.
    #[must_use]
    pub fn finish(self) -> Fingerprint {
        Fingerprint {
            size_chars: self.size_chars,
            hash: TextHash(self.hasher.finish_128()),
        }
    }
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_written_is_read() {
        for odd in ["", "0", &"g".repeat(32), &"0".repeat(33), &"+".repeat(32)] {
            assert_eq!(TextHash::from_hex(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            text in prop::collection::vec(any::<u8>(), 0..3_000),
            cuts in prop::collection::vec(0_usize..3_000, 0..5),
        ) {
            let mut fingerprinter = Fingerprinter::default();
            let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            for edges in cuts.windows(2) {
                fingerprinter.push(&text[edges[0]..edges[1]], 1);
            }
            let pieces = cuts.len() as u64 - 1;
            prop_assert_eq!(fingerprinter.finish(), Fingerprint::of(&text, pieces));
        }

        #[test]
        fn a_hash_is_read_back(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let hash = Fingerprint::of(&text, 0).hash;
            prop_assert_eq!(TextHash::from_hex(&hash.to_string()), Some(hash));
            prop_assert_eq!(hash.to_string().into_bytes(), hash.to_hex().to_vec());
        }
    }
}
