"""The rules of C1 said a second time, word by word, and texts that are near to a budget."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolbudget import ConfigError
from toolbudget.continuation import (
    BudgetTracker,
    TurnBudget,
    check_token_budget,
    parse_token_budget,
)

FACTORS: Final = {"k": 10**3, "m": 10**6, "b": 10**9}
PUNCTUATION: Final = ".,:;!?)]\"'"
# Whole words, with or without a blank behind.
PARTS: Final = st.sampled_from(
    [
        *("+500k", "+2.5M", "500k", "2m", "1.25b", "1,500k", "0.5K", "10", "+"),
        *("use", "Use", "spend", "reuse", "tokens", "TOKEN", "up to", "fix it", "é", "k", "$", "€"),
        *("USD", "\n", "\t", ".", ",", "!", "(", ")", "'", '"', "-", "/", "_"),
    ]
)
TEXTS: Final = st.lists(st.tuples(PARTS, st.sampled_from(["", " ", "  "])), max_size=7).map(
    lambda parts: "".join(word + blank for word, blank in parts)
)

MONEY_BEHIND: Final = re.compile(r"[kmb]\s*(\$|\u20ac|USD)", re.IGNORECASE)

# As in "use 500 k tokens"; a unit apart is one only there.
SPACED_UNIT: Final = re.compile(r"\s[kmb]\s+tokens?(?!\w)", re.IGNORECASE)


class Number(NamedTuple):
    """A number with a unit that stands alone: where, whether after a plus, and how it goes on."""

    start: int
    end: int
    has_plus: bool
    has_tokens: bool
    value: int


def is_word(character: str) -> bool:
    """Tell whether a character continues a word."""
    return character.isalnum() or character == "_"


def ends_here(text: str, end: int) -> bool:
    """Tell whether a word may end here."""
    rest = text[end:]
    if not rest or not (is_word(rest[0]) or rest[0] in "-/."):
        return True
    return rest[0] == "." and not is_word(rest[1:2] or " ")


def number_at(text: str, start: int) -> Number | None:
    """Read digits, perhaps decimals, a unit, and perhaps ``tokens``."""
    has_plus = text[start] == "+"
    end = begin = start + has_plus
    while text[end : end + 1].isdecimal():
        end += 1
    if end == begin:
        return None
    if text[end : end + 1] == "." and text[end + 1 : end + 2].isdecimal():
        end += 1
        while text[end : end + 1].isdecimal():
            end += 1
    spaced = SPACED_UNIT.match(text, end)
    end += spaced is not None  # the blank before it
    unit = text[end : end + 1].lower()
    if unit not in FACTORS:
        return None
    value = int(Fraction(text[begin:end]) * FACTORS[unit])
    end += 1
    behind = text[end:].lstrip()
    for word in ("tokens", "token"):
        after = len(text) - len(behind) + len(word)
        if behind.lower().startswith(word) and ends_here(text, after):
            return Number(start, after, has_plus, has_tokens=True, value=value)
    is_alone = ends_here(text, end)
    return Number(start, end, has_plus, has_tokens=False, value=value) if is_alone else None


def numbers_in(text: str) -> list[Number]:
    """Find the numbers at the beginnings of words, but for sums of money."""
    found = []
    for start in range(len(text)):
        before = text[:start]
        if before and not (before[-1].isspace() or before[-1] in "([\"'"):
            continue
        number = number_at(text, start)
        words = "".join(one if is_word(one) else " " for one in before.rstrip()).split(" ")
        is_money = before.rstrip().endswith(("$", "€")) or words[-1] == "USD"
        if number is not None and not is_money:
            found.append(number)
    return found


def is_closed(rest: str) -> bool:
    """Tell whether nothing follows, or punctuation that ends a word."""
    behind = rest.lstrip(PUNCTUATION)
    return not rest.strip() or (behind != rest and (not behind or behind[0].isspace()))


def budget_of(text: str) -> int | None:
    """Apply the three rules in their order."""
    numbers = numbers_in(text)
    for number in numbers:
        is_closed_here = is_closed(text[number.end :])
        is_plain = number.has_plus or number.has_tokens or is_closed_here
        if is_plain and not text[: number.start].strip():
            return number.value
    for number in numbers:
        if not text[number.end :].translate(str.maketrans("", "", PUNCTUATION)).strip():
            return number.value
    for number in numbers:
        before = text[: number.start]
        verb = "".join(one if is_word(one) else " " for one in before.rstrip()).split(" ")[-1]
        has_blank = before != before.rstrip()
        if number.has_tokens and has_blank and verb.lower() in {"use", "spend"}:
            return number.value
    return None


@settings(max_examples=1_000)
@given(TEXTS.filter(lambda text: MONEY_BEHIND.search(text) is None))
def test_every_text_is_read_as_the_rules_say(text: str) -> None:
    """C1: start, then end, then ``use`` and ``spend``; no sum of money."""
    assert parse_token_budget(text) == budget_of(text)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("+500k\nEuro signs are rendered wrong", 500_000),
        ("use 2m tokens\r\nUSD is rounded", 2_000_000),
        ("500k tokens: pounds are shown as \u00a3", 500_000),
        ("500k tokens pound for pound", 500_000),
        ("+500k\n\u20ac is shown as ?", 500_000),
        ("+500k dollars", None),
        ("it costs 500k \u20ac", None),
        ("in USD\n+500k", None),
    ],
)
def test_the_next_line_says_nothing_of_money(text: str, budget: int | None) -> None:
    """C1: a currency stands before the number, or behind it in the same line without ``tokens``."""
    assert parse_token_budget(text) == budget


@pytest.mark.parametrize("value", ["500k", 1.5, True], ids=repr)
def test_a_budget_that_is_no_number_is_refused(value: Any) -> None:  # noqa: ANN401
    """C3: the one in force stays, and so does the count."""
    turn = TurnBudget()
    turn.snapshot_output_tokens_for_turn(1_000)
    turn.add_output_tokens(5)
    with pytest.raises(ConfigError, match=r"^budget \(argument\) must be .*: "):
        turn.snapshot_output_tokens_for_turn(value)
    assert (turn.current_turn_token_budget, turn.turn_output_tokens) == (1_000, 5)


@pytest.mark.parametrize("value", ["500k", 1.5, True, math.inf, -math.inf, math.nan], ids=repr)
@pytest.mark.parametrize("field", ["budget", "turn_tokens"])
@pytest.mark.parametrize("agent_id", [None, "agent"])
def test_a_decision_about_what_is_no_number_is_refused(
    field: str,
    value: Any,  # noqa: ANN401 - as a host may give it
    agent_id: str | None,
) -> None:
    """A nudge said that nan% of inf tokens were used; the tracker stays as it was."""
    tracker = BudgetTracker(started_at=0.0)
    arguments: dict[str, Any] = {"budget": 1_000, "turn_tokens": 5, field: value}
    with pytest.raises(ConfigError, match=rf"^{field} \(argument\) must be tokens, .*: "):
        check_token_budget(tracker, agent_id, **arguments)
    assert tracker == BudgetTracker(started_at=0.0)
