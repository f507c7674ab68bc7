"""How long a conversation has rested, by the time stamps of its records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolbudget._core.pure.shape import field, read_message

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["idle_seconds"]


def idle_seconds(messages: Sequence[Any], now_s: float) -> float | None:
    """Return the seconds since the last answer that has a time stamp; ``None`` if none has.

    Example:
        >>> answer = {"role": "assistant", "content": "hi"}
        >>> record = {"type": "assistant", "message": answer, "timestamp": "1970-01-01T00:01:00Z"}
        >>> idle_seconds([record], now_s=90.0)
        30.0
    """
    for index in range(len(messages) - 1, -1, -1):
        element = messages[index]
        message = read_message(element, index)
        if message is None or message.role != "assistant":
            continue
        spoken_s = _seconds_of(field(element, "timestamp"))
        if spoken_s is not None:
            return now_s - spoken_s
    return None


def _seconds_of(timestamp: object) -> float | None:
    try:
        moment = timestamp if isinstance(timestamp, datetime) else _parsed(timestamp)
    except ValueError:
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _parsed(timestamp: object) -> datetime | None:
    return datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else None
