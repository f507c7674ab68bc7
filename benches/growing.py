"""Inputs made so that a careless way through them takes longer than they are long.

Each is a bug that was, or one that a way like it invites: what is known was gone through for each
new thing, or a pattern tried each place of a run again from each of its places.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from benches.workloads import turns
from toolbudget import Limits, MemoryStore, Session, _core, generate_preview
from toolbudget.messages import (
    normalize_messages,
    normalize_messages_for_api,
    reorder_messages_in_ui,
)
from toolbudget.pruning import LANGUAGES, guess_language, outline_code, prune_by_relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.budget.history import HistoryMode

__all__ = ["GROWING", "Growing", "Work"]

Work: TypeAlias = "Callable[[], object]"

FENCE: Final = "```text\nhow it is used\n```\n"
TYPESCRIPT: Final = "interface Shop {\n  name: string;\n}\n" * 9
CODE: Final = {"type": "code_execution_20260120", "tool_id": "s1"}
PREVIEW_BYTES: Final = 2_000
NUMBERS: Final = count()


@dataclass(frozen=True)
class Growing:
    """A call on an input of some size, and how its work may grow."""

    name: str
    prepare: Callable[[int], Work]
    """Make the input of a size, and give the call on it."""
    size: int
    """The smaller of the two sizes; the larger is four times it."""
    is_constant: bool = False
    """Whether the work must not grow at all."""


def _session(history: HistoryMode, limits: Limits | None = None) -> Session:
    """Open a session that leaves nothing on the disk."""
    return Session.open(
        tempfile.gettempdir(),
        f"growing-{next(NUMBERS)}",
        limits=limits,
        store=MemoryStore(),
        history=history,
        ephemeral=True,
    )


def _with_tools(size: int, *, tools: int | None = None) -> list[dict[str, Any]]:
    """Make turns that each call another tool."""
    messages = turns(size, 1, 4)
    for turn in range(size):
        messages[2 * turn]["content"][0]["name"] = f"tool{turn % (tools or size)}"
    return messages


def _with_agents(size: int) -> list[dict[str, Any]]:
    """Make chains that are left after their first results."""
    return [
        {"type": message["role"], "agentId": f"a{number // 2}", "message": message}
        for number, message in enumerate(_with_tools(size, tools=1))
    ]


def _three_turns(
    history: HistoryMode, conversation: Callable[[int], list[dict[str, Any]]], size: int
) -> Work:
    session, messages = _session(history), conversation(size)
    return lambda: [session.enforce(messages) for _ in range(3)]


def _turn_after_the_first(size: int) -> Work:
    """Enforce a text that was there before."""
    session = _session("verified", limits=Limits(max_message_chars=math.inf))
    messages = turns(1, 1, size)
    session.enforce(messages)
    return lambda: session.enforce(messages)


def _records(size: int) -> Iterator[dict[str, Any]]:
    """Make records of a host; half of the calls come from code, so what the user says waits."""
    for number, message in enumerate(turns(size, 1, 4)):
        record = {**message, "id": f"m{number // 8}"} if "id" in message else message
        for block in record["content"]:
            if block["type"] == "tool_use" and number < size:  # the first half
                block["caller"] = CODE
        if record["role"] == "user":
            record["content"].append({"type": "text", "text": "go on"})
        yield record


def _of_records(function: Callable[[list[Any]], object], size: int) -> Work:
    records = list(_records(size))
    return lambda: function(records)


def _json_preview(form: str, size: int) -> Work:
    text = "[" + ",".join(form.format(number) for number in range(size))
    return lambda: _core.json_preview(text, PREVIEW_BYTES)


def _salient_preview(size: int) -> Work:
    text = "".join(f"{number} error: not found {number:x}\nok\n" for number in range(size))
    return lambda: _core.salient_preview(text, PREVIEW_BYTES)


def _guess(make: Callable[[int], str], size: int) -> Work:
    text = make(size)
    return lambda: guess_language(text)


def _comments(size: int) -> str:
    """Make beginnings of comments, none of which ends."""
    return FENCE + "/*\n" * size


def _blanks(blank: str, size: int) -> str:
    """Make source text with a run of blanks."""
    return f"{TYPESCRIPT}return {blank * size}x"


def _outlines(pattern: str, size: int) -> Work:
    """Outline what would take a parser gigabytes, in every language."""
    text = pattern * size
    return lambda: [outline_code(text, language) for language in LANGUAGES]


def _pruned(part: str, size: int) -> Work:
    text = part * size
    return lambda: prune_by_relevance(text, "needle haystack")


def _preview(filler: str, size: int) -> Work:
    text = filler * size
    return lambda: generate_preview(text)


def _rows() -> Iterator[Growing]:
    for history in ("verified", "append_only"):
        for name, conversation in (("tools", _with_tools), ("agents", _with_agents)):
            prepare = partial(_three_turns, history, conversation)
            yield Growing(f"three turns, {history}, many {name}", prepare, 500)
    yield Growing(
        "the next turn after one large text", _turn_after_the_first, 100_000, is_constant=True
    )
    for function in (normalize_messages_for_api, normalize_messages, reorder_messages_in_ui):
        yield Growing(function.__name__, partial(_of_records, function), 200)
    for form in ('[{{"a": [1, 2, {{"b": "{0:x}"}}]}}', "[[[[[[{0}, 1, 2, 3]]]]]"):
        yield Growing(f"json_preview of {form.format(0)}", partial(_json_preview, form), 1_000)
    yield Growing("salient_preview of many failures", _salient_preview, 1_000)
    yield Growing("guess_language of open comments", partial(_guess, _comments), 2_000)
    for name, blank in (("blanks", " "), ("line breaks", "\n")):
        yield Growing(f"guess_language of {name}", partial(_guess, partial(_blanks, blank)), 5_000)
    for pattern in ("(", "{", "a<", "(x) => "):
        yield Growing(f"outline_code of many {pattern}", partial(_outlines, pattern), 5_000)
    for name, text in (("lines", "the needle in the haystack of line\n"), ("letters", "x" * 35)):
        yield Growing(f"prune_by_relevance of many {name}", partial(_pruned, text), 500)
    for filler in ("x", "\n", "\u4e2d", "\ud800", "<persisted-output "):
        name = f"generate_preview of {filler.strip()!a}"
        yield Growing(name, partial(_preview, filler), 4_000, is_constant=True)


GROWING: Final = tuple(_rows())
