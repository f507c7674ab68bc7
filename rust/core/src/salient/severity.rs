//! How much a line says about what went wrong, from its own words and marks alone.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::clean::contains;
use super::patterns::{any_of, patterns};
use super::role::{
    is_boilerplate, is_build_step, is_command, is_frame, is_housekeeping, is_passing,
};

pub(super) const CERTAIN: u64 = 95;
pub(super) const LIKELY: u64 = 50;
pub(super) const WEAK: u64 = 30;

const SURE: u64 = 100;
const HEADED: u64 = 85;
const COUNTED: u64 = 80;
const ENTITLED: u64 = 75;
const TOLD: u64 = 65;
const PLACED_COMPLAINT: u64 = 60;
const MENTIONED: u64 = 55;
const REFUSED: u64 = 55;
const PLACED: u64 = 34;
const NOTED: u64 = 15;
const RED_BONUS: u64 = 15;
const RED_ALONE: u64 = 18;
const RED_BYTES: usize = 5;

static CERTAIN_PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    any_of(&[
        "panicked at",
        "*** FAILED",
        "<<< FAILURE",
        "<<< ERROR",
        "undefined reference to",
        ": fatal error",
        "egmentation fault",
        "core dumped",
        "Sanitizer: ",
        "WARNING: DATA RACE",
        ": multiple definition of ",
    ])
});
/// Some loggers give a number as severity: these are errors.
static NUMBERED_LEVELS: LazyLock<AhoCorasick> =
    LazyLock::new(|| any_of(&["\"level\":50", "\"level\":60"]));
/// A warning with one of these is more than that.
const GRAVE: [&[u8]; 4] = [b"error", b"fail", b"sanitizer", b"data race"];
/// Crosses, ballots and the like: no text has them by chance.
static CROSSES: LazyLock<AhoCorasick> = LazyLock::new(|| any_of(&["✗", "✘", "✖", "❌", "✕"]));

