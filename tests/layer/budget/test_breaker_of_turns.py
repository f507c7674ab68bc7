"""Combinations of calls in which what one turn left behind spoiled the next one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.builders import turn
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from pathlib import Path

LIMITS: Final = Limits(max_message_chars=1_000)


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session with a limit that one of our results exceeds."""
    options.setdefault("limits", LIMITS)
    return Session.open(root, "session", durability="process", **options)


def body_of(messages: list[Any]) -> bytes:
    """Write a request body."""
    return json.dumps({"messages": messages}).encode()


def test_released_views_are_not_handed_out_again(tmp_path: Path) -> None:
    """V2: a client that releases each piece once it is sent can send the same body again."""
    session = opened(tmp_path)
    body = body_of(turn("Fetch", t1=3_000 * "x"))
    sent = []
    for _ in range(3):
        pieces = session.enforce_json_segments(body)
        sent.append(b"".join(pieces))
        for piece in pieces:
            if isinstance(piece, memoryview):
                piece.release()
    assert sent == [session.enforce_json(body)] * 3
