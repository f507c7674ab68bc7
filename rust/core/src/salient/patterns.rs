//! Regular expressions on bytes, compiled once.

use regex::bytes::{Regex, RegexBuilder};

/// Compiles a pattern of ours: its classes are ASCII, and it may match any bytes.
pub(super) fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
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
