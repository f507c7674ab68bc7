"""SPEC 8 said a second time, by brute force: T1, T3 and T4 over plain transcript records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolbudget.tokens._content import content_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["context_tokens", "last_usage", "read_records", "sum_of", "tokens_of"]

FIELDS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a transcript; its broken lines are passed over."""
    for line in path.read_text("utf-8").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def tokens_of(chars: int) -> int:
    """Give the estimate of a text of so many characters that are all the same."""
    return content_tokens("x" * chars)


def sum_of(usage: dict[str, Any] | None) -> int:
    """Add up what a usage says."""
    return sum((usage or {}).get(name) or 0 for name in FIELDS)


def context_tokens(records: Sequence[dict[str, Any]]) -> int:
    """Count the context of the main chain."""
    messages = in_context(records)
    used = [i for i, message in enumerate(messages) if sum_of(usage_of(message))]
    if not used:
        return sum(content_tokens(message["content"]) for message in messages)
    last = used[-1]
    own_id = id_of(messages[last])
    # Every record from which the way to the last one meets this response's id, or none.
    anchors = [
        i
        for i in range(last + 1)
        if own_id is not None
        and id_of(messages[i]) == own_id
        and {id_of(message) for message in messages[i : last + 1]} <= {own_id, None}
    ]
    anchor = min(anchors, default=last)
    behind = messages[anchor + 1 :]
    return sum_of(usage_of(messages[last])) + sum(content_tokens(one["content"]) for one in behind)


def last_usage(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give the usage of the last response that has one."""
    usages = [usage_of(message) or {} for message in in_context(records)]
    return next((usage for usage in reversed(usages) if sum_of(usage)), {})


def in_context(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the messages of the main chain behind the last compaction."""
    main = [record for record in records if not record.get("isSidechain")]
    ends = [i for i, record in enumerate(main) if record.get("subtype") == "compact_boundary"]
    behind = main[ends[-1] + 1 :] if ends else main
    messages = [record.get("message") for record in behind if is_talk(record)]
    return [message for message in messages if message]


def is_talk(record: dict[str, Any]) -> bool:
    """Tell whether a record is one of a user or an assistant."""
    return record.get("type") in {"user", "assistant"}


def usage_of(message: dict[str, Any]) -> dict[str, Any] | None:
    """Give the usage that an assistant's message carries."""
    return message.get("usage") if message["role"] == "assistant" else None


def id_of(message: dict[str, Any]) -> str | None:
    """Give the id of a response."""
    return message.get("id") if message["role"] == "assistant" else None
