"""What the API refuses in a message list, said a second time and without the library.

After the provider's documentation and the reports of its users: alternating roles, each call
answered in the very next message, results first, no empty text, at most four cache breakpoints,
results only while code or the provider's own tool waits.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["breakpoints_in", "refusals"]

JsonObject = dict[str, Any]


def refusals(messages: Sequence[Any]) -> list[str]:
    """Give a line for everything that the API would refuse."""
    found: list[str] = []
    spoken = [message for message in messages if message["role"] != "system"]
    for index, message in enumerate(messages):
        found += [f"{index}: {problem}" for problem in _shape_problems(message)]
    for index, message in enumerate(spoken):
        before = spoken[index - 1] if index else None
        after = spoken[index + 1] if index + 1 < len(spoken) else None
        if before is not None and before["role"] == message["role"]:
            found.append(f"{index}: two messages of role {message['role']} in a row")
        if message["role"] == "assistant":
            found += [f"{index}: {problem}" for problem in _answer_problems(message, after)]
        else:
            found += [f"{index}: {problem}" for problem in _user_problems(message, before)]
    return found


def breakpoints_in(value: object) -> Iterator[JsonObject]:
    """Yield every block with a cache breakpoint, however deep, in the order of the prompt."""
    if isinstance(value, dict):
        for name, child in value.items():
            if name in {"content", "messages"}:
                yield from breakpoints_in(child)
        if value.get("cache_control") is not None:
            yield value
    elif isinstance(value, list):
        for child in value:
            yield from breakpoints_in(child)


def _shape_problems(message: JsonObject) -> Iterator[str]:
    if set(message) != {"role", "content"}:
        yield f"keys {sorted(message)}"
    if message["role"] == "system":
        return
    content = message["content"]
    if not isinstance(content, list) or not content:
        yield f"content is {content!r:.40}"
        return
    for block in content:
        yield from _text_problems(block)
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            for part in block["content"]:
                yield from _text_problems(part)


def _text_problems(block: JsonObject) -> Iterator[str]:
    if block["type"] == "text" and not block["text"].strip():
        yield "an empty text block"


def _answer_problems(message: JsonObject, after: JsonObject | None) -> Iterator[str]:
    called = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
    replied = after["content"] if after is not None else []
    answered = {block["tool_use_id"] for block in replied if block["type"] == "tool_result"}
    if called - answered:
        yield f"calls without a result: {sorted(called - answered)}"


def _user_problems(message: JsonObject, before: JsonObject | None) -> Iterator[str]:
    answer = before["content"] if before is not None else []
    called = Counter(block["id"] for block in answer if block["type"] == "tool_use")
    kinds = [block["type"] for block in message["content"]]
    given = Counter(
        block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"
    )
    if given - called:
        yield f"results without a call: {sorted(given - called)}"
    if kinds != sorted(kinds, key=lambda kind: kind != "tool_result"):
        yield f"something stands before a result: {kinds}"
    if _is_waiting(answer) and set(kinds) != {"tool_result"}:
        yield f"more than results while a call is open: {kinds}"


def _is_waiting(answer: Sequence[JsonObject]) -> bool:
    finished = {block.get("tool_use_id") for block in answer}
    for block in answer:
        if block["type"] == "server_tool_use" and block["id"] not in finished:
            return True
        caller = block.get("caller") or {}
        if block["type"] == "tool_use" and caller.get("type", "").startswith("code_execution"):
            return True
    return False
