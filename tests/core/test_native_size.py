from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given

from tests.strategies import any_text, hostile_text
from toolbudget import _core

native = _core.load("native")

PIECE_CHARS = 1 << 16


@given(any_text() | hostile_text())
def test_length_is_that_of_the_encoded_text(text: str) -> None:
    """The length is that of UTF-8 in which surrogates pass through."""
    assert native.utf8_length(text) == len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("extra_chars", [-1, 0, 1])
@pytest.mark.parametrize("unit", ["a", "é", "日", "😀", "\ud83d"], ids=ascii)
def test_length_over_the_edges_of_pieces(unit: str, extra_chars: int) -> None:
    """Long text is counted in pieces; none is lost or counted twice where they meet."""
    text = unit * (2 * PIECE_CHARS + extra_chars)
    assert native.utf8_length(text) == len(text.encode("utf-8", "surrogatepass"))


def test_counting_makes_no_second_copy() -> None:
    """The memory that counting takes does not grow with the text."""
    text = "é" * (64 * PIECE_CHARS)
    tracemalloc.start()
    try:
        native.utf8_length(text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * PIECE_CHARS
