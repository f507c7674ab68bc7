"""Whole calls for property tests: messages, what was decided before, and options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from tests.core.group_oracle import find_groups
from tests.core.harness import is_json, path_for
from tests.core.oracle import Past, Settings
from tests.strategies import message_lists

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Call", "calls", "settings_of_a_call"]


class Call(NamedTuple):
    """The arguments of one plan."""

    messages: list[Any]
    past: Past
    settings: Settings


def _mask(text: str) -> str:
    return text.replace("a", "*")


def _shorten(text: str) -> str:
    return text[: len(text) // 2]


def _refuse_b(text: str) -> str:
    if "b" in text:
        raise ValueError(text[:20])
    return text


def _return_nothing(text: str) -> str:
    return None if "c" in text else text  # type: ignore[return-value]  # a host's mistake


_HOOKS: tuple[Callable[[str], str] | None, ...] = (
    None,
    None,
    None,
    _mask,
    _shorten,
    _refuse_b,
    _return_nothing,
    "\n<persisted-output>".join,  # longer, and hostile
)


def settings_of_a_call(limits: st.SearchStrategy[float]) -> st.SearchStrategy[Settings]:
    """Give every combination of options; most hooks, rules and limits are the usual ones."""
    return st.builds(
        Settings,
        limit=limits,
        preview_bytes=st.integers(1, 9) | st.integers(10, 300),
        unit=st.sampled_from(["chars", "chars", "tokens", "bytes"]),
        accounting=st.sampled_from(["visible", "visible", "originals"]),
        reader_hint=st.sampled_from([None, None, "Use read_result to see more"]),
        rule=st.sampled_from(["running", "running", "resumed", "seen"]),
        leaves_fresh=st.sampled_from([False, False, False, True]),
        expected_path=st.just(path_for),
        is_stored_as_json=st.just(is_json),
        is_exempt_tool=st.just("Read".__eq__),
        redact=st.sampled_from(_HOOKS),
    )


@st.composite
def _pasts(draw: st.DrawFn, messages: list[Any]) -> Past:
    """Decide about some of the results, hold some texts for references, know some ids."""
    groups = find_groups(messages, "Read".__eq__)
    results = [result for group in groups for result in group.results]
    past = Past()
    for result in results:
        decision = draw(st.sampled_from(["none"] * 8 + ["kept", "replaced", "fact", "foreign"]))
        if decision == "kept":
            past.decisions.setdefault(result.identity, None)
        elif decision == "replaced":
            recorded = f"[{result.size} characters]"
            past.replacements.add(str(past.decisions.setdefault(result.identity, recorded)))
        elif decision == "fact":
            past.replacements.add(result.text)
        elif decision == "foreign":
            length = draw(st.sampled_from([0, 5, 100, 299, 300, 600, 16_385]))
            past.unapplied[result.tool_use_id] = "f" * length
    return past


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Give a call about a hostile list, with a past that has to do with it."""
    messages = draw(message_lists())
    sizes = [
        sum(result.size for result in group.results)
        for group in find_groups(messages, "Read".__eq__)
    ]
    # Around what the groups come to: there the choices are interesting.
    whole = st.integers(0, max(sizes, default=0) + 1)
    limits = st.one_of(whole, whole, whole.map(lambda limit: limit + 0.5), st.just(math.inf))
    return Call(messages, draw(_pasts(messages)), draw(settings_of_a_call(limits)))
