//! Byte counts as a reader sees them.

/// Writes a byte count for a reader: `812 bytes`, `82.3KB`, `2MB`.
///
/// Units are of 1024, with one decimal rounded half up on integers; `.0` is dropped.
///
/// ```
/// use toolbudget_core::format_size;
///
/// assert_eq!(format_size(1_023), "1023 bytes");
/// assert_eq!(format_size(84_275), "82.3KB");
/// assert_eq!(format_size(2 << 20), "2MB");
/// ```
#[must_use]
pub fn format_size(size_bytes: i128) -> String {
    String::from_utf8_lossy(SizeText::of(size_bytes).as_bytes()).into_owned()
}

const GIGABYTE_BITS: u32 = 30;

/// The unit that a size is written in, and which power of two it is.
const fn unit_of(size_bytes: u32) -> (u32, &'static [u8]) {
    match size_bytes {
        ..0x400 => (0, b" bytes"),
        0x400..0x10_0000 => (10, b"KB"),
        0x10_0000..0x4000_0000 => (20, b"MB"),
        0x4000_0000.. => (GIGABYTE_BITS, b"GB"),
    }
}

/// Tenths of a unit, rounded half up: perhaps all ten.
const fn tenths_of(rest_bytes: u64, unit_bits: u32) -> u64 {
    (20 * rest_bytes + (1 << unit_bits)) >> (unit_bits + 1)
}

/// What [`format_size`] writes, in ASCII and without an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeText {
    /// At its end; the longest number has 40 characters, a unit six.
    bytes: [u8; 48],
    start: usize,
}

impl SizeText {
    pub(crate) fn of(size_bytes: i128) -> Self {
        let mut text = Self {
            bytes: [0; 48],
            start: 48,
        };
        if let Ok(usual) = u32::try_from(size_bytes) {
            let (unit_bits, unit) = unit_of(usual);
            let rest_bytes = usual & ((1 << unit_bits) - 1);
            text.push_size(
                (usual >> unit_bits).into(),
                rest_bytes.into(),
                unit_bits,
                unit,
            );
        } else if let Ok(large) = u128::try_from(size_bytes) {
            let rest_bytes = large & ((1 << GIGABYTE_BITS) - 1);
            let rest_bytes = u64::try_from(rest_bytes).unwrap_or_default();
            text.push_size(large >> GIGABYTE_BITS, rest_bytes, GIGABYTE_BITS, b"GB");
        } else {
            text.push_front(b" bytes");
            text.push_large(size_bytes.unsigned_abs());
            text.push_front(b"-");
        }
        text
    }

    /// How many characters [`Self::of`] writes, of usual sizes without writing them.
    #[inline]
    pub(crate) fn chars_of(size_bytes: i128) -> u64 {
        let Ok(usual) = u32::try_from(size_bytes) else {
            return Self::of(size_bytes).as_bytes().len() as u64;
        };
        let (unit_bits, unit) = unit_of(usual);
        let rest_bytes = usual & ((1 << unit_bits) - 1);
        let tenths = tenths_of(rest_bytes.into(), unit_bits);
        let whole = (usual >> unit_bits) + u32::from(tenths == 10);
        // There are no more than 1,024 of a unit.
        let digits = [10, 100, 1_000].map(|power| u64::from(whole >= power));
        let digits = 1 + digits.iter().sum::<u64>();
        let decimal = if let 1..=9 = tenths { 2 } else { 0 };
        digits + decimal + unit.len() as u64
    }

    #[inline]
    fn push_size(&mut self, whole: u128, rest_bytes: u64, unit_bits: u32, unit: &[u8]) {
        let tenths = tenths_of(rest_bytes, unit_bits);
        self.push_front(unit);
        if let 1..=9 = tenths {
            self.push_number(tenths.into());
            self.push_byte(b'.');
        }
        self.push_number(if tenths == 10 { whole + 1 } else { whole });
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn push_front(&mut self, text: &[u8]) {
        for &byte in text.iter().rev() {
            self.push_byte(byte);
        }
    }

    #[inline]
    const fn push_byte(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    /// Numbers of sizes are small as a rule, and to divide large ones is slow.
    #[inline]
    fn push_number(&mut self, number: u128) {
        let Ok(mut rest) = u32::try_from(number) else {
            self.push_large(number);
            return;
        };
        loop {
            self.push_byte(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                return;
            }
        }
    }

    #[cold]
    fn push_large(&mut self, number: u128) {
        self.push_front(number.to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// To count the characters is to count those that are written.
        #[test]
        fn a_size_has_the_characters_that_are_written(
            bits in 0_u32..100,
            offset in -1_100_i128..1_100,
            any in any::<u32>(),
        ) {
            for size_bytes in [(1 << bits) + offset, any.into(), i128::from(any >> (bits % 32))] {
                let written = SizeText::of(size_bytes);
                prop_assert_eq!(SizeText::chars_of(size_bytes), written.as_bytes().len() as u64);
            }
        }
    }
}
