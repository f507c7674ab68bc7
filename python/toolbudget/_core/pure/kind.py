"""What kind of text a result is, told by its beginning alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KIND_WINDOW_CHARS", "Kind", "kind_of"]

Kind: TypeAlias = Literal["json", "code", "output", "other"]
"""``output`` is what a program prints line by line; ``other`` is prose, markup and huge lines."""

# No more of a text is looked at.
KIND_WINDOW_CHARS: Final = 16_384

_BLANKS: Final = b" \t\r\n"
# A script begins with the program that runs it.
_INTERPRETER: Final = b"#!/"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# With longer lines on the average a text is not one of lines; of one no more is looked at.
_LONG_LINE_BYTES: Final = 400
_FEW_LINES: Final = 5
_MOST_LINES: Final = 400
# Of the lines of a program so many per cent look like code, and so many declare something.
_CODE_PERCENT: Final = 40
_DECLARATION_PERCENT: Final = 2
# With more lines of a log than this a text is no program, whatever else stands in it.
_LOG_PERCENT: Final = 10
_LEAST_DECLARATIONS: Final = 2
# Of a file of constants so many per cent are rows of a table or other code.
_TABLE_PERCENT: Final = 90
_PROSE_BYTES: Final = 40

# All are looked for in single lines without blanks around them.
_DECLARATION: Final = re.compile(
    rb"(?:export (?:default )?|public |private |protected |internal |static |abstract |final "
    rb"|sealed |open |override |virtual |async |unsafe |extern |inline |pub(?:\([a-z]+\))? )*"
    rb"(?:def [A-Za-z_][A-Za-z0-9_.?!]*[ (]|def [A-Za-z_][A-Za-z0-9_.?!]*$"
    rb"|class [A-Za-z_][A-Za-z0-9_.<>:]*(?: [(<:{a-z]|[(:{]|$)"
    rb"|function\*? ?[A-Za-z_$][A-Za-z0-9_$]* ?\(|func (?:\([^)]*\) )?[A-Za-z_][A-Za-z0-9_]*[\[(<]"
    rb"|fn [A-Za-z_][A-Za-z0-9_]*[<(]|fun (?:<[^>]*> )?[A-Za-z_][A-Za-z0-9_.]*\("
    rb"|from [A-Za-z0-9_.]+ import |import [A-Za-z_{\"'*(][^ ]*(?:;|$| as | from |, |\})"
    rb"|import (?:static |type )?[A-Za-z_{*][A-Za-z0-9_.{}*, ]*(?:;| from )|#include ?[<\"]"
    rb"|#(?:define|ifndef|ifdef|pragma) [A-Za-z_]|use [A-Za-z_\\][A-Za-z0-9_:\\{}, *]*;"
    rb"|using [A-Za-z_][A-Za-z0-9_.:= <>]*;|package [A-Za-z_][A-Za-z0-9_.]*;?$"
    rb"|namespace [A-Za-z_][A-Za-z0-9_.:\\]*[ ;{]?|module [A-Z][A-Za-z0-9_:]*$"
    rb"|(?:const|let|var|val) [A-Za-z_${\[][^=]*=|(?:struct|enum|trait|union) [A-Za-z_]"
    rb"|impl(?:<[^>]*>)? [A-Za-z_]|interface [A-Za-z_][A-Za-z0-9_]*|mod [a-z_][a-z0-9_]*[ ;{]"
    rb"|type [A-Za-z_][A-Za-z0-9_<>, ]* ?(?:=|struct|interface)|typedef "
    rb"|(?:void|int|bool|char|double|float|long|string|String|auto|size_t) \*?[A-Za-z_:]+\("
    rb"|module\.exports|<\?php|[A-Za-z_][A-Za-z0-9_]*\(\) ?\{$)"
)
_STATEMENT: Final = re.compile(
    rb"(?:return\b|if[ (].*[:{;)]$|elif .*:$|else[: {]|else$|for[ (].*[:{)]$|for .*; do$"
    rb"|while[ (].*[:{)]$|try[: ]|except\b.*:$|catch ?\(|finally[: ]|with .*:$|raise |throw "
    rb"|switch ?\(|case .*:$|match .*\{$|await |yield |//|/\*|\* |\*/|///|#\[|@[A-Za-z_]|\"\"\""
    rb"|'''|self\.|this\.|end$|fi$|done$|esac$|[)\]}]+[,;:)]*$|[A-Za-z_][A-Za-z0-9_.\[\]]* [+-]?= ?"
    rb"|.*[{};,]$|.*\):$|.*=>$|.*[(\[]$|.*\) -> .*:$)"
)
# A constant that goes on over many lines: a name, perhaps with a type, and an open bracket.
_OPENING: Final = re.compile(
    rb"(?:[A-Za-z_][A-Za-z0-9_<>():*&]* +){0,6}[A-Za-z_$*][A-Za-z0-9_$.]*(?:\[[^\]=]*\]){0,3}"
    rb"(?: ?:[^=]{1,200})? ?:?= ?[A-Za-z0-9_&!:.*<>, \[\]]{0,80}[\[({](?: *(?:#|//|/\*).*)?$"
)
_ROW: Final = re.compile(rb"[\"'0-9#(\[{-]|.*,(?: *(?:#|//|/\*).*)?$")
# Files of settings have constants too, under headings that no program has.
_HEADING: Final = re.compile(rb"\[{1,2}[A-Za-z_][A-Za-z0-9_.\"' -]*\]{1,2}$")
_LOG: Final = re.compile(
    rb"\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}|[^ \t:]+:[0-9]+:"
    rb"|[^ \t]+\([0-9,]+\): "
    rb"|.*\b(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL|PASSED|FAILED)\b"
)
_PROSE: Final = re.compile(rb".*(?:[A-Za-z][A-Za-z'()-]*[,;:]? ){5}[A-Za-z]")
_DIFFERENCE: Final = re.compile(rb"diff |Index: |--- |\+\+\+ |@@ |commit [0-9a-f]{7}")


def kind_of(window: bytes) -> Kind:
    r"""Tell the kind of a text by its beginning in UTF-8.

    Nothing is proved by it: what begins like JSON need not be JSON, and no parser has seen what
    looks like code. A log is ``output`` whatever programs it quotes.

    Example:
        >>> kind_of(b'\n  {"items": [1, 2'), kind_of(b"<html>\n<body>\n")
        ('json', 'other')
        >>> kind_of(
        ...     b"import os\nimport re\n\n\ndef main(path):\n    if not path:\n        return 1\n"
        ... )
        'code'
        >>> kind_of(b"test_one ... ok\ntest_two ... FAILED\n" * 9)
        'output'
    """
    start = window.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANKS)
    if start[:1] in {b"{", b"["} and not start.startswith((b"{%", b"{{")):
        return "json"
    if window.count(b"\n") * _LONG_LINE_BYTES < len(window):
        return "other"
    if start.startswith(_INTERPRETER):
        return "code"
    stripped = (line.strip(_BLANKS)[:_LONG_LINE_BYTES] for line in window.split(b"\n"))
    lines = list(filter(None, stripped))[:_MOST_LINES]
    if _is_code(lines):
        return "code"
    if start[:1] == b"<" or _is_prose(lines):
        return "other"
    return "output"


def _is_code(lines: Sequence[bytes]) -> bool:
    if len(lines) < _FEW_LINES or _DIFFERENCE.match(lines[0]):
        return False
    if _is_share(_count(_LOG, lines), lines, _LOG_PERCENT):
        return False
    code = [bool(_DECLARATION.match(line) or _STATEMENT.match(line)) for line in lines]
    declarations = _count(_DECLARATION, lines)
    if (
        declarations >= _LEAST_DECLARATIONS
        and _is_share(declarations, lines, _DECLARATION_PERCENT)
        and _is_share(sum(code), lines, _CODE_PERCENT)
    ):
        return True
    if not any(map(_OPENING.match, lines)) or any(map(_HEADING.match, lines)):
        return False
    rows = sum(is_code or bool(_ROW.match(line)) for is_code, line in zip(code, lines, strict=True))
    return _is_share(rows, lines, _TABLE_PERCENT)


def _is_prose(lines: Sequence[bytes]) -> bool:
    long_lines = [line for line in lines if len(line) > _PROSE_BYTES]
    if _is_share(_count(_LOG, lines), lines, _LOG_PERCENT):
        return False
    return bool(long_lines) and 2 * _count(_PROSE, long_lines) > len(long_lines)


def _count(pattern: re.Pattern[bytes], lines: Sequence[bytes]) -> int:
    return sum(pattern.match(line) is not None for line in lines)


def _is_share(count: int, lines: Sequence[bytes], percent: int) -> bool:
    return 100 * count >= percent * len(lines)
