"""Running what blocks in a thread, without an exception that no event loop can pass on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


async def in_thread(
    function: Callable[_Arguments, _Result],
    /,
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """Do what :func:`asyncio.to_thread` does, for functions of a host's too.

    A future refuses to hold a ``StopIteration``, which is what ``next`` raises at an end: whoever
    waits for that future would wait for ever. It becomes a ``RuntimeError``, as in a coroutine.

    Example:
        >>> asyncio.run(in_thread(len, "four"))
        4
    """
    return await asyncio.to_thread(_call, function, *args, **kwargs)


def _call(
    function: Callable[_Arguments, _Result],
    /,
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError(f"function raised StopIteration: {error.value!r}") from error
