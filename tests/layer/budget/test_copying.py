"""What a host does with values for its logs: it copies, pickles and writes them as JSON."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import turn
from toolbudget import Event, Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def pickled(value: object) -> object:
    """Send a value to another process and back."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


COPIES = [copy.copy, copy.deepcopy, pickled]


def values(root: Path) -> list[Any]:
    """Give the report and the events of a call that replaced, kept and skipped."""
    events: list[Event] = []
    limits = Limits(max_message_chars=1_000)
    with Session.open(root, "a", limits=limits, on_event=events.append) as session:
        session.enforce(turn("Bash", t1="x" * 5_000, t2="x" * 50, t3=""))
        assert session.report.replaced == session.report.skipped == 1
        return [session.report, *events]


@pytest.mark.parametrize("copied", COPIES)
def test_reports_and_events_are_copied(tmp_path: Path, copied: Callable[[object], object]) -> None:
    """A copy of any kind is equal."""
    for value in values(tmp_path):
        assert copied(value) == value


def test_reports_and_events_are_written_as_json(tmp_path: Path) -> None:
    """What the standard library makes of a report is JSON, with the numbers by reason in it."""
    report, *events = values(tmp_path)
    written = json.loads(json.dumps(asdict(report)))
    assert written["skipped_by_reason"] == {"empty": 1}
    assert [json.loads(json.dumps(asdict(event)))["kind"] for event in events][-1] == "finished"


@pytest.mark.parametrize("copied", COPIES)
def test_a_session_is_not_copied(tmp_path: Path, copied: Callable[[object], object]) -> None:
    """It says what to do instead, and goes on."""
    with Session.open(tmp_path, "a") as session:
        with pytest.raises(TypeError, match=r"Session\.open\(\).*fork\(\)"):
            copied(session)
        assert session.enforce([]) == []
