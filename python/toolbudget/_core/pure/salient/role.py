"""What a line is for: a command, a step that passed, a stack frame, noise, an exit."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "has_failed",
    "is_boilerplate",
    "is_build_step",
    "is_command",
    "is_exit",
    "is_frame",
    "is_housekeeping",
    "is_noise",
    "is_passing",
    "is_path",
    "is_timed",
    "quoted_command",
]

_CHECK: Final = rb"\xe2\x9c\x93|\xe2\x9c\x94|\xe2\x88\x9a"
_PASSING: Final = re.compile(
    rb"^(?:ok\b|OK\b|PASS(?:ED)?\b|\[\+\]|\[ +OK +\]|\[PASS|--- PASS|=== (?:RUN|PAUSE|CONT))"
    rb"|(?:\.\.\. ?ok|[ .]OK|\bPASSED|\.\.\. ?passed|: ok|: pass(?:ed)?)(?: *[\[(].*)?$"
    rb"|" + _CHECK
)
_TIMED: Final = re.compile(rb"\b[0-9]+ ?ms\)?$")
_COMMAND: Final = re.compile(
    rb"\$ |\++ [a-z]+|travis_|##\[(?:group|command|endgroup)|\[command\]|::group::"
)
_BUILD_STEP: Final = re.compile(
    rb"(?:\S*/)?(?:gcc|cc|g\+\+|c\+\+|clang(?:\+\+)?|rustc|javac|ld|ar|ghc|libtool:|sh|bash|cp|mv|rm"
    rb"|mkdir|install|echo|cd|if|for) |(?:Get|Hit|Ign|Fetched|Selecting|Preparing|Unpacking"
    rb"|Setting up|Downloading|Downloaded|Collecting|Installing|Requirement|Compiling|Building"
    rb"|Fetching|Using|Checking|Updating|Resolving|Receiving|Counting|remote:|Processing|Copying"
    rb"|copying|adding|creating|inflating:|Linking|Fresh|Running|Removing) ?[:0-9A-Za-z/.`'\"(]"
)
_FRAME: Final = re.compile(
    rb"at [\w$<.\[(/]|from \S+:[0-9]+|File \"|#[0-9]+ +(?:[^E]|E[^R])|\.\.\. [0-9]+ more"
    rb"|in .{1,80}:[0-9]+\)?$"
    rb"|\S+:[0-9]+:in [^\s].{0,200}['`>]$|\([a-z_]+\) \S+\.exs?:[0-9]+: "
)
_BOILERPLATE: Final = re.compile(
    rb"npm err! +(?:a complete|node |npm |code |errno|argv|system |cwd|linux |this is |not with npm"
    rb"|there is likely|tell the author|or if that|if you |you can|please include|additional"
    rb"|<?https?:|[^ ]+/|make sure you)|npm err!$|see also|for more info|with --(?:stack)?trace"
    rb"|rust_backtrace|complete log|^.{0,20}\bre-?run\b|^[^a-z]*(?:note: )?run with|full log"
    rb"|get more help"
    rb"|to resume|\[help|try running|^[^ ]* ?(?:process completed with |command failed with )?"
    rb"exit (?:code|status):? [1-9]|your build exited|\bmake(?:\[[0-9]+\])?: \*\*\* \[|elifecycle"
    rb"|^error command failed|no test results|^the command \".*exited with [0-9]|failed\. retrying"
)
_HOUSEKEEPING: Final = re.compile(
    rb"travis_|Done\. Your build|(?i:store build cache|nothing changed|changes? detected|uploading "
    rb"|cache uploaded|packing |creating cache|creating directory|fetching |adding /"
    rb"|could not download cache)"
)
_WORDLESS: Final = re.compile(rb"[^0-9A-Za-z]*[0-9A-Za-z]{0,2}[^0-9A-Za-z]*$")
_ABSOLUTE_PATH: Final = re.compile(rb"/[^ :]*$")
_EXIT: Final = re.compile(
    rb"(?i:\bexited with (?:code )?[1-9][0-9]*\.?$|process completed with exit code [1-9]"
    rb"|^error: job failed|\bmake(?:\[[0-9]+\])?: \*\*\* |error command failed"
    rb"|npm err! test failed|command failed with exit code [1-9]|elifecycle)"
)
_CI_EXIT: Final = re.compile(
    rb"(?:The command \".*|\" )(?:exited with|failed and exited with) ([0-9]+)"
    rb"|##\[error\]Process completed with exit code ([0-9]+)"
)
_QUOTED: Final = b'The command "'


def is_passing(line: bytes) -> bool:
    """Tell whether a runner says of this line's step that all went well."""
    return _PASSING.search(line) is not None


def is_timed(line: bytes) -> bool:
    """Tell whether the line ends with the milliseconds that its step took."""
    return _TIMED.search(line) is not None


def is_command(line: bytes) -> bool:
    """Tell whether the line echoes a command."""
    return _COMMAND.match(line) is not None


def is_build_step(line: bytes) -> bool:
    """Tell whether the line says what is being fetched, compiled or copied."""
    return _BUILD_STEP.match(line) is not None


def is_frame(line: bytes) -> bool:
    """Tell whether the line is a frame of a stack trace."""
    return _FRAME.match(line) is not None


def is_boilerplate(lower: bytes) -> bool:
    """Tell whether a tool writes this line, given in lower case, whatever went wrong."""
    return _BOILERPLATE.search(lower) is not None


def is_housekeeping(line: bytes) -> bool:
    """Tell whether the line speaks of the build machine and its caches."""
    return _HOUSEKEEPING.match(line) is not None


def is_noise(line: bytes) -> bool:
    """Tell whether the line has no word, or only speaks of the build machine."""
    return _WORDLESS.match(line) is not None or is_housekeeping(line)


def is_path(line: bytes) -> bool:
    """Tell whether the line is an absolute path and nothing else."""
    return _ABSOLUTE_PATH.match(line) is not None


def is_exit(line: bytes) -> bool:
    """Tell whether the line reports that a command failed."""
    return _EXIT.search(line) is not None


def has_failed(line: bytes) -> bool | None:
    """Tell whether the command failed whose exit code a CI system reports here, if it does."""
    match = _CI_EXIT.match(line)
    return (match[1] or match[2]).strip(b"0") != b"" if match else None


def quoted_command(line: bytes) -> bytes:
    """Give the beginning of the command that a CI system names with its exit code."""
    return line[len(_QUOTED) :] if line.startswith(_QUOTED) else b""