patterns! {
    RED = r"\x1b\[(?:[0-9]+;)*(?:31|91|38;5;(?:1|9|160|196))(?:;[0-9]+)*m";
    /// Marks that test runners, compilers and interpreters put before a failure.
    MARK = r"^(?:--- FAIL|not ok\b|E   +\S"
        r"|(?:\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9c\x96|\xe2\x9d\x8c|\xe2\x9c\x95|\xc3\x97|\[-\]) *\S|\[FAIL|\[ *FAILED *\]"
        r"|[0-9]{1,4}\)(?:$| +\S)|\xe2\x97\x8f \S|\(X\) \S|# +Failed test|Bail out!"
        r"|error\[E|\^-+\^? SC[0-9]|Traceback \(|panic: |rake aborted|CMake Error|\*\* \(|FATAL"
        r"|(?:Segmentation fault|segmentation fault|Illegal instruction|Bus error|Killed|Aborted)\b"
        r"|SIG(?:SEGV|ABRT|BUS|KILL|ILL)\b|\(fail\) |#[0-9]+ ERROR: \S|[EF][0-9]{4} [0-9]{2}:[0-9]{2}:"
        r"|Failure/Error|fatal: |FAIL(?:ED|URE)?(?:$|[:! \]])|ERROR: \S)";
    COMPILER = r":[0-9]+:(?:[0-9]+:)? *(?:fatal )?error\b|\([0-9]+,[0-9]+\): error|error [A-Z]{1,5}[0-9]+:";
    NAMED = r#"(?:^|[\s\[(:"'*>|.])[A-Z][A-Za-z0-9]*(?:Error|Exception|Failure|Fault)(?:$|: |:$|[)!]| at )"#;
    /// How lists of tests and of services write that one of them came to no good end.
    STATUS = r"[\s*]TIMEOUT(?:$|[\s:!,])|[0-9] s = [FE]$";
    /// What loggers write who give the severity as a field.
    LEVEL = r#"(?i:(?:^|[\s{,"'])(?:log)?(?:level|severity|lvl)(?:name)?["']? ?[:=] ?["']?"#
        r#"(?:error|err|fatal|critical|crit|panic|dpanic)(?:$|[^A-Za-z]))"#;
    FAILED = r" FAILED(?:$|[\s:!,])|^Assertion|Assertion.{0,200} failed";
    HEADING = r"^(?:(?i:\[?(?:error|exception|fatal|failure|failed|critical)(?:$|[\]:! ]))|Errors?\b|Failures?\b"
        r"|! |E: |##\[error\]|::error[ :]|##vso\[task\.logissue type=error|Diff in \S+:[0-9]|[^\s:]*make(?:\[[0-9]+\])?: \*\*\* |\* What went wrong|A problem occurred)";
    TITLED = r#"(?:^|[\s\[(:"'*>|!])(?:(?i:error):|(?:FAIL|FAILURES?|ERRORS?|FATAL|Failed[A-Z][A-Za-z]+)(?:$|[\s:!,;\])"'*]|\.(?:$|\s)))"#
        r"|ERR!|\(E\)";
    COUNT = r"\b[1-9][0-9,]* (?:\w+ )?(?:failed|failing|failures?|errors?|problems?|offenses)\b"
        r"|\b(?:failures?|errors?|failed)(?:[:=] ?| +)[1-9]";
    VERB = r#"(?:^|[\s\[(:"'*>|!])"#
        r"(?:failed|fails|fatal|panic|crash(?:ed)?|aborted|aborting|segfault|terminated|killed"
        r"|exceeded|timed out|out of memory|[a-z]+backoff|oomkilled"
        r#"|(?:uncaught|unhandled) exception)(?:$|[\s:!,;\])"'*]|\.(?:$|\s))|^(?:could not|cannot|can't|unable to"#
        r"|unknown|undefined|invalid|no such|expected|unexpected|missing)\b";
    NOUN = r#"(?:^|[\s\[(:"'*>|!])(?:errors?|failures?|failing)(?:$|[\s:!,;\])"'*]|\.(?:$|\s))"#;
    COMPLAINT = r"exception|cannot|can not|could not|couldn't|can't|unable to|not found|no such"
        r"|\bnot [a-z]|does(?: not|n't)|did(?: not|n't)|is not|isn't|was not|wasn't|are not"
        r"|timed out|time-?out|expected|invalid|illegal|undefined|undeclared|unknown|unrecognized"
        r"|unresolved|missing|mismatch|denied|refused|violation|violates|conflicts?\b|non-zero"
        r"|unsuccessful|core dumped|dubious|disconnected|no longer|wrong|broken|unavailable|reason:"
        r"|caused by|unbound variable|prematurely|reset by peer|\bexpired\b|hang up|broken pipe|differs\b"
        r"|no space left|forbidden|corrupt|deadlock|too many";
    LOCATION = r"^(?:(?:[A-Za-z]+: )?(?:[A-Za-z]:)?[^\s:0-9][^\s:]*:[0-9]+:(?:[0-9]+:)? *\S"
        r"|[^\s:]+\.[^\s:]+: [0-9]+: \S"
        r"|[0-9]+:[0-9]+ {2,}\S)";
    /// How shells and the system say no, at the end of a line.
    REFUSAL = r": (?:command )?not found\.?$|: permission denied\.?$|: no such file or directory\.?$"
        r"|: unbound variable$";
    NOTICE = r"warning|problem|offense|exceed|unauthorized|reformat|sanitizer|no package|signal [0-9]"
        r"|threshold|uncommitted|please run|attempt to";
    /// Words of failure in a line that reports none, or only speaks of it.
    DENIAL = r"\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|failures?|failed|failing|fails|exceptions?"
        r"|warnings?|problems?|offenses|issues)\b"
        r"|\b(?:errors?|failures?|failed|fail|exceptions|problems?)(?: ?[:=] ?| +)0(?:$|[^0-9a-z_.]|\.(?:$|[^0-9]))"
        r"|allow(?:ed)?[ -]fail|fail(?:s|ure)?[ -]?fast|expected[ -]fail|xfail|ignore[- ]?errors"
        r"|errors?[ -](?:handling|handler|page|messages?\b)|\bon[ -]failure|\bon[ -]error"
        r"|if .{0,30} fails";
    STAMP = r"^(?:[\[(]?(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}\S* +(?:- +)?"
        r"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} \S+ \S+: +)";
    /// What a logger puts before each line of a program whose output it passes on.
    PASSED_ON = r"^(?:\[ *(?i:info|debug|trace|notice|verbose) *\] +(?:- +)?"
        r"|(?i:info|debug|trace|notice|verbose)(?::| -)? +)";
    WARNING = r"^.{0,40}(?:arning|WARN)";
    CHATTER = r"^(?:\[?(?i:info|debug|trace|notice|note|verbose)\b|.{0,40}\[(?i:info|debug|notice)\]|\S+: note: "
        r#"|.{0,60}(?:level|severity|lvl)"?[:=] ?"?(?i:info|debug|trace|notice))"#;
    CODE = r"[;{]$|^(?:def |class |raise |throw |return |import |from |function |var |const |let |if "
        r"|//|#|<)| => | = |\(\)|\);";
}

/// Tells whether a line, with its codes, is red somewhere.
pub(super) fn is_red(line: &[u8]) -> bool {
    memchr::memchr(0x1b, line).is_some_and(|at| RED.is_match(&line[at..]))
}

