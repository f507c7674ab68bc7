//! Numbers and names, told byte by byte.

/// Those of JSON, and the numbers without a numeral as Python and JavaScript write them.
const NAMES: [&[u8]; 6] = [
    b"true",
    b"false",
    b"null",
    b"NaN",
    b"Infinity",
    b"-Infinity",
];
const MOST_NAME_BYTES: usize = 9;

/// How far a number or a name has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Start,
    Minus,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Name([u8; MOST_NAME_BYTES], usize),
}

impl Literal {
    /// Goes on by a byte, if it can belong to it.
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Start, b'-') => Self::Minus,
            (Self::Start | Self::Minus | Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                Self::ExponentDigits
            }
            (Self::Start, b'A'..=b'Z' | b'a'..=b'z') => {
                Self::Name([0; MOST_NAME_BYTES], 0).next(byte)?
            }
            (Self::Minus, b'I') => {
                let mut name = [0; MOST_NAME_BYTES];
                name[..2].copy_from_slice(b"-I");
                Self::Name(name, 2)
            }
            (Self::Name(mut name, length), b'A'..=b'Z' | b'a'..=b'z') => {
                *name.get_mut(length)? = byte;
                Self::Name(name, length + 1)
            }
            _ => return None,
        })
    }

    /// Tells whether it can end here.
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Whole | Self::Fraction | Self::ExponentDigits => true,
            Self::Name(name, length) => NAMES.contains(&&name[..length]),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_literal(text: &str) -> bool {
        let end = text.bytes().try_fold(Literal::Start, Literal::next);
        end.is_some_and(Literal::is_whole)
    }

    #[test]
    fn numbers_and_names_are_told() {
        for text in [
            "0",
            "-12",
            "1.5",
            "1e9",
            "1.5E-07",
            "true",
            "null",
            "Infinity",
            "-Infinity",
        ] {
            assert!(is_literal(text), "{text}");
        }
        for text in [
            "",
            "-",
            "1.",
            "1e",
            "1e+",
            ".5",
            "1x",
            "tru",
            "Infinityx",
            "-Infinit",
            "-Infinityx",
            "-NaN",
            "-I",
            "2024-05",
        ] {
            assert!(!is_literal(text), "{text}");
        }
    }
}
