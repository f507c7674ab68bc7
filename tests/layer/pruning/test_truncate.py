"""Cutting a text to its beginning and its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import ConfigError
from toolbudget.pruning import truncate_tool_result


@given(text=st.text(st.characters(exclude_categories=["Cs"])), max_size=st.integers(1, 60))
def test_it_follows_the_rule(text: str, max_size: int) -> None:
    """Head and tail are 70 and 30 percent, rounded down; the note counts what is left out."""
    text *= 8
    cut = truncate_tool_result(text, max_size)
    head_chars, tail_chars = int(max_size * 7 / 10), int(max_size * 3 / 10)
    left_out = len(text) - head_chars - tail_chars
    expected = (
        text[:head_chars]
        + f"\n\n[... truncated {left_out} characters ...]\n\n"
        + (text[-tail_chars:] if tail_chars else "")
    )
    if len(text) <= max_size or len(expected) >= len(text):
        assert cut == text
    else:
        assert cut == expected


def test_a_text_of_the_limit_stays_as_it_is() -> None:
    """50,000 characters pass by default; one more is too much, but too little to gain by it."""
    text = "x" * 50_000
    assert truncate_tool_result(text) is text
    assert truncate_tool_result(text + "y") == text + "y"
    assert "[... truncated 100 characters ...]" in truncate_tool_result(text + "y" * 100)


@pytest.mark.parametrize("shift", [0, 1])
def test_two_surrogates_of_one_character_stay_together(shift: int) -> None:
    """A cut between the halves of a character moves, and the note counts that."""
    text = "a" * shift + "\ud83d\ude00" * 200
    cut = truncate_tool_result(text, 30 + shift)
    head, note, tail = cut.partition("\n\n[... truncated ")
    left_out, _, tail = tail.partition(" characters ...]\n\n")
    assert note
    assert len(head) + int(left_out) + len(tail) == len(text)
    assert head.removeprefix("a" * shift) == "\ud83d\ude00" * (len(head) // 2)
    assert tail == "\ud83d\ude00" * (len(tail) // 2)


@pytest.mark.parametrize("max_size", [0, -1, True, 1.5, None, "10", float("inf")])
def test_a_size_that_is_none_is_an_error(max_size: object) -> None:
    """The error names the argument and the value."""
    with pytest.raises(ConfigError, match=r"max_size \(argument\) must be a whole number"):
        truncate_tool_result("text", max_size)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, b"bytes", 5, ["text"]])
def test_what_is_no_text_is_an_error(text: object) -> None:
    """The error names the argument and the value."""
    with pytest.raises(ConfigError, match=r"text \(argument\) must be a str"):
        truncate_tool_result(text)  # type: ignore[arg-type]
