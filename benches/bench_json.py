"""Bodies as bytes, against decoding, deciding and encoding; medians of one interleaved run."""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from benches.bodies import HOSTILE, body, growing, lines
from toolbudget import Limits, Session, _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

ROUNDS: Final = 15
MEGABYTE: Final = 1_000_000
# Below this the path over bytes would not be worth its keep.
LEAST_RATIO: Final = 1.5
LEAST_BYTES_PER_S: Final = 0.2e9

SHAPES: Final = {
    "10 x 4,000, kept": (10, 4_000),
    "10 x 40,000, half replaced": (10, 40_000),
    "10 x 400, kept": (10, 400),
}


def medians(works: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Give the median seconds of each work, all of them in turn in each round.

    As the goals were measured: the collector rests, since what it reads of other objects would push
    a body of 1 MB out of the caches before each call that is measured.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in works.items():
                started_s = time.perf_counter()
                made = work()
                seconds[name].append(time.perf_counter() - started_s)
                del made
    finally:
        gc.enable()
    return {name: statistics.median(measured) for name, measured in seconds.items()}


def opened(root: Path, name: str, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open a session of which no record is written."""
    return Session.open(root, name, ephemeral=True, durability="process", **options)


def copy_of(data: bytes) -> bytes:
    """Give the same bytes as another object."""
    return bytes(bytearray(data))


@pytest.mark.parametrize("megabytes", [1, 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_bodies(
    tmp_path: Path, note_speed: Callable[..., None], megabytes: int, shape: str
) -> None:
    """J1 to J4: a later call, with the same beginning and with another one, and the first one."""
    request = body(megabytes * MEGABYTE, *SHAPES[shape])
    # The session holds the first one: what comes again is always another object.
    twin = copy_of(request)
    # Another beginning: what is in the session stands, and every byte is looked at.
    moved = [b'{"a":%d,' % number + request[1:] for number in (1, 10)]
    session, moving, objects = (opened(tmp_path, name) for name in ("a", "b", "c"))
    expected = session.enforce_json(request)
    moving.enforce_json(moved[1])
    decoded = orjson.loads(request)
    objects.enforce(decoded["messages"])

    def pipeline() -> bytes:
        request_again = orjson.loads(request)
        request_again["messages"] = objects.enforce(request_again["messages"])
        return orjson.dumps(request_again)

    def turn(bodies: list[bytes]) -> bytes:
        bodies.reverse()
        return bodies[0]

    works: dict[str, Callable[[], object]] = {
        "again": lambda: session.enforce_json(twin),
        "segments": lambda: session.enforce_json_segments(twin),
        "moved": lambda: moving.enforce_json(turn(moved)),
        "scan": lambda: _core.scan_json(request),
        "memchr": lambda: request.find(b"\x01"),
        "loads": lambda: orjson.loads(request),
        "pipeline": pipeline,
    }
    seconds = medians(works, ROUNDS if megabytes == 1 else 7)
    note_speed(f"{megabytes} MB, {shape}", len(request), seconds)
    assert orjson.loads(session.enforce_json(request)) == orjson.loads(expected)
    assert seconds["pipeline"] / seconds["again"] >= LEAST_RATIO


@pytest.mark.parametrize("megabytes", [1, 20])
@pytest.mark.parametrize("shape", ["10 x 4,000, kept", "10 x 400, kept"])
def test_one_more_turn(
    tmp_path: Path, note_speed: Callable[..., None], megabytes: int, shape: str
) -> None:
    """The main case of a running session: the body of the call before, and one turn more."""
    rounds = ROUNDS if megabytes == 1 else 7
    first, *grown = growing(megabytes * MEGABYTE, *SHAPES[shape], more=rounds)
    session = opened(tmp_path, "a")
    session.enforce_json(first)
    requests = iter(grown)
    works: dict[str, Callable[[], object]] = {
        "one more turn": lambda: session.enforce_json(next(requests)),
        "loads": lambda: orjson.loads(grown[rounds // 2]),
    }
    seconds = medians(works, rounds)
    note_speed(f"{megabytes} MB, {shape}, one more turn", len(grown[rounds // 2]), seconds)
    assert seconds["loads"] / seconds["one more turn"] >= LEAST_RATIO


def test_lines(tmp_path: Path, note_speed: Callable[..., None]) -> None:
    """J7: a transcript, against decoding it line by line."""
    transcript = lines(MEGABYTE)
    twin = copy_of(transcript)
    session = opened(tmp_path, "a")
    session.enforce_json(transcript)

    works: dict[str, Callable[[], object]] = {
        "again": lambda: session.enforce_json(twin),
        "scan": lambda: _core.scan_json(transcript),
        "loads": lambda: [orjson.loads(line) for line in transcript.splitlines()],
    }
    seconds = medians(works)
    note_speed("1 MB of records", len(transcript), seconds)
    assert seconds["loads"] / seconds["again"] >= LEAST_RATIO


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies(note_speed: Callable[..., None], name: str) -> None:
    """J6: no body is slow to read."""
    request = HOSTILE[name]
    works: dict[str, Callable[[], object]] = {
        "scan": lambda: _core.scan_json(request),
        "loads": lambda: orjson.loads(request),
    }
    seconds = medians(works)
    note_speed(name, len(request), seconds)
    assert len(request) / seconds["scan"] >= LEAST_BYTES_PER_S


@pytest.mark.parametrize("size_chars", [210_000])
def test_first_pass(tmp_path: Path, note_speed: Callable[..., None], size_chars: int) -> None:
    """A body that nothing is known of: every text is decoded and hashed; nothing is stored."""
    request = body(20 * MEGABYTE, 1, size_chars)
    limits = Limits(max_message_chars=float("inf"))
    sessions = [opened(tmp_path, str(number), limits=limits) for number in range(ROUNDS)]
    works: dict[str, Callable[[], object]] = {
        "first": lambda: sessions.pop().enforce_json(request),
        "loads": lambda: orjson.loads(request),
    }
    note_speed("20 MB, first pass, hashing", len(request), medians(works))
