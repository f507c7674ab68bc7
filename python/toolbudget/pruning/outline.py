"""Outlines of source code, from a real parser: what a file declares, and where (X3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolbudget import _core as core
from toolbudget._core.pure.preview import make_wire_safe
from toolbudget.errors import ConfigError
from toolbudget.pruning._checks import checked_max_size, checked_text
from toolbudget.pruning._render import Measures, render
from toolbudget.pruning._syntax import grammar_of, parse
from toolbudget.pruning._walk import outlined
from toolbudget.pruning.guess import guess_language
from toolbudget.pruning.languages import resolve_language
from toolbudget.pruning.truncate import DEFAULT_MAX_SIZE_CHARS, truncate_tool_result

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OUTLINE_VERSION", "outline_code", "outline_preview"]

# More errors than that say that the language is another one.
_LEAST_LINES_PER_ERROR: Final = 20
# What no UTF-8 text holds, and NUL, which some grammars take for the end.
_UNREADABLE: Final = re.compile("[\x00\ud800-\udfff]")

OUTLINE_VERSION: Final = 1
"""Changes whenever the same text and limit would give other bytes with the same grammars."""


def outline_code(text: str, language: str, *, max_size: int = DEFAULT_MAX_SIZE_CHARS) -> str:
    r"""Show what a source text declares: signatures with their lines, without the bodies.

    That is imports, exports, types, functions, methods and constants in their order, what is
    inside of a type indented below it, each with its line numbers and with the first line of its
    documentation. Functions inside of functions are left out. A signature longer than 200
    characters is cut. The first line says how long the text is, what is left out, and which lines
    the parser did not understand; what it did understand is shown. Of a text of more than 4 MB the
    first 4 MB are read. Lone surrogates and NUL are shown as U+FFFD.

    Where nothing can be outlined, because the text is not of that language or declares nothing, or
    where the outline would not be shorter, the result is that of :func:`truncate_tool_result`.

    Args:
        text: The whole source text.
        language: Its language: a name, an alias or a file suffix.
        max_size: Characters that the outline may have; more makes it leave out the less important.

    Raises:
        ConfigError: The language is not known, ``text`` is no text, ``max_size`` is no whole
            number of at least 1, or the extra ``code`` is not installed.

    Example:
        >>> from toolbudget.pruning import outline_code
        >>> source = "import os\n\nclass Shop:\n    def close(self):\n" + 50 * "        pass\n"
        >>> print(outline_code(source, "py"))
        [python outline of 54 lines, 694 bytes; left out: bodies]
        1    import os
        3-54 class Shop
        4-54   def close(self)
    """
    text = checked_text(text)
    max_size = checked_max_size(max_size)
    outline = _outline(text, resolve_language(language), max_size, len)
    if outline is None or len(outline) >= len(text):
        return truncate_tool_result(text, max_size)
    return outline


def outline_preview(text: str, max_bytes: int) -> tuple[str, bool] | None:
    r"""Show an outline of a source text within a number of bytes: the preview style ``outline``.

    It is that of :func:`outline_code`, made wire-safe, in a language that
    :func:`guess_language` finds. If not all fits, imports are joined and the less important is left
    out: what is inside of types after what is outside, what is private after what is public, and
    comments last. What is shown keeps its order; what is left out is counted.

    Args:
        text: The whole text.
        max_bytes: UTF-8 bytes that the preview may take.

    Returns:
        The preview, and whether anything was left out; the whole text if it fits. ``None`` if the
        text is of no known language, declares nothing, the room is too small for one line of the
        outline, or the extra ``code`` is not installed.

    Raises:
        ConfigError: ``text`` is no text.

    Example:
        >>> from toolbudget.pruning import outline_preview
        >>> source = "import os\nimport re\n" + "def visit(node):\n    return node\n\n" * 20
        >>> print(outline_preview(source, 150)[0])
        [python outline of 62 lines, 700 bytes; left out: bodies, 1 import, 17 functions]
        3-4   def visit(node)
        6-7   def visit(node)
        9-10  def visit(node)
    """
    text = checked_text(text)
    language = guess_language(text)
    if language is None:
        return None
    whole, has_more = core.cut_preview(text, max_bytes)
    if not has_more:
        return whole, False
    try:
        outline = _outline(text, language, max_bytes, _utf8_bytes, is_guess=True)
    except ConfigError:  # the extra is not installed
        return None
    return None if outline is None else (outline, True)


def _outline(
    text: str,
    language: str,
    room: int,
    length: Callable[[str], int],
    *,
    is_guess: bool = False,
) -> str | None:
    """Outline a text; of a language that was guessed the parser must understand most of it."""
    grammar = grammar_of(language)
    source = (make_wire_safe(text) if is_guess else _UNREADABLE.sub("\ufffd", text)).encode()
    syntax = parse(source, grammar)
    if syntax is None:
        return None
    outline = outlined(syntax, grammar)
    parsed_lines = _line_count(syntax.source)
    is_another = is_guess and len(outline.error_lines) * _LEAST_LINES_PER_ERROR > parsed_lines
    if not outline.entries or is_another:
        return None
    measures = Measures(language, _line_count(source), core.utf8_length(text), parsed_lines)
    return render(outline, measures, comment_mark=grammar.comment, room=room, length=length)


def _line_count(source: bytes) -> int:
    return source.count(b"\n") + (not source.endswith(b"\n"))


def _utf8_bytes(text: str) -> int:
    return len(text.encode())
