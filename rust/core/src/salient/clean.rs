//! One line as it can be shown: no codes for a terminal, no overwritten text, few blanks.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem, memrchr};

use super::patterns::patterns;

/// Enough to know what a line is; it bounds the work of every pattern.
const BARE_BYTES: usize = 400;
/// What a CI system puts before every line of a program's own output: 30 bytes that say little.
const CI_TIME: &[u8] = b"0000-00-00T00:00:00.";
const LABEL_WORDS: [&[u8]; 19] = [
    b"err", b"fail", b"warn", b"info", b"fatal", b"ok", b"pass", b"debug", b"trace", b"notice",
    b"crit", b"alert", b"emerg", b"panic", b"abort", b"crash", b"kill", b"skip", b"reject",
];
const MOST_LABEL_BYTES: usize = 40;
const UNREADABLE: &[u8] = "\u{fffd}".as_bytes();

patterns! {
    /// CSI, OSC and the two-character sequences of ECMA-48; an unfinished OSC ends with the line.
    ESCAPE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()][0-9A-Z]|[@-Z\\^_])";
}

/// Takes terminal codes out and keeps what the last carriage return left to be seen.
///
/// The time that a CI system puts before every line goes as well.
fn strip_codes(line: &[u8]) -> Cow<'_, [u8]> {
    match memchr2(0x1b, b'\r', line) {
        None => Cow::Borrowed(without_time(line)),
        Some(_) if memchr(0x1b, line).is_none() => Cow::Borrowed(without_time(seen(line))),
        Some(_) => match ESCAPE.replace_all(line, &b""[..]) {
            Cow::Borrowed(line) => Cow::Borrowed(without_time(seen(line))),
            Cow::Owned(line) => Cow::Owned(without_time(seen(&line)).to_vec()),
        },
    }
}

/// Strips codes, and blanks at both ends; only the beginning of a long line is given.
pub(super) fn bare(line: &[u8]) -> Cow<'_, [u8]> {
    match strip_codes(line) {
        Cow::Borrowed(line) => Cow::Borrowed(without_label(trim(line))),
        Cow::Owned(line) => Cow::Owned(without_label(trim(&line)).to_vec()),
    }
}

/// Writes a line without codes, controls and superfluous blanks; an indent shrinks to one.
pub(super) fn show(line: &[u8]) -> Vec<u8> {
    let line = strip_codes(line);
    let mut shown = Vec::with_capacity(line.len());
    let mut rest = &line[..];
    while let [first, behind @ ..] = rest {
        let (is_blank, length) = match rest {
            [b' ' | b'\t' | 0x0b | 0x0c, ..] => (true, 1),
            [0xc2, 0x85, ..] => (true, 2),
            [0xe2, 0x80, 0xa8 | 0xa9, ..] => (true, 3),
            [0x01..=0x08 | 0x0e..=0x1f | 0x7f, ..] => (false, 1),
            [0xc2, 0x80..=0x9f, ..] => (false, 2),
            _ => {
                match first {
                    0 => shown.extend_from_slice(UNREADABLE),
                    byte => shown.push(*byte),
                }
                rest = behind;
                continue;
            }
        };
        if is_blank && shown.last() != Some(&b' ') {
            shown.push(b' ');
        }
        rest = &rest[length..];
    }
    while shown.last() == Some(&b' ') {
        shown.pop();
    }
    shown
}

/// What is to be seen of a line in which a carriage return went back to the beginning.
fn seen(line: &[u8]) -> &[u8] {
    if memchr(b'\r', line).is_none() {
        return line;
    }
    let line = trim_end(line);
    memrchr(b'\r', line).map_or(line, |at| &line[at + 1..])
}

const fn is_edge(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r')
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|&byte| !is_edge(byte));
    &line[..end.map_or(0, |last| last + 1)]
}

fn trim(line: &[u8]) -> &[u8] {
    let line = trim_end(line);
    let start = line.iter().position(|&byte| !is_edge(byte));
    let line = &line[start.unwrap_or_default()..];
    &line[..line.len().min(BARE_BYTES)]
}

fn without_time(line: &[u8]) -> &[u8] {
    ci_time_end(line).map_or(line, |end| &line[end..])
}

fn ci_time_end(line: &[u8]) -> Option<usize> {
    let start = line.get(..CI_TIME.len())?;
    let is_time = start.iter().zip(CI_TIME).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        sign => byte == sign,
    });
    let digits = count(&line[CI_TIME.len()..], u8::is_ascii_digit);
    let end = CI_TIME.len() + digits;
    let is_whole = is_time && (6..=9).contains(&digits) && line[end..].starts_with(b"Z ");
    is_whole.then_some(end + 2)
}

