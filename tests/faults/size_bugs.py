"""Mistakes that only a hostile size shows, put in for the length of a test."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from toolbudget import _core
from toolbudget.budget import engine, gate
from toolbudget.storage import encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SIZE_BUGS", "sized_badly"]

SIZE_BUGS: Final = ("whole-copy", "recursive")


@contextmanager
def sized_badly(bug: str) -> Iterator[None]:
    """Make a mistake."""
    with ExitStack() as stack:
        if bug == "whole-copy":
            stack.enter_context(mock.patch.object(encoding, "_encode_text", _encode_whole))
        else:
            stack.enter_context(mock.patch.object(_core, "plan", _walking_first(_core.plan)))
            judge = _walking_first(gate.judge_result)
            stack.enter_context(mock.patch.object(engine, "judge_result", judge))
        yield


def _encode_whole(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass")


def _walking_first(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: object, *arguments: object, **options: object) -> object:
        _walk(value)
        return function(value, *arguments, **options)

    return call


def _walk(value: object) -> None:
    """Look at everything, however deep it is."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _walk(item)
