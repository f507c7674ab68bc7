"""A session whose lock cannot be held goes on, and says so once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.builders import is_reference, results_in, turn
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits(max_message_chars=1_000)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give what was logged that somebody should look at."""
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_it_goes_on_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, *, strict: bool
) -> None:
    """S10 goes by the age of its files then; no decision depends on that lock."""
    lock = tmp_path / "s" / "session.lock"
    lock.parent.mkdir()
    if kind == "folder":
        lock.mkdir()
    else:
        lock.symlink_to(tmp_path / "elsewhere")
    with Session.open(tmp_path, "s", limits=LIMITS, strict=strict, durability="process") as session:
        history = turn("Fetch", t1="x" * 5_000)
        for number in range(3):
            history = [*history, *turn("Fetch", **{f"u{number}": "y" * 5_000})]
            sent = session.enforce(history)
            assert all(is_reference(block["content"]) for block in results_in(sent))
            assert session.report.failures == ()
        session.fork("other").close()
    [warning] = warnings_of(caplog)
    assert warning.startswith("cannot hold session.lock of session s, so that a clean-up goes by")
    assert not (tmp_path / "elsewhere").exists()


def test_a_session_that_is_not_there_yet_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It has no folder before its first decision, and needs no lock."""
    Session.open(tmp_path, "new", durability="process").close()
    assert warnings_of(caplog) == []
