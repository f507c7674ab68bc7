"""One line as it can be shown: no codes for a terminal, no overwritten text, few blanks."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BARE_BYTES", "bare", "show", "strip_codes"]

# CSI, OSC and the two-character sequences of ECMA-48; an unfinished OSC ends with the line.
_ESCAPE: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()][0-9A-Z]|[@-Z\\^_])"
)
# C0 and C1 controls without a meaning for a reader; NUL is told as what it is, unreadable.
_CONTROL: Final = re.compile(rb"[\x01-\x08\x0e-\x1f\x7f]|\xc2[\x80-\x84\x86-\x9f]")
_BLANKS: Final = re.compile(rb"(?:[\t\x0b\x0c ]|\xc2\x85|\xe2\x80[\xa8\xa9])+")
_EDGES: Final = b" \t\x0b\x0c\r"
# What a CI system puts before every line of a program's own output: 30 bytes that say little.
_CI_STAMP: Final = re.compile(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6,9}Z "
)
# What builders and supervisors put there: the step and its seconds, a service, a job.
_LABEL: Final = re.compile(
    rb"#[0-9]+ [0-9]+\.[0-9]+ +|[a-z][0-9a-z_.-]{0,40} *\| +|\[[^\]:]{1,40}\] +"
)
_LABEL_SIGN: Final = re.compile(rb"[0-9 |]|\[[a-z][a-z_.@/-]+\]$")
_LABEL_WORDS: Final = (
    b"err", b"fail", b"warn", b"info", b"fatal", b"ok", b"pass", b"debug", b"trace", b"notice",
    b"crit", b"alert", b"emerg", b"panic", b"abort", b"crash", b"kill", b"skip", b"reject",
)  # fmt: skip
# Enough to know what a line is; it bounds the work of every pattern.
BARE_BYTES: Final = 400


def strip_codes(line: bytes) -> bytes:
    r"""Take terminal codes out and keep what the last carriage return left to be seen.

    The time that a CI system puts before every line goes as well.

    Example:
        >>> strip_codes(b"10%\r\x1b[31m20%\x1b[0m\r")
        b'20%'
    """
    if b"\x1b" in line:
        line = _ESCAPE.sub(b"", line)
    if b"\r" in line:
        line = line.rstrip(_EDGES)
        line = line[line.rfind(b"\r") + 1 :]
    stamp = _CI_STAMP.match(line)
    return line[stamp.end() :] if stamp else line


def bare(line: bytes) -> bytes:
    r"""Strip codes, and blanks at both ends; only the beginning of a long line is given.

    Example:
        >>> bare(b"  \x1b[1mone\x1b[0m two\r")
        b'one two'
    """
    line = strip_codes(line).strip(_EDGES)[:BARE_BYTES]
    label = _LABEL.match(line)
    return line[label.end() :] if label and _is_empty_label(label[0]) else line


def _is_empty_label(label: bytes) -> bool:
    """Tell whether a label says where a line comes from, and not how bad it is."""
    label = label.strip(b" ")
    lower = label.lower()
    return _LABEL_SIGN.search(label) is not None and not any(word in lower for word in _LABEL_WORDS)


def show(line: bytes) -> bytes:
    r"""Write a line without codes, controls and superfluous blanks; an indent shrinks to one.

    Example:
        >>> show(b"\t  a    b\x08 ")
        b' a b'
    """
    line = _CONTROL.sub(b"", strip_codes(line)).replace(b"\x00", b"\xef\xbf\xbd")
    return _BLANKS.sub(b" ", line).rstrip(b" ")