/// Scores a line that is free of codes and of blanks at its ends; 0 says nothing.
pub(super) fn severity_of(line: &[u8], is_red: bool) -> u64 {
    let stamp = stamp_end(line);
    let line = &line[stamp.unwrap_or_default()..];
    let lower = line.to_ascii_lowercase();
    let value = if is_certain(line, &lower) {
        SURE
    } else {
        claim(line, &lower, is_red)
    };
    let mut value = doubt(line, &lower, value);
    if stamp.is_some() && value < SURE {
        value = value * 2 / 3;
    }
    if is_red && value > 0 {
        value + RED_BONUS
    } else {
        value
    }
}

/// Tells whether a logger gives the line the number of an error; it counts in no other way.
pub(super) fn has_error_level(line: &[u8]) -> bool {
    NUMBERED_LEVELS.is_match(line)
}

fn stamp_end(line: &[u8]) -> Option<usize> {
    let may_be = matches!(line.first(), Some(b'0'..=b'9' | b'A'..=b'Z' | b'[' | b'('));
    let found = may_be.then(|| STAMP.find(line)).flatten();
    found.map(|found| found.end())
}

fn is_certain(line: &[u8], lower: &[u8]) -> bool {
    let label = PASSED_ON.find(line).map_or(0, |found| found.end());
    MARK.is_match(&line[label..])
        || CERTAIN_PARTS.is_match(line)
        || (contains(lower, b"error") && COMPILER.is_match(line))
}

/// Scores the words of a line, unless it denies that anything failed.
fn claim(line: &[u8], lower: &[u8], is_red: bool) -> u64 {
    let value = score_words(line, lower);
    if value == 0 {
        let is_word = is_red && line.len() > RED_BYTES;
        return if is_word { RED_ALONE } else { 0 };
    }
    if value < CERTAIN && COUNT.is_match(lower) {
        return COUNTED;
    }
    if DENIAL.is_match(lower) || is_passing(line) {
        0
    } else {
        value
    }
}

fn score_words(line: &[u8], lower: &[u8]) -> u64 {
    let has = |word: &[u8]| contains(lower, word);
    let (has_error, has_fail) = (has(b"error"), has(b"fail"));
    let is_named = has_error || has_fail || has(b"exception") || has(b"fault");
    if CROSSES.is_match(line)
        || STATUS.is_match(line)
        || (is_named && NAMED.is_match(line))
        || ((has_fail || has(b"assert")) && FAILED.is_match(line))
    {
        CERTAIN
    } else if HEADING.is_match(line) || LEVEL.is_match(line) || has_error_level(line) {
        HEADED
    } else if TITLED.is_match(line) {
        ENTITLED
    } else if VERB.is_match(lower) {
        TOLD
    } else if is_named && NOUN.is_match(lower) {
        MENTIONED
    } else {
        score_hint(line, lower)
    }
}

fn score_hint(line: &[u8], lower: &[u8]) -> u64 {
    match (LOCATION.is_match(line), COMPLAINT.is_match(lower)) {
        (true, true) => PLACED_COMPLAINT,
        (true, false) => PLACED,
        (false, true) if REFUSAL.is_match(lower) => REFUSED,
        (false, true) => WEAK,
        (false, false) if NOTICE.is_match(lower) => NOTED,
        (false, false) => 0,
    }
}

/// Lowers the score of a line that repeats, quotes or explains rather than tells.
fn doubt(line: &[u8], lower: &[u8], value: u64) -> u64 {
    if value == 0 || is_command(line) || is_housekeeping(line) {
        return 0;
    }
    if value < SURE && is_build_step(line) {
        return value.min(5);
    }
    if is_frame(line) {
        return value.min(6);
    }
    let mut value = value;
    if is_boilerplate(lower) {
        value = value.min(12);
    } else if is_mere_warning(line, lower) {
        value = value.min(22);
    } else if value < CERTAIN && CHATTER.is_match(line) {
        value /= 3;
    }
    if (WEAK..SURE).contains(&value) && CODE.is_match(line) {
        value = value * 3 / 5;
    }
    value
}

fn is_mere_warning(line: &[u8], lower: &[u8]) -> bool {
    WARNING.is_match(line) && !GRAVE.iter().any(|word| contains(lower, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_weighs_more_than_a_word() {
        let scores = [
            "FAILED test_one",
            "error: x",
            "cannot open",
            "0 failed",
            "fine",
        ]
        .map(|line| severity_of(line.as_bytes(), false));
        assert!(
            scores.windows(2).all(|pair| pair[0] >= pair[1]),
            "{scores:?}"
        );
        assert_eq!((scores[0], scores[3], scores[4]), (SURE, 0, 0));
    }

    #[test]
    fn red_weighs_more() {
        assert!(is_red(b"\x1b[1;31merror"));
        assert!(!is_red(b"\x1b[32mfine"));
        assert_eq!(severity_of(b"FAILED x", true), SURE + RED_BONUS);
        assert_eq!(severity_of(b"strange", true), RED_ALONE + RED_BONUS);
    }

    #[test]
    fn a_command_says_nothing() {
        assert_eq!(severity_of(b"$ error: x", false), 0);
    }
}
