//! What kind of text a result is, told by its beginning alone.

use std::sync::LazyLock;

use memchr::memchr_iter;
use regex::bytes::Regex;

use crate::salient::compile;

/// No more of a text is looked at.
pub(crate) const WINDOW_CHARS: usize = 16_384;

/// A script begins with the program that runs it.
const INTERPRETER: &[u8] = b"#!/";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// With longer lines on the average a text is not one of lines; of one no more is looked at.
const LONG_LINE_BYTES: usize = 400;
const FEW_LINES: usize = 5;
const MOST_LINES: usize = 400;
/// Of the lines of a program so many per cent look like code, and so many declare something.
const CODE_PERCENT: usize = 40;
const DECLARATION_PERCENT: usize = 2;
/// With more lines of a log than this a text is no program, whatever else stands in it.
const LOG_PERCENT: usize = 10;
const LEAST_DECLARATIONS: usize = 2;
/// Of a file of constants so many per cent are rows of a table or other code.
const TABLE_PERCENT: usize = 90;
const PROSE_BYTES: usize = 40;

/// `Output` is what a program prints line by line; `Other` is prose, markup and huge lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Code,
    Output,
    Other,
}

macro_rules! starts {
    ($($(#[$comment:meta])* $name:ident = $($part:literal)+;)+) => {$(
        $(#[$comment])*
        static $name: LazyLock<Regex> =
            LazyLock::new(|| compile(concat!("^(?:", $($part,)+ ")")));
    )+};
}

// All are looked for in single lines without blanks around them.
starts! {
    DECLARATION =
        r#"(?:export (?:default )?|public |private |protected |internal |static |abstract |final "#
        r#"|sealed |open |override |virtual |async |unsafe |extern |inline |pub(?:\([a-z]+\))? )*"#
        r#"(?:def [A-Za-z_][A-Za-z0-9_.?!]*[ (]|def [A-Za-z_][A-Za-z0-9_.?!]*$"#
        r#"|class [A-Za-z_][A-Za-z0-9_.<>:]*(?: [(<:{a-z]|[(:{]|$)"#
        r#"|function\*? ?[A-Za-z_$][A-Za-z0-9_$]* ?\(|func (?:\([^)]*\) )?[A-Za-z_][A-Za-z0-9_]*[\[(<]"#
        r#"|fn [A-Za-z_][A-Za-z0-9_]*[<(]|fun (?:<[^>]*> )?[A-Za-z_][A-Za-z0-9_.]*\("#
        r#"|from [A-Za-z0-9_.]+ import |import [A-Za-z_{"'*(][^ ]*(?:;|$| as | from |, |\})"#
        r#"|import (?:static |type )?[A-Za-z_{*][A-Za-z0-9_.{}*, ]*(?:;| from )|#include ?[<"]"#
        r#"|#(?:define|ifndef|ifdef|pragma) [A-Za-z_]|use [A-Za-z_\\][A-Za-z0-9_:\\{}, *]*;"#
        r#"|using [A-Za-z_][A-Za-z0-9_.:= <>]*;|package [A-Za-z_][A-Za-z0-9_.]*;?$"#
        r#"|namespace [A-Za-z_][A-Za-z0-9_.:\\]*[ ;{]?|module [A-Z][A-Za-z0-9_:]*$"#
        r#"|(?:const|let|var|val) [A-Za-z_${\[][^=]*=|(?:struct|enum|trait|union) [A-Za-z_]"#
        r#"|impl(?:<[^>]*>)? [A-Za-z_]|interface [A-Za-z_][A-Za-z0-9_]*|mod [a-z_][a-z0-9_]*[ ;{]"#
        r#"|type [A-Za-z_][A-Za-z0-9_<>, ]* ?(?:=|struct|interface)|typedef "#
        r#"|(?:void|int|bool|char|double|float|long|string|String|auto|size_t) \*?[A-Za-z_:]+\("#
        r#"|module\.exports|<\?php|[A-Za-z_][A-Za-z0-9_]*\(\) ?\{$)"#;
    STATEMENT =
        r#"(?:return\b|if[ (].*[:{;)]$|elif .*:$|else[: {]|else$|for[ (].*[:{)]$|for .*; do$"#
        r#"|while[ (].*[:{)]$|try[: ]|except\b.*:$|catch ?\(|finally[: ]|with .*:$|raise |throw "#
        r#"|switch ?\(|case .*:$|match .*\{$|await |yield |//|/\*|\* |\*/|///|#\[|@[A-Za-z_]|""""#
        r#"|'''|self\.|this\.|end$|fi$|done$|esac$|[)\]}]+[,;:)]*$|[A-Za-z_][A-Za-z0-9_.\[\]]* [+-]?= ?"#
        r#"|.*[{};,]$|.*\):$|.*=>$|.*[(\[]$|.*\) -> .*:$)"#;
    /// A constant that goes on over many lines: a name, perhaps with a type, and an open bracket.
    OPENING =
        r#"(?:[A-Za-z_][A-Za-z0-9_<>():*&]* +){0,6}[A-Za-z_$*][A-Za-z0-9_$.]*(?:\[[^\]=]*\]){0,3}"#
        r#"(?: ?:[^=]{1,200})? ?:?= ?[A-Za-z0-9_&!:.*<>, \[\]]{0,80}[\[({](?: *(?:#|//|/\*).*)?$"#;
    ROW = r#"["'0-9#(\[{-]|.*,(?: *(?:#|//|/\*).*)?$"#;
    /// Files of settings have constants too, under headings that no program has.
    HEADING = r#"\[{1,2}[A-Za-z_][A-Za-z0-9_."' -]*\]{1,2}$"#;
    LOG =
        r#"\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}|[^ \t:]+:[0-9]+:"#
        r#"|[^ \t]+\([0-9,]+\): "#
        r#"|.*\b(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL|PASSED|FAILED)\b"#;
    PROSE =
        r#".*(?:[A-Za-z][A-Za-z'()-]*[,;:]? ){5}[A-Za-z]"#;
    DIFFERENCE =
        r#"diff |Index: |--- |\+\+\+ |@@ |commit [0-9a-f]{7}"#;
}

/// Tells the kind of a text by its beginning.
///
/// Nothing is proved by it: what begins like JSON need not be JSON, and no parser has seen what
/// looks like code. A log is [`Kind::Output`] whatever programs it quotes.
pub(crate) fn kind_of(window: &[u8]) -> Kind {
    let start = window.strip_prefix(BYTE_ORDER_MARK).unwrap_or(window);
    let start = trim_start(start);
    if start.starts_with(b"[") || (start.starts_with(b"{") && !is_template(start)) {
        return Kind::Json;
    }
    if memchr_iter(b'\n', window).count() * LONG_LINE_BYTES < window.len() {
        return Kind::Other;
    }
    if start.starts_with(INTERPRETER) {
        return Kind::Code;
    }
    let lines: Vec<&[u8]> = window
        .split(|&byte| byte == b'\n')
        .map(trimmed)
        .filter(|line| !line.is_empty())
        .take(MOST_LINES)
        .collect();
    if is_code(&lines) {
        Kind::Code
    } else if start.starts_with(b"<") || is_prose(&lines) {
        Kind::Other
    } else {
        Kind::Output
    }
}

fn is_template(start: &[u8]) -> bool {
    start.starts_with(b"{%") || start.starts_with(b"{{")
}

fn is_code(lines: &[&[u8]]) -> bool {
    if lines.len() < FEW_LINES || DIFFERENCE.is_match(lines[0]) {
        return false;
    }
    if is_share(count(&LOG, lines), lines, LOG_PERCENT) {
        return false;
    }
    let is_statement = |line: &&&[u8]| DECLARATION.is_match(line) || STATEMENT.is_match(line);
    let declarations = count(&DECLARATION, lines);
    if declarations >= LEAST_DECLARATIONS
        && is_share(declarations, lines, DECLARATION_PERCENT)
        && is_share(
            lines.iter().filter(is_statement).count(),
            lines,
            CODE_PERCENT,
        )
    {
        return true;
    }
    if !has(&OPENING, lines) || has(&HEADING, lines) {
        return false;
    }
    let is_row = |line: &&&[u8]| ROW.is_match(line) || is_statement(line);
    is_share(lines.iter().filter(is_row).count(), lines, TABLE_PERCENT)
}

fn has(pattern: &Regex, lines: &[&[u8]]) -> bool {
    lines.iter().any(|line| pattern.is_match(line))
}

fn is_prose(lines: &[&[u8]]) -> bool {
    let is_long = |line: &&&[u8]| line.len() > PROSE_BYTES;
    let long_lines: Vec<&[u8]> = lines.iter().filter(is_long).copied().collect();
    !is_share(count(&LOG, lines), lines, LOG_PERCENT)
        && 2 * count(&PROSE, &long_lines) > long_lines.len()
}

fn count(pattern: &Regex, lines: &[&[u8]]) -> usize {
    lines.iter().filter(|line| pattern.is_match(line)).count()
}

const fn is_share(count: usize, lines: &[&[u8]], percent: usize) -> bool {
    100 * count >= percent * lines.len()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte));
    start.map_or(&[], |start| &text[start..])
}

/// A line without blanks around it, as far as it is looked at.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = trim_start(line);
    let end = line.iter().rposition(|&byte| !is_blank(byte));
    &line[..end.map_or(0, |end| end + 1).min(LONG_LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(kind_of(b"\n  {\"items\": [1, 2"), Kind::Json);
        assert_eq!(kind_of(b"<html>\n<body>\n"), Kind::Other);
        let program =
            b"import os\nimport re\n\n\ndef main(path):\n    if not path:\n        return 1\n";
        assert_eq!(kind_of(program), Kind::Code);
        let log = "test_one ... ok\ntest_two ... FAILED\n".repeat(9);
        assert_eq!(kind_of(log.as_bytes()), Kind::Output);
        assert_eq!(kind_of(b""), Kind::Output);
    }
}
