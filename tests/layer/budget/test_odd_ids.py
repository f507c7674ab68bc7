"""Ids that are legal but that hardly anybody expects: they are carried, or refused, never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import enforce, turn
from toolbudget import ConfigError, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUGE = 210_000 * "a"
# One character as Python can hold it, but no JSON can say it otherwise than as that character.
SPLIT = "\ud83d" + "\ude00"


@pytest.mark.parametrize("name", ["session_id", "agent_id"])
def test_an_id_that_no_record_could_name_is_refused(root: Path, name: str) -> None:
    """A conversation that would not find its records again is not begun."""
    ids = {"session_id": "session", "agent_id": "agent"} | {name: f"a{SPLIT}"}
    with pytest.raises(
        ConfigError, match=rf"{name} .argument. holds a character as two surrogates"
    ):
        Session.open(root, ids["session_id"], agent_id=ids["agent_id"])
    assert not root.exists()


def test_a_fork_with_such_an_id_is_refused(session: Session) -> None:
    """The parent is not touched by that."""
    sent = enforce(session, turn("Fetch", t1=HUGE))
    for begin in (session.fork, session.subagent):
        with pytest.raises(ConfigError, match="two surrogates"):
            begin(SPLIT)
    assert enforce(session, turn("Fetch", t1=HUGE)) == sent


@given(tool_use_id=st.text(st.characters(), max_size=4))
@example(tool_use_id=SPLIT)
@example(tool_use_id="\ud83d")
@example(tool_use_id="\ude00\ud83d")
@example(tool_use_id="\U0001f600")
@example(tool_use_id="\0\n\u2028")
def test_what_was_sent_under_any_id_is_sent_again(
    new_root: Callable[[], Path], tool_use_id: str
) -> None:
    """B8, D1: whatever the id, a reopened session sends the same bytes."""
    root = new_root()
    messages = turn("Fetch", **{tool_use_id: HUGE, "t2": HUGE})
    with Session.open(root, "session", durability="process") as session:
        sent = enforce(session, messages)
        assert bool(session.report.failures) is (SPLIT in tool_use_id)
    with Session.open(root, "session", durability="process") as session:
        assert enforce(session, messages) == sent
        assert session.report.replaced == 0
