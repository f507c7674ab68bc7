from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import any_text, hostile_text
from toolbudget import _core

python = _core.load("python")
native = _core.load("native")


@given(hostile_text() | any_text(), st.integers(0, 90))
def test_both_cores_cut_the_same_preview(text: str, max_bytes: int) -> None:
    """For any text and any bound, the cores give the same preview."""
    assert python.cut_preview(text, max_bytes) == native.cut_preview(text, max_bytes)


def test_case_is_folded_as_the_regular_expressions_do() -> None:
    """A letter of the tag is known in each spelling that ``re.IGNORECASE`` knows, in no other."""
    every_character = "".join(map(chr, range(sys.maxunicode + 1)))
    for letter in set("persistedoutput"):
        spellings = re.findall(letter, every_character, re.IGNORECASE)
        neighbours = [chr(ord(spelling) + 1) for spelling in spellings]
        for spelling in {*spellings, *neighbours}:
            tag = "<persisted-output".replace(letter, spelling)
            assert python.cut_preview(tag, 99) == native.cut_preview(tag, 99), hex(ord(spelling))


@pytest.mark.parametrize("max_bytes", [2**63 - 1, 2**64, 10**30])
def test_a_bound_of_any_size_shows_the_whole_text(max_bytes: int) -> None:
    """A bound that is larger than any text is no error."""
    assert native.cut_preview("a\nb", max_bytes) == ("a\nb", False)


@pytest.mark.parametrize("max_bytes", [-1, -(2**63), -(10**30)])
def test_a_negative_bound_leaves_no_room(max_bytes: int) -> None:
    """A size below zero is none, as in the pure core; it is not taken for a very large one."""
    assert python.cut_preview("text", max_bytes) == ("", True)
    assert native.cut_preview("text", max_bytes) == ("", True)


class Loud(str):
    """A text whose overridden methods must not be called."""

    __slots__ = ()

    def __len__(self) -> int:
        """Lie about the length."""
        return 1

    def __getitem__(self, key: object) -> str:
        """Lie about the characters."""
        return "x"

    def encode(self, encoding: str = "", errors: str = "") -> bytes:
        """Lie about the bytes."""
        return (encoding + errors).encode()

    def isascii(self) -> bool:
        """Lie about the kind of text."""
        return True


@pytest.mark.parametrize("text", ["plain" * 20, "\ud800" * 99, "é" * 99])
def test_a_subclass_is_read_as_the_text_it_is(text: str) -> None:
    """Methods that a ``str`` subclass overrides take no part."""
    assert native.cut_preview(Loud(text), 30) == python.cut_preview(text, 30)
    assert native.utf8_length(Loud(text)) == python.utf8_length(text)
    for style in ("head_tail_preview", "json_preview", "salient_preview"):
        lines = f"{text}\n" * 99
        expected = getattr(python, style)(lines, 500)
        assert expected == getattr(native, style)(Loud(lines), 500)


@pytest.mark.parametrize("text", ["é" * 5_000, "日" * 100, "a\ud800" * 100])
def test_no_copy_stays_behind_in_the_callers_text(text: str) -> None:
    """Python keeps the UTF-8 form of a borrowed text inside it; nothing of that may happen."""
    size_before_bytes = sys.getsizeof(text)
    native.cut_preview(text, 2_000)
    native.utf8_length(text)
    native.head_tail_preview(text, 30)
    native.salient_preview(text * 9, 300)
    native.salient_preview(text, 30)
    assert sys.getsizeof(text) == size_before_bytes


def test_only_text_is_accepted() -> None:
    """Bytes are not taken for text."""
    with pytest.raises(TypeError):
        native.cut_preview(b"text", 10)
