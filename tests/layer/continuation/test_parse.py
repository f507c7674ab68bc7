"""Which texts name a token budget, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.continuation import find_token_budget_positions, parse_token_budget

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "continuation.md"
ROWS: Final = re.findall(
    r"^\| `(.+)` \| ([\d,]+|none) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("text", "budget"), ROWS)
def test_the_table_of_the_document(text: str, budget: str) -> None:
    """C1: the accepted and the refused forms are those that the document shows."""
    expected = None if budget == "none" else int(budget.replace(",", ""))
    assert parse_token_budget(text) == expected
    assert bool(find_token_budget_positions(text)) is (expected is not None)


def test_the_table_is_read() -> None:
    """The document has both kinds of rows."""
    assert len(ROWS) > 20
    assert {budget == "none" for _, budget in ROWS} == {True, False}


def test_reports_of_kind_tokens_37() -> None:
    """TOKENS 37: of several marks one fixed choice counts, and the right spans are found."""
    text = "work use 500k tokens +250k"
    assert parse_token_budget(text) == 250_000
    spans = find_token_budget_positions(text)
    assert [text[span.start : span.end] for span in spans] == ["use 500k tokens", "+250k"]


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("+500k fix it", " fix it"),
        ("  fix it +500k.", "  fix it ."),
        ("use 2m tokens", ""),
        ("é +1k", "é "),
    ],
)
def test_spans_strip_a_budget(text: str, stripped: str) -> None:
    """Spans count characters, and hold the budget and nothing else."""
    for span in reversed(find_token_budget_positions(text)):
        text = text[: span.start] + text[span.end :]
    assert text == stripped


@given(
    number=st.integers(0, 10**6),
    tenths=st.integers(0, 9),
    unit=st.sampled_from([("k", 3), ("m", 6), ("b", 9), ("K", 3), ("M", 6), ("B", 9)]),
    words=st.text(st.characters(codec="ascii", exclude_characters="+$"), max_size=20),
)
def test_the_value_is_exact(number: int, tenths: int, unit: tuple[str, int], words: str) -> None:
    """C1: decimals are exact, whatever follows at the start of a text."""
    text = f"+{number}.{tenths}{unit[0]} {words}"
    assert parse_token_budget(text) in {(10 * number + tenths) * 10 ** (unit[1] - 1), None}
    if not words.strip():
        assert parse_token_budget(text) == (10 * number + tenths) * 10 ** (unit[1] - 1)


@given(st.text(st.sampled_from("+0123456789kmbKMB. \n,;:!?$€USDusetokenspend()'\"")))
def test_any_text_is_read(text: str) -> None:
    """Spans lie in the text, in order, apart from each other; a budget has one."""
    spans = find_token_budget_positions(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    budget = parse_token_budget(text)
    assert (budget is None) is (not spans)
    assert budget is None or budget >= 0


@pytest.mark.parametrize("text", ["+" * 100_000, "9" * 100_000 + "k", "use " * 50_000, " " * 10**5])
def test_hostile_texts_are_quick(text: str) -> None:
    """No text of this size takes noticeable time; a slow pattern would never end here."""
    assert parse_token_budget(text) is None
