"""Texts made to exhaust a parser: nothing of them may cost more than its size."""

from __future__ import annotations

from typing import Final

import pytest

from toolbudget.pruning import LANGUAGES, outline_code, truncate_tool_result

# What is repeated, and how often: each of these takes gigabytes, or minutes, of the
# parser of some language. The second form of each has other names each time, so that it does not
# compress as no code does.
PATTERNS: Final = (
    "(", "{", "[", "a{n}<", "f{n}<a,", "if (a{n}) ", "a{n} ? b : ", "(x{n}) => ", "x{n} -> ",
    "class A{n} {{ ", "template <a{n} ", "\"'`", "<<E{n}\n", "$(", "a{n},", "case x{n} in ",
    "\0", "\ud800", "prose number {n}, as people write it.\n",
)  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_texts_end_neither_the_host_nor_its_patience(language: str) -> None:
    """Each is answered, by an outline or by the cut text, whatever the parser makes of it."""
    for pattern in PATTERNS:
        name = pattern.format if "{n}" in pattern else lambda pattern=pattern, **_: pattern
        text = "".join(name(n=n * 7_919 % 99_991) for n in range(300))
        assert len(outline_code(text, language)) <= len(text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pattern", ["(", "{", "a<", "(x) => "])
def test_what_repeats_itself_is_not_parsed(language: str, pattern: str) -> None:
    """100,000 levels, which would take a parser gigabytes, cost what it takes to see them."""
    text = pattern * 100_000
    assert outline_code(text, language) == truncate_tool_result(text)
