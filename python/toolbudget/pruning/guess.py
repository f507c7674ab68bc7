"""Guessing the language of a text from the text alone, by what its lines begin with."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from toolbudget.pruning._checks import checked_text

__all__ = ["guess_language"]

# The beginning says it: of a longer text no more is looked at.
_LOOKED_AT_CHARS: Final = 32_000
_LOOKED_AT_LINE_CHARS: Final = 200
_LEAST_POINTS: Final = 4
# So many of the lines that are not blank must speak for the language: text of another kind may
# hold some code.
_LEAST_PERCENT: Final = 4
_MAX_POINTS_PER_LINE_KIND: Final = 12

_SHEBANG: Final = re.compile(r"#!.*?\b(python|bash|sh|zsh|ksh|dash|node|ruby|php)[\d.]*\b")
_SHELLS: Final = {"sh": "bash", "zsh": "bash", "ksh": "bash", "dash": "bash", "node": "javascript"}
# Lines that tools write: of logs, diffs, JSON, XML, numbered listings.
_NO_CODE: Final = re.compile(
    r"\s*(\{\s*\"|\[\s*[\[{\"]|<\?xml|<!doctype|<html|diff --git |--- a/)", re.IGNORECASE
)

# Text that quotes code: fences of Markdown, headings of test reports.
_QUOTING: Final = re.compile(r"^\s{0,3}(```|~~~|={3,} .* ={3,}\s*$)", re.MULTILINE)

# Comments and documentation of source text, which may show how it is used; one may go beyond what
# is looked at.
_PROSE: Final = re.compile(
    r"^[ \t]*(?:/\*.*?(?:\*/|\Z)|[rRuU]?(\"\"\"|''').*?(?:\1|\Z))", re.MULTILINE | re.DOTALL
)

_MODIFIERS: Final = r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open"
_JVM: Final = _MODIFIERS + r"|override|async|virtual|readonly|partial|export|default)\s+)*"

# For each language kinds of lines, with the points that each line of the kind gives.
_LINES: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "python": (
        (r"(async )?def \w+\(.*(:|,|\()\s*(#.*)?$", 2),
        (r"class \w+(\(.*\))?:\s*(#.*)?$", 2),
        (r"from [\w.]+ import ", 2),
        (r"import [\w.]+( as \w+)?(, [\w.]+)*\s*(#.*)?$", 1),
        (r"(if|elif|for|while|with|try|except|else)\b.*:\s*(#.*)?$", 1),
        (r"@\w[\w.]*(\(.*\))?\s*$", 1),
        (r"if __name__ == ", 3),
    ),
    "javascript": (
        (r"(export |default |async )*function\*? \w*\s*\(.*\{?\s*$", 2),
        (r"(export )?(const|let) (\w+|\{.*|\[.*) = ", 1),
        (r"import (\w+|\{.*\}|\* as \w+)( from)? ['\"].*['\"];?\s*$", 2),
        (r"import (\w+|[\w*, ]*\{.*\}|\* as \w+),? from ['\"]", 2),
        (r"(const|var|let) .*= require\(['\"]", 3),
        (r"(module\.)?exports\b.*=", 3),
        (r"(export )?(default )?class \w+( extends [\w.]+)? \{\s*$", 1),
        (r".*=> \{\s*$", 1),
        (r"['\"]use strict['\"];?", 3),
        (r"var \w+ = ", 1),
    ),
    "typescript": (
        (r"(export )?(default )?(declare )?interface \w+(<.*>)?( extends .*)? \{", 3),
        (r"(export )?type \w+(<.*>)? = ", 3),
        (r"import type ", 4),
        (r"(export )?(declare )?(const )?enum \w+ \{", 2),
        (r"(export )?(declare )?(namespace|module|abstract class) [\w'\"]", 2),
        (r"(private|public|protected|readonly|static)( readonly| async| static)? \w+[?!]?[:(<]", 3),
        (r"(export |async |default )*function \w+(<.*>)?\(.*\w\??: \w", 3),
        (r"(export )?(const|let) \w+: \w", 3),
        (r"\w+\??: (string|number|boolean|unknown|any|void)(\[\]|\s*\|.*)?[;,]\s*$", 2),
        (r".*\): [A-Z]?\w+(<.*>)?(\[\])? (=> )?\{\s*$", 2),
    ),
    "rust": (
        (r"(pub(\(.*?\))? )?(async |unsafe |const |extern \"C\" )*fn \w+.*[({]", 3),
        (r"(pub(\(.*?\))? )?use [\w:{}*, ]+;\s*$", 2),
        (r"(pub(\(.*?\))? )?(struct|enum|trait|mod|union) \w+.*[{;(]\s*$", 2),
        (r"impl(<.*>)? .*\{", 3),
        (r"let (mut )?\w+.* = .*;\s*$", 1),
        (r"#!?\[\w+.*\]\s*$", 3),
        (r"//[/!] ", 1),
        (r"macro_rules! ", 4),
        (r"match .* \{\s*$", 1),
    ),
    "go": (
        (r"package \w+\s*$", 3),
        (r"func (\(\w* ?\*?[\w.\[\], ]+\) )?\w+(\[.*\])?\(.*\{\s*$", 3),
        (r"import \(\s*$", 2),
        (r"type \w+(\[.*\])? (struct|interface|func|map|\[\])", 3),
        (r"\w+(, \w+)* := ", 1),
        (r"(var|const) \(\s*$", 2),
        (r"if err != nil \{", 3),
    ),
    "java": (
        (r"package [\w.]+;\s*$", 3),
        (r"import (static )?[\w.]+(\.\*)?;\s*$", 2),
        (_JVM + r"(class|interface|enum|record|@interface) \w+(<.*>)?.*\{?\s*$", 1),
        (r"@(Override|Test|Autowired|Deprecated|SuppressWarnings|Nullable)\b", 3),
        (
            r"(public|private|protected) (static |final |abstract )*[\w<>\[\], .?]+ \w+\(",
            1,
        ),
        (r".*\bthrows \w+.*\{\s*$", 2),
        (r".*\bSystem\.out\.print", 3),
    ),
    "c": (
        (r"#\s*include\s*[<\"].*\.h[>\"]", 2),
        (r"#\s*(define|ifdef|ifndef|undef|pragma) ", 1),
        (
            (
                r"(static |inline |extern |const |unsigned )*"
                r"(void|int|char|long|size_t|double|float|bool|struct \w+) \*?\w+\("
            ),
            2,
        ),
        (r"typedef (struct|enum|union|unsigned|int|void|char)\b", 3),
        (r"(static |const )*struct \w+ (\*?\w+ = )?\{", 2),
        (r".*\w->\w+.*;\s*$", 1),
    ),
    "cpp": (
        (r"#\s*include\s*<[a-z_]+>", 3),
        (r"#\s*include\s*[<\"].*\.(hpp|hh|hxx)[>\"]", 3),
        (r"#\s*include\s*[<\"].*\.h[>\"]", 2),
        (r"(inline )?namespace [\w:]*\s*\{?\s*$", 3),
        (r"template\s*<", 4),
        (r"using (namespace )?[\w:]+( = .*)?;\s*$", 3),
        (r"(class|struct) \w+( final)?( : (public|private|protected) .*)?\s*\{?\s*$", 1),
        (r"(public|private|protected):\s*$", 3),
        (r".*\bstd::\w", 2),
        (r"[\w:<>&* ]+ \w+::~?\w+\(", 3),
        (r"#\s*(define|ifdef|ifndef|undef|pragma) ", 1),
    ),
    "csharp": (
        (r"using (static )?[A-Z][\w.]*( = .*)?;\s*$", 3),
        (r"namespace [A-Z][\w.]*;?\s*\{?\s*$", 3),
        (_JVM + r"(class|interface|enum|struct|record) \w+(<.*>)?( : .*)?\s*$", 1),
        (r".*\{ get; ((private |protected |internal )?(set|init); )?\}", 4),
        (r"\[[A-Z]\w+(\(.*\))?\]\s*$", 2),
        (
            (
                r"(public|private|protected|internal) (static |async |override |virtual )*"
                r"[\w<>\[\], .?]+ \w+\("
            ),
            1,
        ),
        (r"/// <summary>", 4),
    ),
    "ruby": (
        (r"require(_relative)? ['\"][\w./-]+['\"]\s*$", 3),
        (r"def (self\.)?\w+[?!=]?(\(.*\)|( \w+,?)+)?\s*$", 2),
        (r"end\s*$", 1),
        (r"(class|module) [A-Z][\w:]*( < [A-Z][\w:]*)?\s*$", 2),
        (r"attr_(reader|writer|accessor) :", 4),
        (r".* do( \|.*\|)?\s*$", 1),
    ),
    "kotlin": (
        (r"package [\w.]+\s*$", 1),
        (r"import [\w.]+(\.\*)?( as \w+)?\s*$", 1),
        (_JVM + r"(suspend |inline |operator |infix |tailrec )*fun (<.*> )?[\w.<>?]*\w+\(", 3),
        (
            (
                r"(private |public |internal |protected |override |const |lateinit )*"
                r"va[lr] \w+(: [\w<>?]+)?( = | by |\s*$)"
            ),
            1,
        ),
        (r"(data|sealed|enum|open|inner|annotation) (class|interface) \w+", 3),
        (r"(companion )?object( \w+)?.*\{", 2),
    ),
    "swift": (
        (r"(@\w+ )?import [A-Z]\w+\s*$", 2),
        (_JVM + r"(mutating |class |fileprivate |@\w+ )*func \w+(<.*>)?\(.*\{?\s*$", 2),
        (_JVM + r"(struct|extension|protocol|actor) \w+.*\{\s*$", 2),
        (r"guard .* else \{", 4),
        (
            (
                r"(private |public |static |fileprivate |weak |lazy )*"
                r"(let|var) \w+(: [\w\[\]<>?: ]+)?( = .*[^;]| \{)$"
            ),
            1,
        ),
        (r"init\??\(.*\{\s*$", 3),
        (r".* -> [\w\[\]<>?: ]+ \{\s*$", 1),
    ),
    "bash": (
        (r"(function )?[\w-]+\s*\(\)\s*\{", 3),
        (r"if \[\[? .*(; then)?\s*$", 2),
        (r"(fi|done|esac|then)\s*$", 2),
        (r"for \w+ in .*(; do)?\s*$", 1),
        (r"set -[a-z]+( -o)?( pipefail)?\s*$", 3),
        (r"(export |readonly |local )?[A-Za-z_]+=(\"?\$|\$\()", 2),
        (r"(echo|source|cd|mkdir|exit) ", 1),
    ),
}


def guess_language(text: str) -> str | None:
    r"""Guess in which language a source text is written, from its beginning alone.

    An interpreter named in the first line decides, or ``<?php``. Else each line speaks for the
    languages in which lines begin like it, and enough lines must speak for one. The guess is
    cheap and always the same; logs, prose, diffs, data and documents with code are no source
    text.

    Returns:
        One of :data:`LANGUAGES`, or ``None``.

    Raises:
        ConfigError: ``text`` is no text.

    Example:
        >>> from toolbudget.pruning import guess_language
        >>> guess_language("package main\n\nfunc main() {\n\tprintln(1)\n}\n")
        'go'
        >>> guess_language("Dear all,\nimport duties have risen.\n") is None
        True
    """
    head = checked_text(text)[:_LOOKED_AT_CHARS].removeprefix("\ufeff")
    shebang = _SHEBANG.match(head)
    if shebang:
        return _SHELLS.get(shebang[1], shebang[1])
    if head.lstrip().startswith("<?php"):
        return "php"
    lines = [line.strip() for line in head.split("\n") if line.strip()]
    if not lines or _NO_CODE.match(lines[0]) or _quotes_code(head):
        return None
    points = {language: _points(language, lines) for language in _LINES}
    _prefer_the_larger(points, head)
    best = max(points, key=lambda language: points[language])
    share = min(len(lines) * _LEAST_PERCENT // 100, _MAX_POINTS_PER_LINE_KIND)
    if points[best] < max(_LEAST_POINTS, share):
        return None
    return best


def _quotes_code(head: str) -> bool:
    return _QUOTING.search(head) is not None and _QUOTING.search(_PROSE.sub("", head)) is not None


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    return tuple((re.compile(pattern), points) for pattern, points in _LINES[language])


def _points(language: str, lines: list[str]) -> int:
    total = 0
    for pattern, points in _patterns(language):
        matches = sum(1 for line in lines if pattern.match(line, 0, _LOOKED_AT_LINE_CHARS))
        total += min(matches * points, _MAX_POINTS_PER_LINE_KIND)
    return total


_JSX: Final = re.compile(
    r"(return|=>|\()\s*(\(\s*)?<[A-Za-z][\w.]*[\s/>]|^[ \t]*</[A-Za-z][\w.]*>", re.MULTILINE
)


def _prefer_the_larger(points: dict[str, int], head: str) -> None:
    """Count for TypeScript and C++ what they share with JavaScript and C."""
    if points["typescript"] >= _LEAST_POINTS:
        points["typescript"] += points["javascript"]
        if _JSX.search(head):
            points["tsx"] = points["typescript"] + 1
    if points["cpp"] > points["c"]:
        points["cpp"] += 1
