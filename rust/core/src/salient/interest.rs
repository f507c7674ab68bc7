//! Which lines are worth a look at all; this is asked of every line.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::memchr_iter;

use super::patterns::{any_case, patterns};
use super::severity::is_red;

/// A line without any of these, in any case, is scored only if it has a location (`name:12:`),
/// the number of a list or red colour.
const KEYWORDS: [&str; 104] = [
    "error",
    "fail",
    "err!",
    "exception",
    "fatal",
    "panic",
    "traceback",
    "abort",
    "assert",
    "crash",
    " fault",
    "segfault",
    "killed",
    "terminated",
    "dumped",
    "dubious",
    "undefined",
    "not ",
    "n't ",
    "cannot",
    "unable",
    "unknown",
    "expected",
    "invalid",
    "illegal",
    "missing",
    "timed out",
    "timeout",
    "denied",
    "refused",
    "no such",
    "mismatch",
    "unrecognized",
    "unresolved",
    "undeclared",
    "violat",
    "unavailable",
    "conflict",
    "disconnect",
    "non-zero",
    "unsuccessful",
    "no longer",
    "wrong",
    "broken",
    "reason:",
    "caused by",
    "exceed",
    "unauthor",
    "reformat",
    "sanitizer",
    "no package",
    "signal ",
    "threshold",
    "uncommitted",
    "please run",
    "attempt to",
    "bail out",
    "-- sc",
    "(x) ",
    "warning",
    "*** ",
    "exit",
    "==> ",
    "offense",
    "problem",
    "✗",
    "✘",
    "✖",
    "❌",
    "✕",
    "× ",
    "● ",
    "[-]",
    "$ ",
    "##[group]",
    "sigsegv",
    "sigabrt",
    "sigbus",
    "sigkill",
    "sigill",
    "multiple definition",
    "backoff",
    "oomkilled",
    "-^ sc",
    "unbound",
    "out of memory",
    "prematurely",
    "reset by peer",
    "expired",
    "hang up",
    "broken pipe",
    "critical",
    "data race",
    "differs",
    "diff in ",
    " s = f",
    " s = e",
    "\"level\":50",
    "\"level\":60",
    "no space left",
    "forbidden",
    "corrupt",
    "deadlock",
    "too many",
];

static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| any_case(&KEYWORDS));

patterns! {
    /// A listed mark behind times, severities and names that others put there.
    LISTED_BEHIND = r"^[ \t]*(?:(?:"
        r"[\[(]?(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}[^ \t\n]*"
        r"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [^ \t\n]+ [^ \t\n]+:"
        r"|\[[^\]:\n]{1,40}\]|[a-z][0-9a-z_.-]{0,40} *\||#[0-9]+ [0-9]+\.[0-9]+"
        r"|(?i:info|debug|trace|notice|verbose):?"
        r")[ \t]+(?:-[ \t]+)?){1,3}(?:[0-9]{1,4}\)|E   |[EF][0-9]{4} )";
}

/// Tells whether a line has a word, a mark or a colour of interest.
pub(super) fn is_interesting(line: &[u8]) -> bool {
    WORDS.is_match(line)
        || is_listed(line)
        || LISTED_BEHIND.is_match(line)
        || has_location(line)
        || is_red(line)
}

/// At the start of a line: the number of a failure in a list, pytest's mark, or a logger's.
fn is_listed(line: &[u8]) -> bool {
    if line.starts_with(b"E   ") || is_logged(line) {
        return true;
    }
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
    let item = &line[start.unwrap_or_default()..];
    let digits = count_digits(item);
    (1..=4).contains(&digits) && item.get(digits) == Some(&b')')
}

/// Finds `[EF][0-9]{4} ` at the start.
fn is_logged(line: &[u8]) -> bool {
    let is_grave = matches!(line.first(), Some(b'E' | b'F'));
    is_grave && count_digits(&line[1..]) == 4 && line.get(5) == Some(&b' ')
}

/// Finds `: ?[0-9]+(?::|  )`.
fn has_location(line: &[u8]) -> bool {
    memchr_iter(b':', line).any(|at| {
        let behind = &line[at + 1..];
        let number = behind.strip_prefix(b" ").unwrap_or(behind);
        let digits = count_digits(number);
        let rest = &number[digits..];
        digits > 0 && (rest.starts_with(b":") || rest.starts_with(b"  "))
    })
}

fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
