"""Running what blocks in a thread, without an exception that no event loop can pass on."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

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

    Where no thread can be started, since the interpreter is ending or the system has none left, the
    function is called here. It is called once, although the pool of the event loop may have taken
    it before it failed to start a thread.

    Example:
        >>> asyncio.run(in_thread(len, "four"))
        4
    """
    context = contextvars.copy_context()
    once = _Once(lambda: context.run(_call, function, *args, **kwargs))
    try:
        in_pool = asyncio.get_running_loop().run_in_executor(None, once)
    except RuntimeError:
        once()
        return await asyncio.wrap_future(once.outcome)
    await in_pool
    return once.outcome.result()


class _Once(Generic[_Result]):
    """A call that is made by whoever comes first."""

    def __init__(self, call: Callable[[], _Result]) -> None:
        # Taking an item off a list is one step for all threads.
        self._waiting = [call]
        self.outcome = Future[_Result]()

    def __call__(self) -> None:
        """Make the call, unless somebody has begun it."""
        try:
            call = self._waiting.pop()
        except IndexError:
            return
        try:
            self.outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where the outcome is asked for
            self.outcome.set_exception(error)
            # Or the error would hold this frame, and the frame the error.
            del self


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
