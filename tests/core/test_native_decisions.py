"""Tables of decisions of the native core: what they cost, and several threads that work on one."""

from __future__ import annotations

import gc
import sys
import threading
from typing import TYPE_CHECKING, Final

from tests.builders import msg, res
from tests.faults.cores import running_on
from toolbudget import Session, _core
from toolbudget._core import _native
from toolbudget._core.pure import Fingerprint, Key

if TYPE_CHECKING:
    from pathlib import Path

KEY: Final = Key("t1", Fingerprint(3, "06b05ab6733a618578af5f94892f3950"))


def test_threads_at_once_lose_nothing() -> None:
    """S10: whoever decides while others look through the table or copy it finds it whole."""
    table = _native.DecisionTable()
    problems: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(300):
                table.decide(Key(f"{thread}-{number}", KEY.fingerprint), None)
                if number % 50 == 0:
                    assert set(table.copy()) <= set(table)
                    assert len(table.decisions()) <= 1_200
        except BaseException as problem:  # noqa: BLE001 - whatever it is, the test fails by it
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    finally:
        sys.setswitchinterval(interval)
    assert problems == []
    assert table.counts() == (0, 1_200)


def test_a_kept_result_takes_no_object(tmp_path: Path) -> None:
    """SPEC 9: of a session that records nothing the collector sees no more than before it."""
    messages = [msg(*(res(f"t{number}", f"{number} small") for number in range(1_000)))]
    with running_on(_core.load("native")):
        session = Session.open(tmp_path, "s", ephemeral=True)
        session.enforce(messages[:0])
        gc.collect()
        before = len(gc.get_objects())
        session.enforce(messages)
        gc.collect()
        assert len(gc.get_objects()) - before < 100
        assert len(session.state.decisions) == 1_000
