"""The rules once more, from their text alone: slow, short, and sharing nothing with the library.

Property tests compare whole calls of a core with :func:`enforce`. Everything is looked up anew each
time it is needed; nothing is cached or streamed.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from tests.core.group_oracle import (
    Group,
    Identity,
    Result,
    blocks_of,
    find_groups,
    get,
    message_of,
)
from tests.core.size_oracle import Unit, size_in
from tests.core.text_oracle import is_frame, replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Decision",
    "Outcome",
    "Past",
    "Settings",
    "enforce",
]

Decision: TypeAlias = str | None


# --- B4 to B7, D1, D2, R3 -------------------------------------------------------------------------


@dataclass
class Past:
    """What was decided before a call."""

    decisions: dict[Identity, Decision] = field(default_factory=dict)
    replacements: set[str] = field(default_factory=set)
    unapplied: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Settings:
    """The options of a call, by the names that the library gives them."""

    limit: float
    preview_bytes: int = 2_000
    unit: Unit = "chars"
    accounting: Literal["visible", "originals"] = "visible"
    reader_hint: str | None = None
    rule: Literal["running", "resumed", "seen"] = "running"
    leaves_fresh: bool = False
    expected_path: Callable[[str, bool], str]
    is_stored_as_json: Callable[[object], bool]
    is_exempt_tool: Callable[[str], bool]
    redact: Callable[[str], str] | None = None

    def size_of(self, text: str) -> int:
        """Measure what counts towards the limit (L7); order and gain are a matter of characters."""
        return size_in(self.unit, text)


@dataclass
class Outcome:
    """What a call hands out and decides, if every store succeeds."""

    messages: list[object]
    new: dict[Identity, Decision] = field(default_factory=dict)
    adopted: dict[Identity, str] = field(default_factory=dict)
    reapplied: int = 0
    over_limit_chars: float = 0
    visible: list[int] = field(default_factory=list)
    step_bytes: dict[Identity, int] = field(default_factory=dict)


def enforce(messages: list[object] | tuple[object, ...], past: Past, settings: Settings) -> Outcome:
    """Judge every group in order and write the list that is to be sent."""
    outcome = Outcome(list(copy.deepcopy(messages)))
    for group in find_groups(messages, settings.is_exempt_tool):
        _judge(group, messages, past, settings, outcome)
    return outcome


def _judge(
    group: Group,
    messages: list[object] | tuple[object, ...],
    past: Past,
    settings: Settings,
    outcome: Outcome,
) -> None:
    fixed = 0
    counts_previews = settings.accounting == "visible"
    fresh: dict[Identity, list[Result]] = {}
    for result in group.results:
        is_waiting = result.identity in fresh
        decision = "fresh" if is_waiting else _settle(result, group, past, settings, outcome)
        if decision == "fresh":
            fresh.setdefault(result.identity, []).append(result)
        elif decision == "kept":
            # A reference is a standing replacement, whoever made it.
            is_counted = counts_previews or not _is_reference(result, past)
            fixed += settings.size_of(result.text) if is_counted and not result.is_exempt else 0
        else:
            standing = cast("str", _decided(result, past, outcome))
            fixed += settings.size_of(standing) if counts_previews else 0
            outcome.reapplied += 1
            _put(outcome.messages, result, standing)
    total = fixed
    total += sum(settings.size_of(item.text) for items in fresh.values() for item in items)
    taken = {} if settings.leaves_fresh else _take(fresh, fixed, total, messages, settings)
    for identity, items in fresh.items():
        if settings.leaves_fresh:
            continue
        outcome.new[identity] = taken[identity][0] if identity in taken else None
        if identity in taken:
            new, outcome.step_bytes[identity] = taken[identity]
            counted = settings.size_of(new) if counts_previews else 0
            total += (counted - settings.size_of(items[0].text)) * len(items)
            for item in items:
                _put(outcome.messages, item, new)
    outcome.visible.append(total)
    outcome.over_limit_chars += max(0, total - settings.limit)


def _decided(result: Result, past: Past, outcome: Outcome) -> Decision:
    for decisions in (past.decisions, outcome.adopted, outcome.new):
        if result.identity in decisions:
            return decisions[result.identity]
    return None


def _is_reference(result: Result, past: Past) -> bool:
    return result.text in past.replacements or is_frame(result.text)


def _settle(
    result: Result, group: Group, past: Past, settings: Settings, outcome: Outcome
) -> Literal["fresh", "kept", "replaced"]:
    identity = result.identity
    if any(identity in known for known in (past.decisions, outcome.adopted, outcome.new)):
        return "kept" if _decided(result, past, outcome) is None else "replaced"
    foreign = past.unapplied.get(result.tool_use_id)
    is_applied = any(tool_use_id == result.tool_use_id for tool_use_id, *_ in outcome.adopted)
    is_reference = _is_reference(result, past)
    if (
        foreign is not None
        and not is_reference
        and not is_applied
        and len(foreign) <= 16_384
        and result.size > len(foreign)
    ):
        outcome.adopted[identity] = foreign
        return "replaced"
    is_settled_by_rule = settings.rule == "seen" or (
        settings.rule == "resumed" and group.is_followed
    )
    if is_reference or result.is_exempt or is_settled_by_rule:
        outcome.new[identity] = None
        return "kept"
    return "fresh"


def _take(
    fresh: dict[Identity, list[Result]],
    fixed: int,
    total: int,
    messages: list[object] | tuple[object, ...],
    settings: Settings,
) -> dict[Identity, tuple[str, int]]:
    """Choose by B6: the replacement of each one taken, with the bytes of its step."""
    if total <= settings.limit:
        return {}
    redacted: dict[Identity, list[str] | None] = {}
    for identity, items in fresh.items():
        redacted[identity] = _redact(items[0].texts, settings.redact)
    only_first = settings.accounting == "originals" or fixed > settings.limit
    steps = [settings.preview_bytes * percent // 100 for percent in (100, 50, 25, 10, 0)]
    taken: dict[Identity, tuple[str, int]] = {}
    for step_bytes in steps[:1] if only_first else steps:
        taken = {}
        visible = total
        for identity, items in sorted(fresh.items(), key=lambda entry: -entry[1][0].size):
            texts = redacted[identity]
            if visible <= settings.limit or texts is None:
                continue
            content = _content_at(messages, items[0])
            path = settings.expected_path(identity[0], settings.is_stored_as_json(content))
            new = replacement("".join(texts), path, step_bytes, settings.reader_hint)
            if len(new) >= items[0].size:
                continue
            taken[identity] = (new, step_bytes)
            counted = settings.size_of(new) if settings.accounting == "visible" else 0
            visible += (counted - settings.size_of(items[0].text)) * len(items)
        if visible <= settings.limit:
            break
    return taken


def _redact(texts: list[str], redact: Callable[[str], str] | None) -> list[str] | None:
    if redact is None:
        return texts
    try:
        redacted = [redact(text) for text in texts]
    except Exception:  # noqa: BLE001  # whatever the host's hook raises
        return None
    return redacted if all(isinstance(text, str) for text in redacted) else None


# --- B8, B10, W3 ----------------------------------------------------------------------------------


def _content_at(messages: list[object] | tuple[object, ...], result: Result) -> object:
    message = message_of(messages[result.message_index])
    return get(blocks_of(get(message, "content"))[result.block_index], "content")


def _put(messages: list[object], result: Result, text: str) -> None:
    """Write a replacement into a copy, in the form that the content has."""
    old_element = cast("Mapping[str, object]", messages[result.message_index])
    old_message = cast("Mapping[str, object]", message_of(old_element))
    element = dict(old_element)
    message = element if old_message is old_element else dict(old_message)
    blocks = blocks_of(message["content"])
    block = dict(cast("Mapping[str, object]", blocks[result.block_index]))
    old = block["content"]
    new: object = text
    if not isinstance(old, str):
        inner: dict[str, object] = {"type": "text", "text": text}
        for part in blocks_of(old):
            if get(part, "cache_control") is not None:
                inner["cache_control"] = get(part, "cache_control")
        new = [inner]
    block["content"] = new
    blocks[result.block_index] = block
    message["content"] = blocks
    if message is not element:
        element["message"] = message
    messages[result.message_index] = element
