//! What a line is for: a command, a step that passed, a stack frame, noise, an exit.

use super::patterns::patterns;

const QUOTED: &[u8] = b"The command \"";

patterns! {
    PASSING = r"^(?:ok\b|OK\b|PASS(?:ED)?\b|\[\+\]|\[ +OK +\]|\[PASS|--- PASS|=== (?:RUN|PAUSE|CONT))"
        r"|(?:\.\.\. ?ok|[ .]OK|\bPASSED|\.\.\. ?passed|: ok|: pass(?:ed)?)(?: *[\[(].*)?$"
        r"|\xe2\x9c\x93|\xe2\x9c\x94|\xe2\x88\x9a";
    TIMED = r"\b[0-9]+ ?ms\)?$";
    COMMAND = r"^(?:\$ |\++ [a-z]+|travis_|##\[(?:group|command|endgroup)|\[command\]|::group::)";
    BUILD_STEP = r"^(?:(?:\S*/)?(?:gcc|cc|g\+\+|c\+\+|clang(?:\+\+)?|rustc|javac|ld|ar|ghc|libtool:|sh|bash|cp|mv|rm"
        r"|mkdir|install|echo|cd|if|for) |(?:Get|Hit|Ign|Fetched|Selecting|Preparing|Unpacking"
        r"|Setting up|Downloading|Downloaded|Collecting|Installing|Requirement|Compiling|Building"
        r"|Fetching|Using|Checking|Updating|Resolving|Receiving|Counting|remote:|Processing|Copying"
        r#"|copying|adding|creating|inflating:|Linking|Fresh|Running|Removing) ?[:0-9A-Za-z/.`'"(])"#;
    FRAME = r#"^(?:at [\w$<.\[(/]|from \S+:[0-9]+|File "|#[0-9]+ +(?:[^E]|E[^R])|\.\.\. [0-9]+ more|in .{1,80}:[0-9]+\)?$"#
        r"|\S+:[0-9]+:in [^\s].{0,200}['`>]$|\([a-z_]+\) \S+\.exs?:[0-9]+: )";
    BOILERPLATE = r"npm err! +(?:a complete|node |npm |code |errno|argv|system |cwd|linux |this is |not with npm"
        r"|there is likely|tell the author|or if that|if you |you can|please include|additional"
        r"|<?https?:|[^ ]+/|make sure you)|npm err!$|see also|for more info|with --(?:stack)?trace"
        r"|rust_backtrace|complete log|^.{0,20}\bre-?run\b|^[^a-z]*(?:note: )?run with|full log"
        r"|get more help"
        r"|to resume|\[help|try running|^[^ ]* ?(?:process completed with |command failed with )?"
        r"exit (?:code|status):? [1-9]|your build exited|\bmake(?:\[[0-9]+\])?: \*\*\* \[|elifecycle"
        r#"|^error command failed|no test results|^the command ".*exited with [0-9]|failed\. retrying"#;
    HOUSEKEEPING = r"^(?:travis_|Done\. Your build|(?i:store build cache|nothing changed|changes? detected|uploading "
        r"|cache uploaded|packing |creating cache|creating directory|fetching |adding /"
        r"|could not download cache))";
    EXIT = r"(?i:\bexited with (?:code )?[1-9][0-9]*\.?$|process completed with exit code [1-9]"
        r"|^error: job failed|\bmake(?:\[[0-9]+\])?: \*\*\* |error command failed"
        r"|npm err! test failed|command failed with exit code [1-9]|elifecycle)";
    CI_EXIT = r#"^(?:(?:The command ".*|" )(?:exited with|failed and exited with) ([0-9]+)"#
        r"|##\[error\]Process completed with exit code ([0-9]+))";
}

/// Tells whether a runner says of this line's step that all went well.
pub(super) fn is_passing(line: &[u8]) -> bool {
    PASSING.is_match(line)
}

