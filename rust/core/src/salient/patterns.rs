//! Regular expressions and sets of words, compiled once, which are looked for in bytes.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

/// Compiles a pattern of ours: its classes are ASCII, and it may match any bytes.
pub(crate) fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
}

/// Finds any of many words at once, with ASCII letters of any case.
pub(super) fn any_case(words: &[&str]) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .unwrap_or_else(|error| unreachable!("{error}"))
}

/// Finds any of a few words at once.
pub(super) fn any_of(words: &[&str]) -> AhoCorasick {
    AhoCorasick::new(words).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Declares patterns as statics; parts that stand one below the other are joined.
macro_rules! patterns {
    ($($(#[$comment:meta])* $name:ident = $($part:literal)+;)+) => {$(
        $(#[$comment])*
        static $name: std::sync::LazyLock<regex::bytes::Regex> =
            std::sync::LazyLock::new(|| $crate::salient::patterns::compile(concat!($($part),+)));
    )+};
}

pub(super) use patterns;
