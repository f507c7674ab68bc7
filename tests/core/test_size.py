from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from tests.strategies import Text, any_text, hostile_text

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("first", "last", "size_bytes"),
    [
        (0x00, 0x7F, 1),
        (0x80, 0x7FF, 2),
        (0x800, 0xD7FF, 3),
        (0xD800, 0xDFFF, 3),
        (0xE000, 0xFFFF, 3),
        (0x10000, 0x10FFFF, 4),
    ],
    ids=hex,
)
def test_bytes_of_a_character(core: ModuleType, first: int, last: int, size_bytes: int) -> None:
    """Each class of code points has its own number of bytes; a lone surrogate takes three (S2)."""
    assert size_bytes == core.utf8_length(chr(first)) == core.utf8_length(chr(last))


def test_two_halves_of_a_character_stay_two(core: ModuleType) -> None:
    """Surrogates that stand side by side are not joined: Python holds them as two characters."""
    assert core.utf8_length("\ud83d\ude00") == 6
    assert core.utf8_length("\U0001f600") == 4


@pytest.mark.parametrize("before_chars", range(65_534, 65_539))
def test_a_long_text_is_counted_over_any_seam(core: ModuleType, before_chars: int) -> None:
    """Counting in pieces loses nothing where two pieces meet."""
    text = "é" * before_chars + "\ud83d\ude00日\U0001f600"
    assert core.utf8_length(text) == 2 * before_chars + 3 + 3 + 3 + 4


@given(text=any_text() | hostile_text())
def test_bytes_are_those_of_the_stored_file(core: ModuleType, text: str) -> None:
    """The count is that of UTF-8 with ``surrogatepass``, which is what the store writes (S2)."""
    assert len(text.encode("utf-8", "surrogatepass")) == core.utf8_length(text)


def test_a_subclass_counts_as_the_text_it_is(core: ModuleType) -> None:
    """A ``str`` subclass is a text, whatever its methods say (B11)."""
    assert core.utf8_length(Text("aé日")) == 6