fn without_label(line: &[u8]) -> &[u8] {
    match label_end(line) {
        Some(end) if is_empty_label(&line[..end]) => &line[end..],
        _ => line,
    }
}

/// Finds what builders and supervisors put before a line: the step and its seconds, a service, a
/// job.
fn label_end(line: &[u8]) -> Option<usize> {
    match *line.first()? {
        b'#' => step_end(line),
        b'a'..=b'z' => service_end(line),
        b'[' => job_end(line),
        _ => None,
    }
}

/// The end of `#12 3.456 `.
fn step_end(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    for sign in *b" . " {
        let digits = count(&line[at..], u8::is_ascii_digit);
        at += digits;
        if digits == 0 || line.get(at) != Some(&sign) {
            return None;
        }
        at += 1;
    }
    Some(at + count(&line[at..], |&byte| byte == b' '))
}

/// The end of `web-1  | `.
fn service_end(line: &[u8]) -> Option<usize> {
    let is_name = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'.' | b'-');
    let name = count(&line[1..], is_name);
    let end = 1 + name + count(&line[1 + name..], |&byte| byte == b' ');
    let is_service = name <= MOST_LABEL_BYTES && line[end..].starts_with(b"| ");
    is_service.then(|| end + 1 + count(&line[end + 1..], |&byte| byte == b' '))
}

/// The end of `[job 12] `.
fn job_end(line: &[u8]) -> Option<usize> {
    let name = count(&line[1..], |&byte| byte != b']' && byte != b':');
    let end = 1 + name;
    let is_job = (1..=MOST_LABEL_BYTES).contains(&name) && line[end..].starts_with(b"] ");
    is_job.then(|| end + 1 + count(&line[end + 1..], |&byte| byte == b' '))
}

/// Tells whether a label says where a line comes from, and not how bad it is.
fn is_empty_label(label: &[u8]) -> bool {
    let label = label.trim_ascii_end();
    let has_sign = label
        .iter()
        .any(|byte| matches!(byte, b'0'..=b'9' | b' ' | b'|'));
    let lower = label.to_ascii_lowercase();
    (has_sign || is_word(label)) && !LABEL_WORDS.iter().any(|word| contains(&lower, word))
}

/// Finds `\[[a-z][a-z_.@/-]+\]$` at the start.
fn is_word(label: &[u8]) -> bool {
    let word = label
        .strip_prefix(b"[")
        .and_then(|rest| rest.strip_suffix(b"]"));
    let Some([first, rest @ ..]) = word else {
        return false;
    };
    let is_part = |byte: &u8| matches!(byte, b'a'..=b'z' | b'_' | b'.' | b'@' | b'/' | b'-');
    first.is_ascii_lowercase() && !rest.is_empty() && rest.iter().all(is_part)
}

/// Tells whether `part` stands in `line`.
pub(super) fn contains(line: &[u8], part: &[u8]) -> bool {
    memmem::find(line, part).is_some()
}

fn count(bytes: &[u8], is_counted: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_counted(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_overwritten_text_go() {
        assert_eq!(*strip_codes(b"10%\r\x1b[31m20%\x1b[0m\r"), *b"20%");
        assert_eq!(*strip_codes(b"\x1b]0;title"), *b"");
        assert_eq!(*strip_codes(b"\x1b[31"), *b"\x1b[31");
    }

    #[test]
    fn only_the_time_of_a_ci_system_goes() {
        assert_eq!(*bare(b"2024-05-01T10:11:12.1234567Z one"), *b"one");
        assert_eq!(
            *bare(b"2024-05-01T10:11:12.12345Z one"),
            *b"2024-05-01T10:11:12.12345Z one"
        );
    }

    #[test]
    fn labels_without_a_meaning_go() {
        assert_eq!(*bare(b"#12 3.456  one"), *b"one");
        assert_eq!(*bare(b"web-1  | one"), *b"one");
        assert_eq!(*bare(b"[job 12]  one"), *b"one");
        assert_eq!(*bare(b"[error 12] one"), *b"[error 12] one");
        assert_eq!(*bare(b"[pod/web] one"), *b"one");
        for line in [
            "[Job] one",
            "[x] one",
            "[skipped] one",
            "[alert] one",
            "[] one",
        ] {
            assert_eq!(*bare(line.as_bytes()), *line.as_bytes());
        }
    }

    #[test]
    fn blanks_and_controls_shrink() {
        assert_eq!(show(b"\t  a    b\x08 "), b" a b");
        assert_eq!(
            show("a\0\u{85}\u{2028}b\u{9c}c".as_bytes()),
            "a\u{fffd} bc".as_bytes()
        );
    }
}
