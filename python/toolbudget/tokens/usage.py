"""How full the context is, from the usage that responses report (SPEC T1, T3, T4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolbudget.errors import InvalidMessageError
from toolbudget.tokens._content import content_tokens
from toolbudget.tokens._records import UNUSED, entries_from_the_end, read_usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget.tokens._records import Entry, Usage

__all__ = [
    "WindowCount",
    "message_token_count_from_last_api_response",
    "read_window_count",
    "token_count_from_last_api_response",
    "token_count_from_usage",
    "token_count_with_estimation",
]


@dataclass(frozen=True, slots=True)
class WindowCount:
    """What is in the context, by what is known and what is estimated.

    Attributes:
        reported_tokens: What the usage of the last response says, 0 if there is none.
        estimated_tokens: The estimate of what no usage covers.
    """

    reported_tokens: int
    estimated_tokens: int

    @property
    def tokens(self) -> int:
        """Both together.

        Example:
            >>> from toolbudget.tokens import WindowCount
            >>> WindowCount(reported_tokens=900, estimated_tokens=100).tokens
            1000
        """
        return self.reported_tokens + self.estimated_tokens


def token_count_from_usage(usage: object) -> int:
    """Add up input, cache creation, cache read and output tokens of a usage.

    Missing and null fields count 0, and so does anything that is no whole number above 0; other
    fields (``cache_creation``, ``server_tool_use``, ``iterations`` …) repeat or split these and are
    not added.

    Args:
        usage: A mapping, an SDK object, or ``None``, which counts 0.

    Raises:
        InvalidMessageError: It is text, bytes, a number or a list.

    Example:
        >>> from toolbudget.tokens import token_count_from_usage
        >>> token_count_from_usage(
        ...     {"input_tokens": 4, "cache_read_input_tokens": 900, "output_tokens": None}
        ... )
        904
    """
    if isinstance(usage, (str, bytes, bytearray, int, float, list, tuple)):
        kind = type(usage).__name__
        raise InvalidMessageError(f"usage must be a mapping or a usage object, not {kind}")
    return read_usage(usage).total_tokens


def token_count_with_estimation(messages: Sequence[object]) -> int:
    """Count the tokens in the context: what the last usage reports and an estimate of the rest.

    The usage is that of the last assistant message that has one (all fields 0 is none). It is
    anchored at the *first* record of that response: of one ``message.id``, with nothing but records
    without an id in between. Everything behind the anchor is estimated, so that results which stand
    between the records of one response are all counted; calls of that response which stand there
    too count once in its usage and once in the estimate, rather over than under. Without any usage
    everything is estimated.

    Only one chain counts, since each has a context of its own: the main one, or, where there is
    none, that of the last message. What stands before its last compaction
    (``subtype: "compact_boundary"``) is no longer in the context. Records that wrap no message
    count nothing.

    Args:
        messages: API messages, transcript records or SDK objects, also mixed.

    Raises:
        InvalidMessageError: It is no sequence of messages.

    Example:
        >>> from toolbudget.tokens import token_count_with_estimation
        >>> usage = {"input_tokens": 1000, "output_tokens": 50}
        >>> messages = [
        ...     {"role": "user", "content": "list the files"},
        ...     {"role": "assistant", "content": "ls", "usage": usage},
        ... ]
        >>> token_count_with_estimation(messages)
        1050
        >>> token_count_with_estimation([*messages, {"role": "user", "content": "x" * 400}]) > 1100
        True
    """
    return read_window_count(messages).tokens


def token_count_from_last_api_response(messages: Sequence[object]) -> int:
    """Return the tokens of the last response that reports a usage, and 0 if none does.

    Unfit for thresholds: what came after that response is missing. Use
    :func:`token_count_with_estimation`. Records of one response count once, by the last of them.

    Args:
        messages: API messages, transcript records or SDK objects, also mixed.

    Raises:
        InvalidMessageError: It is no sequence of messages.

    Example:
        >>> from toolbudget.tokens import token_count_from_last_api_response
        >>> usage = {"input_tokens": 1000, "output_tokens": 50}
        >>> token_count_from_last_api_response(
        ...     [{"role": "assistant", "content": "ls", "usage": usage}]
        ... )
        1050
    """
    return _last_usage(messages).total_tokens


def message_token_count_from_last_api_response(messages: Sequence[object]) -> int:
    """Return the output tokens alone of the last response that reports a usage, else 0.

    Unfit for thresholds: it is the size of one answer, not of the context. Use
    :func:`token_count_with_estimation`.

    Args:
        messages: API messages, transcript records or SDK objects, also mixed.

    Raises:
        InvalidMessageError: It is no sequence of messages.

    Example:
        >>> from toolbudget.tokens import message_token_count_from_last_api_response
        >>> usage = {"input_tokens": 1000, "output_tokens": 50}
        >>> message_token_count_from_last_api_response(
        ...     [{"role": "assistant", "content": "ls", "usage": usage}]
        ... )
        50
    """
    return _last_usage(messages).output_tokens


def read_window_count(messages: Sequence[object]) -> WindowCount:
    """Count as :func:`token_count_with_estimation` does, known and estimated tokens apart.

    Args:
        messages: API messages, transcript records or SDK objects, also mixed.

    Raises:
        InvalidMessageError: It is no sequence of messages.

    Example:
        >>> from toolbudget.tokens import read_window_count
        >>> usage = {"input_tokens": 1000, "output_tokens": 50}
        >>> read_window_count([{"role": "assistant", "content": "ls", "usage": usage}])
        WindowCount(reported_tokens=1050, estimated_tokens=0)
    """
    behind_tokens = 0
    entries = entries_from_the_end(messages)
    for entry in entries:
        usage = entry.usage
        if any(usage):
            between_tokens = _tokens_behind_anchor(entry.response_id, entries, entry.content)
            return WindowCount(usage.total_tokens, between_tokens + behind_tokens)
        behind_tokens += content_tokens(entry.content)
    return WindowCount(0, behind_tokens)


def _tokens_behind_anchor(
    response_id: str | None, earlier: Iterator[Entry], content: object
) -> int:
    """Estimate what stands between a response's first record and what comes behind its last.

    Args:
        response_id: The response; without an id its record is its own anchor.
        earlier: What stands before its last record, the nearest first.
        content: The content of that last record.
    """
    if response_id is None:
        return 0
    between_tokens = 0
    # Of the records walked over, those count that turn out to be behind the anchor.
    walked_tokens = content_tokens(content)
    for entry in earlier:
        if entry.response_id == response_id:
            between_tokens += walked_tokens
            walked_tokens = 0
        elif entry.response_id is not None:
            break
        walked_tokens += content_tokens(entry.content)
    return between_tokens


def _last_usage(messages: Sequence[object]) -> Usage:
    usages = (entry.usage for entry in entries_from_the_end(messages))
    return next((usage for usage in usages if any(usage)), UNUSED)