/// Tells whether the line ends with the milliseconds that its step took.
pub(super) fn is_timed(line: &[u8]) -> bool {
    let line = line.strip_suffix(b")").unwrap_or(line);
    line.ends_with(b"ms") && TIMED.is_match(line)
}

/// Tells whether the line echoes a command.
pub(super) fn is_command(line: &[u8]) -> bool {
    let may_be = matches!(line.first(), Some(b'$' | b'+' | b't' | b'#' | b'[' | b':'));
    may_be && COMMAND.is_match(line)
}

/// Tells whether the line says what is being fetched, compiled or copied.
pub(super) fn is_build_step(line: &[u8]) -> bool {
    BUILD_STEP.is_match(line)
}

/// Tells whether the line is a frame of a stack trace.
pub(super) fn is_frame(line: &[u8]) -> bool {
    FRAME.is_match(line)
}

/// Tells whether a tool writes this line, given in lower case, whatever went wrong.
pub(super) fn is_boilerplate(lower: &[u8]) -> bool {
    BOILERPLATE.is_match(lower)
}

/// Tells whether the line speaks of the build machine and its caches.
pub(super) fn is_housekeeping(line: &[u8]) -> bool {
    HOUSEKEEPING.is_match(line)
}

/// Tells whether the line has no word, or only speaks of the build machine.
pub(super) fn is_noise(line: &[u8]) -> bool {
    is_wordless(line) || is_housekeeping(line)
}

/// Tells whether all letters and digits are two at most, side by side.
fn is_wordless(line: &[u8]) -> bool {
    let mut words = line.iter().enumerate();
    let Some((first, _)) = words.find(|(_, byte)| byte.is_ascii_alphanumeric()) else {
        return true;
    };
    let last = line.iter().rposition(u8::is_ascii_alphanumeric);
    last.is_none_or(|last| last <= first + 1)
}

/// Tells whether the line is an absolute path and nothing else.
pub(super) fn is_path(line: &[u8]) -> bool {
    line.first() == Some(&b'/') && !line.iter().any(|byte| matches!(byte, b' ' | b':'))
}

/// Tells whether the line reports that a command failed.
pub(super) fn is_exit(line: &[u8]) -> bool {
    EXIT.is_match(line)
}

/// Tells whether a CI system reports here that a command failed.
pub(super) fn has_failed(line: &[u8]) -> bool {
    let may_be = matches!(line.first(), Some(b'T' | b'"' | b'#'));
    let codes = may_be.then(|| CI_EXIT.captures(line)).flatten();
    let code = codes.and_then(|codes| codes.get(1).or_else(|| codes.get(2)));
    code.is_some_and(|code| code.as_bytes().iter().any(|&digit| digit != b'0'))
}

/// The beginning of the command that a CI system names with its exit code; else empty.
pub(super) fn quoted_command(line: &[u8]) -> &[u8] {
    line.strip_prefix(QUOTED).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_passed_is_known() {
        for line in [
            "ok 1 - x",
            "test a ... ok",
            "a.py::b PASSED [ 4%]",
            "\u{2713} it works",
        ] {
            assert!(is_passing(line.as_bytes()), "{line}");
        }
        assert!(!is_passing(b"okay"));
        assert!(is_timed(b"it works (12ms)") && !is_timed(b"12 items"));
    }

    #[test]
    fn a_line_without_words_is_noise() {
        assert!(is_noise(b"--- 12 ---") && is_noise(b"") && is_noise(b"=="));
        assert!(!is_noise(b"--- 123") && !is_noise(b"a b"));
    }

    #[test]
    fn only_a_code_above_zero_is_a_failure() {
        assert!(has_failed(b"The command \"make\" exited with 2."));
        assert!(has_failed(b"##[error]Process completed with exit code 10."));
        assert!(!has_failed(b"The command \"make\" exited with 0."));
        assert!(!has_failed(b"The command \"make\""));
    }
}
