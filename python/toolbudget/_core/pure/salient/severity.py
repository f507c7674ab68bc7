r"""How much a line says about what went wrong, from its own words and marks alone.

All patterns work on UTF-8 bytes with ASCII classes, without look-around and back-references, so
that other regular expression engines read them the same.
"""

from __future__ import annotations

import re
from typing import Final

from toolbudget._core.pure.salient.role import (
    is_boilerplate,
    is_build_step,
    is_command,
    is_frame,
    is_housekeeping,
    is_passing,
)

__all__ = ["CERTAIN", "KEYWORDS", "LIKELY", "RED", "WEAK", "has_error_level", "severity_of"]

CERTAIN: Final = 95
LIKELY: Final = 50
WEAK: Final = 30

# A line without any of these, in lower case, is never scored: they are found without regular
# expressions. A location (`name:12:`) and red colour count as well.
KEYWORDS: Final = (
    b"error", b"fail", b"err!", b"exception", b"fatal", b"panic", b"traceback", b"abort", b"assert",
    b"crash", b" fault", b"segfault", b"killed", b"terminated", b"dumped", b"dubious", b"undefined",
    b"not ", b"n't ", b"cannot", b"unable", b"unknown", b"expected", b"invalid", b"illegal",
    b"missing", b"timed out", b"timeout", b"denied", b"refused", b"no such", b"mismatch",
    b"unrecognized", b"unresolved", b"undeclared", b"violat", b"unavailable", b"conflict",
    b"disconnect", b"non-zero", b"unsuccessful", b"no longer", b"wrong", b"broken", b"reason:",
    b"caused by", b"exceed", b"unauthor", b"reformat", b"sanitizer", b"no package", b"signal ",
    b"threshold", b"uncommitted", b"please run", b"attempt to", b"bail out", b"-- sc", b"(x) ",
    b"warning", b"*** ", b"exit", b"==> ", b"offense", b"problem", b"\xe2\x9c\x97", b"\xe2\x9c\x98",
    b"\xe2\x9c\x96", b"\xe2\x9d\x8c", b"\xe2\x9c\x95", b"\xc3\x97 ", b"\xe2\x97\x8f ", b"[-]",
    b"$ ", b"##[group]", b"sigsegv", b"sigabrt", b"sigbus", b"sigkill", b"sigill",
    b"multiple definition", b"backoff", b"oomkilled", b"-^ sc", b"unbound", b"out of memory",
    b"prematurely", b"reset by peer", b"expired", b"hang up", b"broken pipe", b"critical",
    b"data race", b"differs", b"diff in ", b" s = f", b" s = e", b'"level":50', b'"level":60',
    b"no space left", b"forbidden", b"corrupt", b"deadlock", b"too many",
)  # fmt: skip

RED: Final = re.compile(rb"\x1b\[(?:[0-9]+;)*(?:31|91|38;5;(?:1|9|160|196))(?:;[0-9]+)*m")
# Crosses, ballots and the like: no text has them by chance.
_CROSS: Final = b"\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9c\x96|\xe2\x9d\x8c|\xe2\x9c\x95"
_CROSSES: Final = tuple(_CROSS.split(b"|"))

