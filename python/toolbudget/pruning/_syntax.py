"""The door to tree-sitter: the compiled grammars, loaded when they are needed first."""

from __future__ import annotations

import importlib
import re
import time
import zlib
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.errors import ConfigError

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

    from toolbudget.pruning._grammar import Grammar

__all__ = ["Syntax", "grammar_of", "parse"]

# A syntax tree takes some thirty times the text: this bounds memory, and the time to a second.
MAX_PARSED_BYTES: Final = 2_000_000
# Of real code a parser needs 0.3 to 1.5 steps for each byte, of minified code 2. Where more are
# needed it follows many readings of the text at once, and memory grows with the square.
_MAX_STEPS_PER_BYTE: Final = 2
_FREE_STEPS: Final = 5_000
_STEPS_PER_CALL: Final = 100  # as tree-sitter counts
# What some grammars do within a step grows with the text too. Code takes 0.4 microseconds for each
# byte. It is processor time, so that a busy machine gives the same result.
_FREE_CPU_S: Final = 1.0
_MAX_CPU_S_PER_BYTE: Final = 4e-6
# Text that repeats itself so much is no code, and the memory that a parser takes to recover from
# an error in deep nesting grows with the square of the depth.
_MOST_COMPRESSED: Final = 60
_COMPRESSED_FROM_BYTES: Final = 4_000
_MAX_NESTING: Final = 1_000
_NESTING_SIGNS: Final = re.compile(rb"[(\[{}\])<>;]")


class Syntax(NamedTuple):
    """A parsed text.

    Attributes:
        source: The bytes that were parsed.
        tree: What the parser made of it.
    """

    source: bytes
    tree: Tree


@cache
def grammar_of(language: str) -> Grammar:
    """Give what is known of a language's grammar."""
    from toolbudget.pruning import _rules_compiled, _rules_scripting

    for module in (_rules_compiled, _rules_scripting):
        grammar: Grammar | None = getattr(module, language.upper(), None)
        if grammar is not None:
            return grammar
    raise KeyError(language)


@cache
def _load(package: str, entry_point: str) -> Language:
    try:
        from tree_sitter import Language

        module = importlib.import_module(package)
    except ImportError as error:
        raise ConfigError(
            "outlines need the packages of the extra 'code', which are not installed"
            f" (pip install 'toolbudget[code]'): {error.name!r}"
        ) from error
    pointer: object = getattr(module, entry_point)()
    return Language(pointer)


def parse(source: bytes, grammar: Grammar) -> Syntax | None:
    """Parse UTF-8 text, all of it or its first :data:`MAX_PARSED_BYTES`, cut at a line end.

    Returns:
        ``None`` if the text cannot be that of a program, or asks for more work than code does.

    Raises:
        ConfigError: The extra is not installed.
    """
    language = _load(grammar.package, grammar.entry_point)
    from tree_sitter import Parser

    if len(source) > MAX_PARSED_BYTES:
        source = source[: source.rfind(b"\n", 0, MAX_PARSED_BYTES) + 1]
    if _is_no_code(source, has_braces=grammar.comment == "//"):
        return None
    calls = 0
    start_s = time.thread_time()

    def is_too_much(offset: int, _has_error: bool) -> bool:  # noqa: FBT001 - the parser's call
        nonlocal calls
        calls += 1
        if calls * _STEPS_PER_CALL > _FREE_STEPS + offset * _MAX_STEPS_PER_BYTE:
            return True
        return time.thread_time() - start_s > _FREE_CPU_S + offset * _MAX_CPU_S_PER_BYTE

    try:
        tree = Parser(language).parse(
            lambda offset, _point: source[offset:], progress_callback=is_too_much
        )
    except ValueError:  # it was told to stop
        return None
    return Syntax(source, tree)


def _is_no_code(source: bytes, *, has_braces: bool) -> bool:
    """Tell whether a text repeats itself, or is nested, as no source text is."""
    if len(source) > _COMPRESSED_FROM_BYTES:
        compressed = len(zlib.compress(source, 1))
        if len(source) > compressed * _MOST_COMPRESSED:
            return True
    depth = 0
    types_depth = 0  # of `<`, which may be a comparison: a statement's end closes all of them
    for sign in _NESTING_SIGNS.findall(source):
        if sign in b"([{":
            depth += 1
        elif sign in b")]}":
            depth = max(depth - 1, 0)
        if sign in b"{};":
            types_depth = 0
        elif sign in b"<>" and has_braces:
            types_depth = max(types_depth + (1 if sign == b"<" else -1), 0)
        if depth > _MAX_NESTING or types_depth > _MAX_NESTING:
            return True
    return False
