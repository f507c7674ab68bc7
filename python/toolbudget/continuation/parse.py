"""Finding a token budget in what a user wrote."""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BudgetSpan", "find_token_budget_positions", "parse_token_budget"]

_FACTORS: Final = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}

# Sums of money are written alike; a word of a currency beside a number says that it is one.
_CURRENCY_WORDS: Final = frozenset(
    {
        *("usd", "eur", "gbp", "jpy", "cny", "rmb", "inr", "chf", "cad", "aud", "krw", "brl"),
        *("dollar", "dollars", "euro", "euros", "pound", "pounds", "yen", "yuan", "rupee"),
        *("rupees", "francs", "bucks"),
    }
)

# A number with more digits is no budget, and would take long to convert.
_AMOUNT: Final = re.compile(
    r"""
    (?: (?<!\w) (?P<verb> use | spend ) \s+ )?
    (?P<amount>
        (?<! [^\s(\["'] )
        (?P<plus> \+ )?
        (?P<number> [0-9]{1,15} (?: \.[0-9]{1,15} )? )
        (?: (?P<unit> [kmb] ) | \s (?P<spaced_unit> [kmb] ) (?= \s+ tokens? (?!\w) ) )
        (?P<tokens> \s* tokens? )?
    )
    (?! [\w/-] | \.\w )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STANDS_ALONE: Final = re.compile(r"[.,:;!?)\]\"']+(?:\s|\Z)|\s*\Z")
_PUNCTUATION: Final = frozenset(".,:;!?)]\"'")
_WORD_BEFORE: Final = re.compile(r"(\w+)\s*\Z")
_WORD_BEHIND: Final = re.compile(r"\s*(\w+)")
# No word of a currency is longer; a whole text need not be looked at for one.
_NEAR_CHARS: Final = 24


class BudgetSpan(NamedTuple):
    """Where in a text a budget stands, in characters; what is to be cut out to strip it."""

    start: int
    end: int


class _Found(NamedTuple):
    rule: Literal["start", "end", "verbose"]
    span: BudgetSpan
    budget_tokens: int


def parse_token_budget(text: str) -> int | None:
    """Return the budget that a user's text names, in tokens; ``None`` if it names none.

    At the start ``+500k …``, at the end ``… +500k``, or anywhere ``use 2m tokens`` and ``spend 500k
    tokens``; k, m and b stand for thousand, million and billion. The ``+`` may be missing if the
    number is followed by ``tokens``, punctuation or the end of the text. Sums of money are none.
    If there are several, that at the start counts, then that at the end, then the first other one.

    Example:
        >>> parse_token_budget("+500k fix the flaky tests")
        500000
        >>> parse_token_budget("fix them all. Use 1.5m tokens if need be.")
        1500000
        >>> parse_token_budget("cut the costs by $500k") is None
        True
    """
    found = list(_find(text))
    for rule in ("start", "end", "verbose"):
        for one in found:
            if one.rule == rule:
                return one.budget_tokens
    return None


def find_token_budget_positions(text: str) -> list[BudgetSpan]:
    """Return where budgets stand in a text, in order, so that a host can strip them.

    Example:
        >>> text = "+500k fix the tests"
        >>> [text[span.start : span.end] for span in find_token_budget_positions(text)]
        ['+500k']
    """
    return [one.span for one in _find(text)]


def _find(text: str) -> Iterator[_Found]:
    start = len(text) - len(text.lstrip())
    end = _end_of_words(text)
    for match in _AMOUNT.finditer(text):
        span = BudgetSpan(*match.span("amount"))
        if _is_money(text, span, has_tokens=match["tokens"] is not None):
            continue
        is_plain = bool(match["plus"] or match["tokens"] or _STANDS_ALONE.match(text, span.end))
        budget_tokens = _value_of(match["number"], match["unit"] or match["spaced_unit"])
        if is_plain and span.start == start:
            yield _Found("start", span, budget_tokens)
        elif match["verb"] and match["tokens"]:
            # At the end it is both, and means the same.
            rule: Literal["end", "verbose"] = "end" if span.end >= end else "verbose"
            yield _Found(rule, BudgetSpan(match.start(), match.end()), budget_tokens)
        elif span.end >= end:
            yield _Found("end", span, budget_tokens)


def _end_of_words(text: str) -> int:
    """Where the text ends but for punctuation and blanks."""
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in _PUNCTUATION):
        end -= 1
    return end


def _is_money(text: str, span: BudgetSpan, *, has_tokens: bool) -> bool:
    before = text[max(0, span.start - _NEAR_CHARS) : span.start].rstrip()
    # What is said to be tokens is no money, whatever follows; a new line begins another sentence.
    near = "" if has_tokens else text[span.end : span.end + _NEAR_CHARS]
    behind = near.partition("\n")[0].lstrip()
    if any(unicodedata.category(side) == "Sc" for side in (before[-1:], behind[:1]) if side):
        return True
    words = (_WORD_BEFORE.search(before), _WORD_BEHIND.match(behind))
    return any(word and word[1].lower() in _CURRENCY_WORDS for word in words)


def _value_of(number: str, unit: str) -> int:
    value = Decimal(number) * _FACTORS[unit.lower()]
    return int(value.to_integral_value(ROUND_HALF_UP))