# Marks that test runners, compilers and interpreters put before a failure.
_MARK: Final = re.compile(
    rb"--- FAIL|not ok\b|E   +\S|(?:" + _CROSS + rb"|\xc3\x97|\[-\]) *\S|\[FAIL|\[ *FAILED *\]"
    rb"|[0-9]{1,4}\)(?:$| +\S)|\xe2\x97\x8f \S|\(X\) \S|# +Failed test|Bail out!"
    rb"|error\[E|\^-+\^? SC[0-9]|Traceback \(|panic: |rake aborted|CMake Error|\*\* \(|FATAL"
    rb"|(?:Segmentation fault|segmentation fault|Illegal instruction|Bus error|Killed|Aborted)\b"
    rb"|SIG(?:SEGV|ABRT|BUS|KILL|ILL)\b|\(fail\) |#[0-9]+ ERROR: \S|[EF][0-9]{4} [0-9]{2}:[0-9]{2}:"
    rb"|Failure/Error|fatal: |FAIL(?:ED|URE)?(?:$|[:! \]])|ERROR: \S"
)
_CERTAIN_PARTS: Final = (
    b"panicked at", b"*** FAILED", b"<<< FAILURE", b"<<< ERROR", b"undefined reference to",
    b": fatal error", b"egmentation fault", b"core dumped", b"Sanitizer: ", b"WARNING: DATA RACE",
    b": multiple definition of ",
)  # fmt: skip
_COMPILER: Final = re.compile(
    rb":[0-9]+:(?:[0-9]+:)? *(?:fatal )?error\b|\([0-9]+,[0-9]+\): error|error [A-Z]{1,5}[0-9]+:"
)
_NAMED: Final = re.compile(
    rb"(?:^|[\s\[(:\"'*>|.])[A-Z][A-Za-z0-9]*(?:Error|Exception|Failure|Fault)(?:$|: |:$|[)!]| at )"
)
# How lists of tests and of services write that one of them came to no good end.
_STATUS: Final = re.compile(rb"[\s*]TIMEOUT(?:$|[\s:!,])|[0-9] s = [FE]$")
# What loggers write who give the severity as a field; some give a number, 50 and 60 for errors.
_LEVEL: Final = re.compile(
    rb"(?i:(?:^|[\s{,\"'])(?:log)?(?:level|severity|lvl)(?:name)?[\"']? ?[:=] ?[\"']?"
    rb"(?:error|err|fatal|critical|crit|panic|dpanic)(?:$|[^A-Za-z]))"
)
_NUMBERED_LEVELS: Final = (b'"level":50', b'"level":60')
_FAILED: Final = re.compile(rb" FAILED(?:$|[\s:!,])|^Assertion|Assertion.{0,200} failed")
_HEADING: Final = re.compile(
    rb"(?i:\[?(?:error|exception|fatal|failure|failed|critical)(?:$|[\]:! ]))|Errors?\b|Failures?\b"
    rb"|! |E: |##\[error\]|::error[ :]|##vso\[task\.logissue type=error|Diff in \S+:[0-9]"
    rb"|[^\s:]*make(?:\[[0-9]+\])?: \*\*\* |\* What went wrong|A problem occurred"
)
_BEFORE: Final = rb"(?:^|[\s\[(:\"'*>|!])"
_AFTER: Final = rb"(?:$|[\s:!,;\])\"'*]|\.(?:$|\s))"
_TITLED: Final = re.compile(
    _BEFORE
    + rb"(?:(?i:error):|(?:FAIL|FAILURES?|ERRORS?|FATAL|Failed[A-Z][A-Za-z]+)"
    + _AFTER
    + rb")|ERR!|\(E\)"
)
_COUNT: Final = re.compile(
    rb"\b[1-9][0-9,]* (?:\w+ )?(?:failed|failing|failures?|errors?|problems?|offenses)\b"
    rb"|\b(?:failures?|errors?|failed)(?:[:=] ?| +)[1-9]"
)
_VERB: Final = re.compile(
    _BEFORE
    + rb"(?:failed|fails|fatal|panic|crash(?:ed)?|aborted|aborting|segfault|terminated|killed"
    rb"|exceeded|timed out|out of memory|[a-z]+backoff|oomkilled"
    rb"|(?:uncaught|unhandled) exception)" + _AFTER + rb"|^(?:could not|cannot|can't|unable to"
    rb"|unknown|undefined|invalid|no such|expected|unexpected|missing)\b"
)
_NOUN: Final = re.compile(_BEFORE + rb"(?:errors?|failures?|failing)" + _AFTER)
_COMPLAINT: Final = re.compile(
    rb"exception|cannot|can not|could not|couldn't|can't|unable to|not found|no such"
    rb"|\bnot [a-z]|does(?: not|n't)|did(?: not|n't)|is not|isn't|was not|wasn't|are not"
    rb"|timed out|time-?out|expected|invalid|illegal|undefined|undeclared|unknown|unrecognized"
    rb"|unresolved|missing|mismatch|denied|refused|violation|violates|conflicts?\b|non-zero"
    rb"|unsuccessful|core dumped|dubious|disconnected|no longer|wrong|broken|unavailable|reason:"
    rb"|caused by|unbound variable|prematurely|reset by peer|\bexpired\b|hang up|broken pipe"
    rb"|differs\b|no space left|forbidden|corrupt|deadlock|too many"
)
_LOCATION: Final = re.compile(
    rb"(?:[A-Za-z]+: )?(?:[A-Za-z]:)?[^\s:0-9][^\s:]*:[0-9]+:(?:[0-9]+:)? *\S"
    rb"|[^\s:]+\.[^\s:]+: [0-9]+: \S"
    rb"|[0-9]+:[0-9]+ {2,}\S"
)
# How shells and the system say no, at the end of a line.
_REFUSAL: Final = re.compile(
    rb": (?:command )?not found\.?$|: permission denied\.?$|: no such file or directory\.?$"
    rb"|: unbound variable$"
)
_NOTICE: Final = re.compile(
    rb"warning|problem|offense|exceed|unauthorized|reformat|sanitizer|no package|signal [0-9]"
    rb"|threshold|uncommitted|please run|attempt to"
)

