"""Messages as a request holds them, with cache breakpoints where the host wants them (M7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from toolbudget._core.pure.shape import check_sequence, plain_text, read_message
from toolbudget.errors import ConfigError, InvalidMessageError
from toolbudget.messages.marks import (
    CACHE_CONTROL,
    MAX_CACHE_BREAKPOINTS,
    can_carry_mark,
    keep_last_marks,
)
from toolbudget.messages.plain import clone, content_blocks, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.messages.types import MessageParam

__all__ = [
    "add_cache_breakpoint",
    "assistant_message_to_message_param",
    "user_message_to_message_param",
]


def user_message_to_message_param(
    message: object,
    *,
    add_cache: bool = False,
    enable_prompt_caching: bool,
    query_source: str | None = None,
) -> MessageParam:
    """Make the request's form of a user message: ``role`` and ``content``, and nothing internal.

    Args:
        message: A record, an API message or an SDK object.
        add_cache: Make a text a text block, and put a cache breakpoint on the last block unless the
            API would refuse it there (an empty text).
        enable_prompt_caching: Without it no breakpoint is added; those of the host stay.
        query_source: Who asks, for hosts that tell their requests apart; every source gets the same
            breakpoint.

    Returns:
        A new message that shares nothing mutable with ``message``. It never holds more than 4
        breakpoints, those inside results counted; the earliest go first.

    Raises:
        InvalidMessageError: ``message`` is no user message, or its content is neither text nor a
            list of blocks.

    Example:
        >>> from toolbudget import messages
        >>> record = messages.create_user_message("hello")
        >>> messages.user_message_to_message_param(record, enable_prompt_caching=True)
        {'role': 'user', 'content': 'hello'}
        >>> param = messages.user_message_to_message_param(
        ...     record, add_cache=True, enable_prompt_caching=True
        ... )
        >>> param["content"]
        [{'type': 'text', 'text': 'hello', 'cache_control': {'type': 'ephemeral'}}]
    """
    _check_query_source(query_source)
    return _to_param(message, "user", add_cache=add_cache, is_caching=enable_prompt_caching)


def assistant_message_to_message_param(
    message: object,
    *,
    add_cache: bool = False,
    enable_prompt_caching: bool,
    query_source: str | None = None,
) -> MessageParam:
    """Make the request's form of an assistant message: ``role`` and ``content``, nothing internal.

    Args:
        message: A record, an API message or an SDK object.
        add_cache: Make a text a text block, and put a cache breakpoint on the last block unless the
            API would refuse it there: an empty text, a thinking, redacted_thinking or connector
            block.
        enable_prompt_caching: Without it no breakpoint is added; those of the host stay.
        query_source: Who asks, for hosts that tell their requests apart; every source gets the same
            breakpoint.

    Returns:
        A new message that shares nothing mutable with ``message``; its blocks are all kept, calls
        too. It never holds more than 4 breakpoints; the earliest go first.

    Raises:
        InvalidMessageError: ``message`` is no assistant message, or its content is neither text nor
            a list of blocks.

    Example:
        >>> from toolbudget import messages
        >>> thinking = {"type": "thinking", "thinking": "…", "signature": "c2ln"}
        >>> param = messages.assistant_message_to_message_param(
        ...     {"role": "assistant", "id": "msg_1", "content": [thinking]},
        ...     add_cache=True,
        ...     enable_prompt_caching=True,
        ... )
        >>> param == {"role": "assistant", "content": [thinking]}
        True
    """
    _check_query_source(query_source)
    return _to_param(message, "assistant", add_cache=add_cache, is_caching=enable_prompt_caching)


def add_cache_breakpoint(
    messages: Sequence[object],
    *,
    enable_prompt_caching: bool = True,
    max_breakpoints: int = MAX_CACHE_BREAKPOINTS,
) -> list[MessageParam]:
    """Put a cache breakpoint at the end of a whole message list, and never exceed what it may hold.

    It goes on the last block of the last message whose last block may carry one. If the list then
    holds more than ``max_breakpoints``, those inside results counted, the earliest are taken away.

    Args:
        messages: What :func:`normalize_messages_for_api` made, or any messages of a request.
        enable_prompt_caching: Without it no breakpoint is added.
        max_breakpoints: What is left of the API's 4 for the messages, when ``system``, ``tools`` or
            the request itself carry some; 0 to 4.

    Returns:
        New messages that share nothing mutable with the input.

    Raises:
        ConfigError: ``max_breakpoints`` is not an int from 0 to 4.
        InvalidMessageError: ``messages`` cannot be a message list of a request.

    Example:
        >>> from toolbudget import messages
        >>> request = messages.normalize_messages_for_api([{"role": "user", "content": "hello"}])
        >>> messages.add_cache_breakpoint(request)[-1]["content"]
        [{'type': 'text', 'text': 'hello', 'cache_control': {'type': 'ephemeral'}}]
    """
    if type(max_breakpoints) is not int or not 0 <= max_breakpoints <= MAX_CACHE_BREAKPOINTS:
        problem = f"max_breakpoints must be an int from 0 to {MAX_CACHE_BREAKPOINTS}"
        raise ConfigError(f"{problem}: {shown(max_breakpoints)}")
    params = [_cloned(message, index) for index, message in enumerate(check_sequence(messages))]
    if enable_prompt_caching:
        for param in reversed(params):
            if param["role"] != "system" and _mark_last(param):
                break
    keep_last_marks((param["content"] for param in params), max_breakpoints)
    return params


def _to_param(
    message: object, role: Literal["user", "assistant"], *, add_cache: bool, is_caching: bool
) -> MessageParam:
    read = read_message(message, 0)
    if read is None or read.role != role:
        raise InvalidMessageError(f"the message is not one of role {role!r}: {shown(message)}")
    content = _content(read.content, f"the {role} message")
    param: MessageParam = {"role": role, "content": content}
    if add_cache and isinstance(content, str):
        param["content"] = [{"type": "text", "text": content}]
    if add_cache and is_caching:
        _mark_last(param)
    keep_last_marks([param["content"]], MAX_CACHE_BREAKPOINTS)
    return param


def _cloned(message: object, index: int) -> MessageParam:
    read = read_message(message, index)
    if read is not None:
        role: Literal["user", "assistant"] = "user" if read.role == "user" else "assistant"
        return {"role": role, "content": _content(read.content, f"message {index}")}
    copied = clone(message)
    if copied.get("role") != "system":
        problem = f"message {index} is not one of a request"
        raise InvalidMessageError(f"{problem}: {shown(message)}")
    return {"role": "system", "content": copied.get("content")}


def _content(content: object, where: str) -> Any:  # noqa: ANN401 - a text or blocks
    text = plain_text(content)
    if text is not None:
        return text
    if content is None:
        problem = f"{where} holds content that is neither text nor a list of blocks"
        raise InvalidMessageError(f"{problem}: None")
    return content_blocks(content, where)


def _mark_last(param: MessageParam) -> bool:
    """Put a breakpoint on the last block, if it may carry one; a host's own mark stays."""
    content = param["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content or not can_carry_mark(content[-1]):
        return False
    if content[-1].get(CACHE_CONTROL) is None:
        content[-1][CACHE_CONTROL] = {"type": "ephemeral"}
    param["content"] = content
    return True


def _check_query_source(query_source: object) -> None:
    if query_source is not None and plain_text(query_source) is None:
        raise ConfigError(f"query_source must be text or None: {shown(query_source)}")
