"""Results that were stored before anybody held them as a text: what is decided about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import enforce, msg, res
from toolbudget import ConfigError, Fingerprint, Session

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage.result import StoredResult

TEXT = "x" * 250_000
SHOWN = "The output is in t1.txt."


def store(session: Session) -> StoredResult:
    """Store a text in two pieces."""
    with session.open_stream("t1") as stream:
        stream.write(TEXT[:7].encode())
        stream.write(TEXT[7:].encode())
        return stream.commit()


def test_a_second_adoption_and_the_budget_follow_the_first(session: Session, root: Path) -> None:
    """The text itself, if the host goes on with it, gets what was recorded, after a restart too."""
    stored = store(session)
    fingerprint = Fingerprint(len(TEXT), stored.digest)
    for replacement in (SHOWN, "another"):
        held = session.adopt_stored("t1", stored, fingerprint=fingerprint, replacement=replacement)
        assert held == SHOWN
    session.close()
    with Session.open(root, "session", durability="process") as resumed:
        [sent] = enforce(resumed, [msg(res("t1", TEXT))])
    assert sent["content"][0]["content"] == SHOWN


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tool_use_id", 5),
        ("stored", None),
        ("stored", "t1.txt"),
        ("fingerprint", None),
        ("fingerprint", (250_000,)),
        ("fingerprint", Fingerprint(-1, "0" * 32)),
        ("fingerprint", Fingerprint(250_000, "zz")),
        ("replacement", None),
        ("replacement", ""),
        ("replacement", "cut \ud83d"),
        ("replacement", "a\0b"),
    ],
)
def test_what_could_not_be_read_back_or_sent_is_refused(
    session: Session,
    name: str,
    value: Any,  # noqa: ANN401
) -> None:
    """Without a replacement the result was kept for good, and the error came afterwards."""
    stored = store(session)
    usual: dict[str, Any] = {
        "tool_use_id": "t1",
        "stored": stored,
        "fingerprint": Fingerprint(len(TEXT), stored.digest),
        "replacement": SHOWN,
    }
    with pytest.raises(ConfigError) as caught:
        session.adopt_stored(**{**usual, name: value})
    assert str(caught.value).startswith(f"{name} (argument) must be ")
    assert str(caught.value).endswith(repr(value))
    assert not session.state.decisions
    assert not session.transcript_path.exists()
    assert session.adopt_stored(**usual) == SHOWN
    assert session.result_path("t1") == stored.path
