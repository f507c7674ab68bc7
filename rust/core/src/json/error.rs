//! What is wrong with a body, and where.

use std::fmt;

/// Why a body cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Some bytes are no UTF-8.
    NotUtf8,
    /// A byte order mark stands in front.
    ByteOrderMark,
    /// Something else than a value.
    ExpectingValue,
    /// Something else than the name of a member.
    ExpectingName,
    /// Something else than the colon behind a name.
    ExpectingColon,
    /// Something else than a comma or the end of a list or object.
    ExpectingComma,
    /// A string without an end.
    UnterminatedString,
    /// A raw control character in a string.
    ControlCharacter,
    /// A backslash with something unknown behind it.
    InvalidEscape,
    /// Something behind the end.
    ExtraData,
    /// A value that holds no messages.
    NotDocument,
    /// `messages` is no list.
    NotMessages,
    /// An element of the list, by its index, is no object.
    NotMessage(usize),
}

/// A problem and the byte at which it shows.
///
/// ```
/// use toolbudget_core::json::Scan;
///
/// let error = Scan::of(br#"{"messages":[,]}"#).unwrap_err();
/// assert_eq!(error.to_string(), "not JSON: expecting a value at byte 13");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub problem: Problem,
    /// Counted from the beginning of the body.
    pub offset: usize,
}

/// An error on its way out: no wider than a pointer, so that results fit into registers.
pub(super) type Fault = Box<JsonError>;

impl JsonError {
    pub(super) const fn new(problem: Problem, offset: usize) -> Self {
        Self { problem, offset }
    }

    /// The same, unless the body is not even text: then that is what is wrong with it.
    pub(super) fn within(self, body: &[u8]) -> Self {
        match std::str::from_utf8(body) {
            Ok(_) => self,
            Err(error) => Self::new(Problem::NotUtf8, error.valid_up_to()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotUtf8 => "body is not UTF-8",
            Self::ByteOrderMark => "body begins with a byte order mark",
            Self::ExpectingValue => "not JSON: expecting a value",
            Self::ExpectingName => "not JSON: expecting a name in double quotes",
            Self::ExpectingColon => "not JSON: expecting ':'",
            Self::ExpectingComma => "not JSON: expecting ','",
            Self::UnterminatedString => "not JSON: unterminated string",
            Self::ControlCharacter => "not JSON: control character in a string",
            Self::InvalidEscape => "not JSON: invalid escape",
            Self::ExtraData => "not JSON: extra data",
            Self::NotDocument => "neither a request body nor a list of messages nor records",
            Self::NotMessages => "messages is not a list",
            Self::NotMessage(index) => {
                return write!(formatter, "message {index} is not an object");
            }
        })
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at byte {}", self.problem, self.offset)
    }
}

impl std::error::Error for JsonError {}
