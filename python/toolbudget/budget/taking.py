"""A message list as it was when a call began, whatever becomes of the host's own meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from toolbudget import _core as core

__all__ = ["take", "unchanged"]


def take(messages: Sequence[Any]) -> Sequence[Any]:
    """Return what nobody else can make longer or shorter while results are stored.

    What cannot be a message list comes back as it is, for the core to refuse.
    """
    if type(messages) is list:
        return messages[:]
    if type(messages) is tuple or isinstance(messages, (str, bytes, bytearray)):
        return messages
    given: object = messages
    return list(given) if isinstance(given, Sequence) else messages


def unchanged(
    given: Sequence[Any], taken: Sequence[Any], *, beginning: Sequence[Any] = ()
) -> list[Any]:
    """Return the output in which nothing is replaced: the very list, unless it is another by now.

    Args:
        given: The host's own.
        taken: What was decided about.
        beginning: What stands before, which the host has promised to leave alone.
    """
    if isinstance(given, list) and len(given) == len(beginning) + len(taken):
        now = given[len(beginning) :] if beginning else given
        if core.begins_with(now, cast("list[Any]", taken)):
            return given
    return [*beginning, *taken]
