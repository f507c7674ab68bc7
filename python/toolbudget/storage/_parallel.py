"""Doing one slow thing to several items at once, in threads that end before it returns."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["run_parallel"]

_Item = TypeVar("_Item")

_MAX_THREADS: Final = 8


def run_parallel(action: Callable[[_Item], object], items: Sequence[_Item]) -> list[OSError | None]:
    """Call ``action`` on each item and return what failed, in the items' order.

    The calling thread works too, so a single item needs no other thread, and a process that can
    start none still gets everything done. Errors that are no ``OSError`` are raised at the end.
    """
    outcomes: list[BaseException | None] = [None] * len(items)
    waiting = deque(range(len(items)))

    def work() -> None:
        while True:
            try:
                index = waiting.popleft()
            except IndexError:
                return
            try:
                action(items[index])
            except BaseException as error:  # noqa: BLE001 - handed to the calling thread below
                outcomes[index] = error

    helpers = _start_helpers(work, min(len(items), _MAX_THREADS) - 1)
    try:
        work()
    finally:
        for helper in helpers:
            helper.join()
    return [_os_error(outcome) for outcome in outcomes]


def _start_helpers(work: Callable[[], None], count: int) -> list[threading.Thread]:
    helpers: list[threading.Thread] = []
    for _ in range(count):
        helper = threading.Thread(target=work, name="toolbudget-sync")
        try:
            helper.start()
        except RuntimeError:
            # The system is out of threads, or the interpreter is ending.
            break
        helpers.append(helper)
    return helpers


def _os_error(outcome: BaseException | None) -> OSError | None:
    if outcome is None or isinstance(outcome, OSError):
        return outcome
    raise outcome
