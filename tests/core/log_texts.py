"""Logs as programs write them, and lines made of what a preview looks for in them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies import hostile_text

__all__ = ["LOGS", "MARKS", "WORDY_LOGS"]

MARKS = st.sampled_from(
    [
        "FAILED tests/test_a.py::test_one",
        "E   assert 1 == 2",
        "src/main.c:12:3: error: expected ';'",
        "ok 12 - fine",
        "$ make all",
        'The command "make all" exited with 2.',
        "##[group]Run make",
        "##[error]Process completed with exit code 1.",
        '" exited with 1.',
        "make: *** [all] Error 2",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "\x1b[31mred\x1b[0m and \x1b]0;title\x07plain",
        "\x1b[31",
        "10%\r20%\rdone\r",
        "2024-05-01T10:11:12.1234567Z error: one",
        "2024-05-01T10:11:12Z error: one",
        "npm ERR! code 1",
        "x" * 5_000,
        "é" * 300,
        "\U0001f600" * 130 + " error",
        "<persisted-output",
        "<\x1b[0mpersisted-output>",
        "</persisted-\x08output>",
        "\x00 error \ud800 \x85 \u2028 \x1c",
        "",
        "   ",
    ]
)
_LINES = st.lists(MARKS | hostile_text() | st.integers().map("line {}".format), max_size=60)
LOGS = st.tuples(_LINES, st.sampled_from(["", "\n", "\r\n"]), st.integers(1, 30)).map(
    lambda parts: "\n".join(parts[0] * parts[2]) + parts[1]
)

# Words that rules ask for, and some that they ask for nearly.
_WORDS = tuple(
    word
    for line in (
        "error errors Error ERROR ERR! Errors: failed fail FAIL FAILED failing fails failure",
        "FAILURE Failure/Error fatal FATAL panic: panicked at exception Exception ValueError:",
        "IOException Traceback (most assert AssertionError Assertion abort aborted Killed killed",
        "core dumped segfault undefined reference to not ok n't cannot can't unable unknown",
        "expected invalid illegal missing timed out time-out denied refused no such mismatch",
        "unrecognized violation conflict disconnect non-zero no longer wrong broken reason:",
        "caused by exceeds reformat sanitizer no package signal 9 threshold uncommitted please",
        "run attempt to Bail out! -- SC2 (X) warning WARN Warning: *** exit exited with code",
        "status 0 1 2 12 1,234 ==> offense problems ✗ ✘ ✖ ❌ ✕ \xd7 ● ✓ ✔ √ [-] [+] [FAIL [ OK ] [",
        'FAILED ] $ ## ##[group]Run ##[error]Process completed The command " npm ERR! make:',
        "make[2]: [all] elifecycle rerun re-run to resume [help see also error[E012] error TS12:",
        "main.c:12: main.c:12:3: (12,3): 1) 2) E #12 3.456 web-1 | [job 12] [error] [INFO]",
        "[debug] info: note: DEBUG 12:34:56 [12:34:56] 2024-05-01 2024-05-01T10:11:12Z",
        "2024-05-01T10:11:12.1234567Z ok OK PASS PASSED passed ... 12ms 12 ms) === RUN --- PASS",
        '--- FAIL: at foo.bar(x.js:1) from a.rb:12 File "a" in `b\' x.rb:12:in gcc g++ /usr/bin/cc',
        "cp Downloading travis_fold Done. Your build uploading cache allowed-fail xfail fail-fast",
        "on error on-failure error handling zero no without 0 failures errors: 0 failed=1 if it",
        "fails throw raise def { ; => = () ); // # < /usr/lib/x.so C:\\a\\b camelCaseName 'a b'",
        "TIMEOUT *TIMEOUT 0.1 s = F s = E level=error level=info severity: CRITICAL lvl='fatal'",
        '{"level":50 {"level":30, "severity":"error" E1130 F1130 10:00:07.1 #12 ERROR: #3 SIGSEGV',
        "SIGKILLED (fail) ^--^ SC2 Diff in /a.rs:5: ::error file= ##vso[task.logissue type=error]",
        "FailedMount CrashLoopBackOff OOMKilled backoff of memory WARNING: DATA RACE Sanitizer:",
        "multiple definition of: unbound variable prematurely reset by peer expired hang up broken",
        "pipe differs space left forbidden corrupt deadlock too many failed 0.5 failed: 0. 0x",
        "May 1 host app[12]: [web] [pod/a] [Web] [skipped] [x] x.rb:1:in `b': (NameError) 'c'",
        '"a b" `x` ! * . , :',
    )
    for word in line.split(" ")
)
_GLUE = st.sampled_from(
    [" ", " ", " ", "", ":", ": ", "  ", "\t", "\r", "\x1b[31m", "\x1b[0m", "\x1b]0;", "\x07"]
)
_WORDY_LINE = st.lists(st.tuples(st.sampled_from(_WORDS), _GLUE), max_size=9).map(
    lambda parts: "".join(map("".join, parts))
)
# Lines that nearly look like those that count; a few runs of each, so that all is left out once.
WORDY_LOGS = st.lists(st.tuples(_WORDY_LINE, st.integers(1, 4)), min_size=4, max_size=60).map(
    lambda lines: "".join(f"{line}\n" * count for line, count in lines)
)
