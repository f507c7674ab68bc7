"""What a terminal would still show of a command's output."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["as_shown"]

# CSI, OSC, DCS and the like, character sets, and the two-character sequences of ECMA-48; an
# unfinished string ends with its line.
_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])?"
)
# C0 and C1 controls that a reader cannot see; tab, line feed and carriage return are none of them.
_CONTROL: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_RETURNS: Final = re.compile(r"\r+(?=\n|\Z)")


def as_shown(text: str) -> str:
    r"""Take out terminal codes, overwritten text and invisible controls; line ends stay in place.

    Of a line with carriage returns the part behind the last one that something follows is shown,
    as a progress bar leaves it. A carriage return before a line feed goes, so that line ends are
    all of one kind. NUL becomes U+FFFD.

    Example:
        >>> as_shown("10%\r\x1b[32m100%\x1b[0m\r\ndone\r\n")
        '100%\ndone\n'
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = _RETURNS.sub("", text)
        if "\r" in text:
            text = "\n".join(line[line.rfind("\r") + 1 :] for line in text.split("\n"))
    return _CONTROL.sub("", text).replace("\x00", "\ufffd")
