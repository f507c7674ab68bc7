"""Sizes that few hosts ever meet: a body of 200 MB, and one result of 1 GiB."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from benches.bench_json import copy_of, medians, opened
from benches.bodies import body
from benches.measuring import Figure
from benches.peak import LARGE_RESULT_MIB, LARGE_WORKS, MIB, peak_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells the peak since a moment"
)

BODY_BYTES: Final = 200_000_000
ROUNDS: Final = 3
# A decoded body and its output take several times its size.
BODY_NEEDS_MIB: Final = 4_000
# The text, the copy of it in a body and what is decoded of that; the files are in the page cache.
RESULT_NEEDS_MIB: Final = 6 * LARGE_RESULT_MIB
# A text that is held as an object needs little more; of a body it has to be decoded.
MOST_MIB: Final = 16


def need(mib: int) -> None:
    """Skip where there is not so much memory."""
    available_mib = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    if available_mib < mib:
        pytest.skip(f"{mib} MiB of memory are needed, {available_mib} are free")


def test_a_body_of_200_mb(tmp_path: Path, note_speed: Callable[..., None]) -> None:
    """J1 and J2: the first call, the same body again, and one with another beginning."""
    need(BODY_NEEDS_MIB)
    request = body(BODY_BYTES, 10, 4_000)
    twin = copy_of(request)
    moved = [b'{"a":%d,' % number + request[1:] for number in (1, 10)]
    session, moving = opened(tmp_path, "a"), opened(tmp_path, "b")
    started_s = time.perf_counter()
    session.enforce_json(request)
    first_s = time.perf_counter() - started_s
    moving.enforce_json(moved[1])

    def turn(bodies: list[bytes]) -> bytes:
        bodies.reverse()
        return bodies[0]

    works: dict[str, Callable[[], object]] = {
        "again": lambda: session.enforce_json(twin),
        "moved": lambda: moving.enforce_json(turn(moved)),
        "memchr": lambda: request.find(b"\x01"),
        "loads": lambda: orjson.loads(request),
    }
    seconds = {"first": first_s, **medians(works, ROUNDS)}
    note_speed("200 MB, 10 x 4,000, kept", len(request), seconds)
    assert seconds["loads"] > seconds["again"]


@pytest.mark.parametrize("work", LARGE_WORKS)
def test_a_result_of_1_gib(work: str, note: Callable[[Figure], None]) -> None:
    """What storing it takes beyond what is there before: as an object next to nothing."""
    need(RESULT_NEEDS_MIB)
    peak = peak_of(work, "native", traced=False)
    values = {"MiB": peak.mib, "seconds": peak.seconds}
    note(Figure(group="one large result", name=work, values=values, unit=""))
    is_object = "body" not in work
    assert not is_object or peak.mib <= MOST_MIB
