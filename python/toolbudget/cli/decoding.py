"""JSON of an input: decoded leniently, and exactly where values may reach the store."""

from __future__ import annotations

import json
from typing import Any

import orjson

from toolbudget._core.pure.json.numbers import Inexact, exact_fraction, exact_integer
from toolbudget._core.pure.shape import field, is_mapping, text_field
from toolbudget.budget.storing import is_json_content

__all__ = ["decode"]


def decode(data: bytes) -> object:
    """Decode JSON as leniently as the standard library does.

    Numbers are only looked at where a result has to be stored as JSON, with the keys that its
    blocks have beside their text. There every number is exact: one that Python cannot hold becomes
    an object that no store takes, so that its result stays in full.

    Raises:
        ValueError: It is no JSON, no UTF-8, or nested too deeply.
    """
    value = _decode_quickly(data)
    if not _holds_structured_result(value):
        return value
    try:
        return _decode_exactly(data)
    except RecursionError:
        # It may yet be stored: since Python 3.12 decoding and encoding end at depths of their own.
        _doubt_fractions(value)
        return value


def _doubt_fractions(value: object) -> None:
    """Let no number stand that may have been rounded; whole ones were not, or are fractions now."""
    pending = [value]
    while pending:
        parent: Any = pending.pop()
        for key, child in list(parent.items() if isinstance(parent, dict) else enumerate(parent)):
            if isinstance(child, float):
                parent[key] = Inexact()
            elif isinstance(child, (dict, list)):
                pending.append(child)


def _decode_quickly(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass  # also lone surrogate escapes, NaN and infinities, which other writers produce
    try:
        # Python refuses to read an integer of thousands of digits, but not such a float.
        value: object = json.loads(data.decode(), parse_int=float)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error
    return value


def _decode_exactly(data: bytes) -> object:
    return json.loads(data.decode(), parse_int=exact_integer, parse_float=exact_fraction)


def _holds_structured_result(value: object) -> bool:
    """Tell whether any result in a record, a message, a list or a body is stored as JSON."""
    if is_mapping(value):
        messages = field(value, "messages")
        if not isinstance(messages, list):
            return _is_structured_message(value)
    else:
        messages = value
    return isinstance(messages, list) and any(map(_is_structured_message, messages))


def _is_structured_message(value: object) -> bool:
    inner = field(value, "message") if is_mapping(value) else None
    content = field(inner if is_mapping(inner) else value, "content")
    if not isinstance(content, list):
        return False
    return any(
        isinstance(result := field(block, "content"), list) and is_json_content(result)
        for block in content
        if text_field(block, "type") == "tool_result"
    )
