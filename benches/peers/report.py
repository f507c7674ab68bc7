"""The report about other libraries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from benches.machine import machine_rows
from benches.measuring import Spread
from benches.report_tables import duration, markdown_table, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["report"]

INTRODUCTION: Final = """\
Made by `make bench-peers`; [README.md](README.md) says which libraries and what is measured.

Every library gets the same conversation in its own message types: 49 exchanges of 3 results of
1,000 characters, one exchange with the large results (200 messages, where the results of a turn
share one), 8 ordinary exchanges. It is called as its own agent loop calls it, in its default
configuration. Times are medians of 5 conversations with different texts; in each, this library
(unsynced, with records) had its turn in the same process, and *times ours* compares the two. Its
own row says how much of that is noise.

- *large turn*: the tools of the large exchange have run; all that the library does then and before
  the request. *Later turn*: the same for the ordinary exchanges after it.
- *visible*: characters of the large results in the request after them, and 8 turns later.
- *back*: of the large results that are not whole at the end, how many came back whole by what the
  model can read or call. Where all are whole there is nothing to bring back.
- *prefix*: whether the next request begins with the very bytes of the large one; and in how many
  of the 8 turns the beginning of the conversation changed, so that a provider's cache is lost."""


def report(outcomes: Sequence[Mapping[str, Any]], failures: Mapping[str, str]) -> str:
    """Give the whole report."""
    today = datetime.now(UTC).date()
    lines = ["# Other libraries on the same work", "", f"Measured on {today}. {INTRODUCTION}"]
    names = dict.fromkeys(case for outcome in outcomes for case in outcome["cases"])
    for case in names:
        lines += ["", f"## Large results: {case} characters", "", *_case_table(outcomes, case)]
    lines += ["", "## Configurations", ""]
    settings = [[_label(one), one["version"] or "this tree", one["setting"]] for one in outcomes]
    lines += [f"- {label} {version}: {setting}" for label, version, setting in settings]
    if failures:
        lines += ["", "## Not measured", ""]
        lines += [f"- {name}: {reason}" for name, reason in failures.items()]
    lines += ["", "## Machine", "", *markdown_table(["what", "value"], machine_rows({}))]
    return "\n".join(lines) + "\n"


def _case_table(outcomes: Sequence[Mapping[str, Any]], case: str) -> list[str]:
    heads = [
        "library",
        "large turn",
        "times ours",
        "later turn",
        "times ours",
        "visible, of",
        "8 turns later",
        "back",
        "prefix on the next turn",
        "turns of 8 that changed it",
    ]
    rows = [_row(_label(outcome), outcome["cases"][case]) for outcome in outcomes]
    return markdown_table(heads, rows)


def _row(label: str, case: Mapping[str, Any]) -> list[str]:
    has_nothing_to_get = not case["shortened"]
    back = "all whole" if has_nothing_to_get else f"{case['recoverable']} of {case['shortened']}"
    return [
        label,
        duration(Spread.of(case["large_turn_s"]).median),
        _times(case["large_turn_s"], case["ours_large_turn_s"]),
        duration(Spread.of(case["later_turn_s"]).median),
        _times(case["later_turn_s"], case["ours_later_turn_s"]),
        f"{case['visible_chars']:,} of {case['original_chars']:,}",
        f"{case['visible_at_the_end_chars']:,}",
        back,
        "the same" if case["is_prefix_kept"] else "**changed**",
        str(case["turns_with_another_prefix"]),
    ]


def _times(theirs_s: Sequence[float], ours_s: Sequence[float]) -> str:
    ratios = (their_s / our_s for their_s, our_s in zip(theirs_s, ours_s, strict=True))
    return number(Spread.of(ratios).median)


def _label(outcome: Mapping[str, Any]) -> str:
    return f"{outcome['distribution']}, `{outcome['name']}`"
