"""A Ctrl-C anywhere around a ``with`` block of ``Mutex`` leaves it to whoever waits for it."""

from __future__ import annotations

import signal
import sys
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from toolbudget._mutex import Mutex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


def is_free(mutex: Mutex) -> bool:
    """Whether another thread could take it."""
    answers: list[bool] = []

    def ask() -> None:
        answers.append(mutex.acquire(blocking=False))
        if answers[-1]:
            mutex.release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return answers == [True]


def interrupted_at(nth: int, mutex: Mutex) -> bool:
    """Use it, interrupted at the n-th point at which Python could be; tell whether there is one.

    Since Python 3.14 the end of a built-in ``__enter__`` is such a point.
    """
    left = nth

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        if frame.f_code.co_name not in {"__enter__", "use"} or event not in {"call", "c_return"}:
            return
        left -= 1
        if not left:
            sys.setprofile(None)
            raise KeyboardInterrupt

    def use() -> None:
        with mutex:
            pass

    sys.setprofile(watch)
    try:
        use()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_an_interrupt_at_every_point() -> None:
    """Taken or not yet, it is free afterwards."""
    mutex = Mutex()
    for nth in count(1):
        was_hit = interrupted_at(nth, mutex)
        assert is_free(mutex)
        if not was_hit:
            assert nth > 3
            return


def test_what_the_thread_held_before_it_still_holds() -> None:
    """An interrupted inner block gives back its own turn only."""
    mutex = Mutex()
    with mutex:
        for nth in count(1):
            was_hit = interrupted_at(nth, mutex)
            assert not is_free(mutex)
            if not was_hit:
                break
    assert is_free(mutex)


@pytest.fixture
def alarms() -> Iterator[None]:
    """Let the signal of an alarm interrupt as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarms")
def test_an_interrupt_while_it_waits() -> None:
    """What another thread holds stays with that thread."""
    mutex, is_over, is_held = Mutex(), threading.Event(), threading.Event()

    def hold() -> None:
        with mutex:
            is_held.set()
            is_over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    with pytest.raises(KeyboardInterrupt), mutex:
        pass
    assert not is_free(mutex)
    is_over.set()
    holder.join()
    assert is_free(mutex)


@pytest.mark.usefixtures("alarms")
def test_signals_at_any_moment() -> None:
    """Real signals, handled where Python looks for them: a built-in lock fails here with 3.14."""
    mutex = Mutex()
    end_s = time.monotonic() + 0.5
    hits = 0
    while time.monotonic() < end_s:
        try:
            signal.setitimer(signal.ITIMER_REAL, 20e-6 + hits % 40 * 1e-6)
            while True:
                with mutex:
                    pass
        except KeyboardInterrupt:
            hits += 1
        assert is_free(mutex)
    assert hits > 10
