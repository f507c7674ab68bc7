"""What another thread loses while bodies of 20 MB are enforced, one after the other."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import orjson

from benches.bench_json import MEGABYTE, SHAPES, opened
from benches.bodies import body
from benches.measuring import Comparison, measure
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROUNDS: Final = 11
STEPS: Final = 4_000_000


def test_another_thread(tmp_path: Path, note: Callable[[Comparison], None]) -> None:
    """O1: a thread that counts, alone and beside one that never stops scanning or deciding.

    A scan lets other threads run; what is decided about each result of it is looked up under the
    interpreter's lock.
    """
    request = body(20 * MEGABYTE, *SHAPES["10 x 4,000, kept"])
    # Another beginning each time: every byte is looked at.
    requests = [b'{"a":%d,' % number + request[1:] for number in (1, 10)]
    session = opened(tmp_path, "a")
    session.enforce_json(request)

    def enforce() -> None:
        requests.reverse()
        session.enforce_json(requests[0])

    besides: dict[str, Callable[[], object]] = {
        "alone": lambda: stop.wait(0.01),
        "beside scan_json": lambda: _core.scan_json(request),
        "beside enforce_json": enforce,
        "beside orjson.loads": lambda: orjson.loads(request),
    }
    seconds: dict[str, list[float]] = {way: [] for way in besides}
    for _ in range(ROUNDS):
        for way, work in besides.items():
            stop = threading.Event()
            with kept_busy(work, stop):
                seconds[way].append(measure(count))
    note(Comparison(group="another thread", name="bodies of 20 MB", seconds=seconds))


def count() -> None:
    """Do what nothing but the interpreter takes part in."""
    for _ in range(STEPS):
        pass


@contextmanager
def kept_busy(work: Callable[[], object], stop: threading.Event) -> Iterator[None]:
    """Do the work again and again in a second thread."""
    has_begun = threading.Event()

    def run() -> None:
        while not stop.is_set():
            work()
            has_begun.set()

    thread = threading.Thread(target=run)
    thread.start()
    has_begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