# Words of failure in a line that reports none, or only speaks of it.
_DENIAL: Final = re.compile(
    rb"\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|failures?|failed|failing|fails|exceptions?"
    rb"|warnings?|problems?|offenses|issues)\b"
    rb"|\b(?:errors?|failures?|failed|fail|exceptions|problems?)(?: ?[:=] ?| +)0"
    rb"(?:$|[^0-9a-z_.]|\.(?:$|[^0-9]))"
    rb"|allow(?:ed)?[ -]fail|fail(?:s|ure)?[ -]?fast|expected[ -]fail|xfail|ignore[- ]?errors"
    rb"|errors?[ -](?:handling|handler|page|messages?\b)|\bon[ -]failure|\bon[ -]error"
    rb"|if .{0,30} fails"
)
_STAMP: Final = re.compile(
    rb"[\[(]?(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}\S* +(?:- +)?"
    rb"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} \S+ \S+: +"
)
# What a logger puts before each line of a program whose output it passes on.
_PASSED_ON: Final = re.compile(
    rb"\[ *(?i:info|debug|trace|notice|verbose) *\] +(?:- +)?"
    rb"|(?i:info|debug|trace|notice|verbose)(?::| -)? +"
)
_WARNING: Final = re.compile(rb".{0,40}(?:arning|WARN)")
# A warning with one of these is more than that.
_GRAVE: Final = (b"error", b"fail", b"sanitizer", b"data race")
_CHATTER: Final = re.compile(
    rb"\[?(?i:info|debug|trace|notice|note|verbose)\b|.{0,40}\[(?i:info|debug|notice)\]|\S+: note: "
    rb"|.{0,60}(?:level|severity|lvl)\"?[:=] ?\"?(?i:info|debug|trace|notice)"
)
_CODE: Final = re.compile(
    rb"[;{]$|^(?:def |class |raise |throw |return |import |from |function |var |const |let |if "
    rb"|//|#|<)| => | = |\(\)|\);"
)

_SURE: Final = 100
_HEADED: Final = 85
_COUNTED: Final = 80
_ENTITLED: Final = 75
_TOLD: Final = 65
_MENTIONED: Final = 55
_PLACED_COMPLAINT: Final = 60
_REFUSED: Final = 55
_PLACED: Final = 34
_NOTED: Final = 15
_RED_BONUS: Final = 15
_RED_ALONE: Final = 18
_RED_BYTES: Final = 5


def severity_of(line: bytes, *, is_red: bool) -> int:
    """Score a line that is free of codes and of blanks at its ends; 0 says nothing.

    Example:
        >>> severity_of(b"FAILED test_one", is_red=False), severity_of(b"0 failed", is_red=False)
        (100, 0)
    """
    stamp = _STAMP.match(line)
    if stamp:
        line = line[stamp.end() :]
    lower = line.lower()
    value = _SURE if _is_certain(line, lower) else _claim(line, lower, is_red=is_red)
    value = _doubt(line, lower, value)
    if stamp and value < _SURE:
        value = value * 2 // 3
    return value + _RED_BONUS if is_red and value > 0 else value


def has_error_level(line: bytes) -> bool:
    """Tell whether a logger gives the line the number of an error; it counts in no other way."""
    return any(level in line for level in _NUMBERED_LEVELS)


def _is_certain(line: bytes, lower: bytes) -> bool:
    label = _PASSED_ON.match(line)
    if _MARK.match(line, label.end() if label else 0):
        return True
    if any(part in line for part in _CERTAIN_PARTS):
        return True
    return b"error" in lower and _COMPILER.search(line) is not None


def _claim(line: bytes, lower: bytes, *, is_red: bool) -> int:
    """Score the words of a line, unless it denies that anything failed."""
    value = _words(line, lower)
    if value == 0:
        return _RED_ALONE if is_red and len(line) > _RED_BYTES else 0
    if value < CERTAIN and _COUNT.search(lower):
        return _COUNTED
    return 0 if _DENIAL.search(lower) or is_passing(line) else value


def _words(line: bytes, lower: bytes) -> int:
    has_error, has_fail = b"error" in lower, b"fail" in lower
    is_named = has_error or has_fail or b"exception" in lower or b"fault" in lower
    if (
        any(cross in line for cross in _CROSSES)
        or _STATUS.search(line)
        or (is_named and _NAMED.search(line))
        or ((has_fail or b"assert" in lower) and _FAILED.search(line))
    ):
        return CERTAIN
    if _HEADING.match(line) or _LEVEL.search(line) or has_error_level(line):
        return _HEADED
    if _TITLED.search(line):
        return _ENTITLED
    if _VERB.search(lower):
        return _TOLD
    if is_named and _NOUN.search(lower):
        return _MENTIONED
    return _hint(line, lower)


def _hint(line: bytes, lower: bytes) -> int:
    has_complaint = _COMPLAINT.search(lower) is not None
    if _LOCATION.match(line):
        return _PLACED_COMPLAINT if has_complaint else _PLACED
    if has_complaint:
        return _REFUSED if _REFUSAL.search(lower) else WEAK
    return _NOTED if _NOTICE.search(lower) else 0


def _doubt(line: bytes, lower: bytes, value: int) -> int:
    """Lower the score of a line that repeats, quotes or explains rather than tells."""
    if is_command(line) or is_housekeeping(line):
        return 0
    if value < _SURE and is_build_step(line):
        return min(value, 5)
    if is_frame(line):
        return min(value, 6)
    if is_boilerplate(lower):
        value = min(value, 12)
    elif _WARNING.match(line) and not any(word in lower for word in _GRAVE):
        value = min(value, 22)
    elif value < CERTAIN and _CHATTER.match(line):
        value //= 3
    if WEAK <= value < _SURE and _CODE.search(line):
        value = value * 3 // 5
    return value
