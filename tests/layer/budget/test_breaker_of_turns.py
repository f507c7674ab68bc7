"""Combinations of calls in which what one turn left behind spoiled the next one."""

from __future__ import annotations

import json
from collections import UserList
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, msg, res, turn
from toolbudget import (
    Limits,
    MemoryStore,
    Session,
    create_content_replacement_state,
    enforce_tool_result_budget,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolbudget import StoredResult, StoreError

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


class BusyStore(MemoryStore):
    """A store during whose work the host goes on with its list, once."""

    meanwhile: Callable[[], object] | None = None

    def put_many(self, items: Sequence[tuple[str, Any]]) -> list[StoredResult | StoreError]:
        """Store results, and let the host do something."""
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().put_many(items)


MEANWHILE: Final[dict[str, Callable[[list[Any]], object]]] = {
    "append": lambda messages: messages.append(msg(res("late", 3_000 * "y"))),
    "insert": lambda messages: messages.insert(0, {"role": "user", "content": "hi"}),
    "drop the newest": lambda messages: messages.pop(),
    "drop the oldest": lambda messages: messages.pop(0),
    "put another": lambda messages: messages.__setitem__(-1, answer()),
    "clear": lambda messages: messages.clear(),
}


@pytest.mark.parametrize("kind", [list, UserList])
@pytest.mark.parametrize("history", ["verified", "append_only"])
@pytest.mark.parametrize("name", MEANWHILE)
def test_a_list_that_changes_while_results_are_stored(
    tmp_path: Path, name: str, history: str, kind: Callable[[list[Any]], Any]
) -> None:
    """B9, B10: each replacement stands in its own block, and nothing undecided goes out."""
    store = BusyStore()
    session = opened(tmp_path, store=store, history=history)
    messages = kind([*turn("Fetch", t0=3_000 * "a"), *turn("Fetch", t1=3_000 * "b")])
    before = list(messages)
    expected = opened(tmp_path / "other", store=MemoryStore()).enforce(before)
    store.meanwhile = lambda: MEANWHILE[name](messages)
    assert session.enforce(messages) == expected
    assert session.enforce(before) == expected


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_list_that_changes_while_results_are_kept(tmp_path: Path, name: str) -> None:
    """B9: also if nothing is replaced, what was decided about is what goes out."""
    messages = turn("Fetch", t0="a", t1=3_000 * "b")
    before = list(messages)

    def redact(text: str) -> str:
        MEANWHILE[name](messages)
        raise ValueError(text[:1])

    session = opened(tmp_path, redact=redact)
    assert session.enforce(messages) == before


def test_the_functions_take_the_list_as_it_was(tmp_path: Path) -> None:
    """B9: a host with a state of its own gets the same."""
    store = BusyStore()
    messages = turn("Fetch", t0=3_000 * "a")
    expected = opened(tmp_path, store=MemoryStore()).enforce(messages)
    store.meanwhile = lambda: messages.insert(0, {"role": "user", "content": "hi"})
    state = create_content_replacement_state()
    done = enforce_tool_result_budget(messages, state, store=store, limit=1_000)
    assert done.messages == expected
