from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import size_oracle
from tests.strategies import Text, any_text, hostile_text
from toolbudget import _core

if TYPE_CHECKING:
    from types import ModuleType

pure, native = _core.load("python"), _core.load("native")

PIECE_CHARS = 1 << 16
_KINDS = ["a", "B", "0", " ", "\t", "\n", "\r", "-", "=", "é", "ж", "ש", "ก"]
_KINDS += ["…", "─", "の", "。", "日", "한", "😀", "\ufe0f", "\ud800", "\udfff"]


def of_kinds() -> st.SearchStrategy[str]:
    """Give text in which every two kinds of characters meet."""
    return st.lists(st.sampled_from(_KINDS), max_size=200).map("".join)


@given(any_text() | hostile_text() | of_kinds())
def test_both_cores_agree(text: str) -> None:
    """The estimate is the same whole number on both cores (V5), that of the table."""
    expected = size_oracle.tokens(text)
    assert native.estimate_tokens([text]) == pure.estimate_tokens([text]) == expected


@given(st.lists(any_text(max_size=5) | of_kinds(), max_size=6))
def test_parts_count_like_the_whole(parts: list[str]) -> None:
    """A text of several parts is estimated as if they were joined."""
    whole = pure.estimate_tokens(["".join(parts)])
    assert pure.estimate_tokens(parts) == native.estimate_tokens(parts) == whole


def test_every_character_weighs_the_same_on_both_cores() -> None:
    """No code point is of another kind in the other core, alone or in a row."""
    for first in range(0, 0x110000, 0x100):
        for code_point in (first, first + 0x7F, first + 0x80, first + 0xFF):
            texts = [chr(code_point) * 100]
            assert native.estimate_tokens(texts) == pure.estimate_tokens(texts), hex(code_point)


@pytest.mark.parametrize("unit", ["a", "B-", "é", "日", "😀", " ", "\n", "=", "─", "0 "], ids=ascii)
def test_long_text_has_no_seams(core: ModuleType, unit: str) -> None:
    """Text is read in pieces; where they meet nothing is lost or counted twice."""
    counts = [core.estimate_tokens([unit * length]) for length in (1_000, 200_000, 399_000)]
    first, second = (later - earlier for earlier, later in pairwise(counts))
    assert abs(first - second) <= 1


def test_methods_of_a_subclass_take_no_part(core: ModuleType) -> None:
    """A subclass counts as the text it holds."""
    text = "some words and 日本"
    assert core.estimate_tokens([Text(text)]) == core.estimate_tokens([text])


@pytest.mark.parametrize("unit", ["a b,", "é 1\n"], ids=ascii)
def test_estimating_makes_no_second_copy(unit: str) -> None:
    """The memory that the native core takes does not grow with the text."""
    text = unit * (16 * PIECE_CHARS)
    tracemalloc.start()
    try:
        native.estimate_tokens([text])
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * PIECE_CHARS


@given(any_text(), any_text())
def test_more_text_is_never_fewer_tokens(text: str, more: str) -> None:
    """What is added to a text adds tokens, or none."""
    assert pure.estimate_tokens([text + more]) >= pure.estimate_tokens([text])
