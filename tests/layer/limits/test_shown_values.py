"""Values in messages: short, on one line, the same on every version of Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from toolbudget import ConfigError, DirectoryStore, InvalidMessageError, Session, collect
from toolbudget._display import shown
from toolbudget.messages.plain import content_blocks
from toolbudget.pipeline import Pipeline
from toolbudget.storage.result import store_error
from toolbudget.tokens import rough_token_count_for_chars

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 10**5_000


class Named:
    """An object whose text is what it was made with."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Broken:
    """An object without a text."""

    def __repr__(self) -> str:
        raise OSError


class Count(int):
    """A number of a host's own kind."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(10**100, "1000000000000...00000000000000", id="long-number"),
        pytest.param(HUGE, "<int>", id="number"),
        pytest.param(-HUGE, "<int>", id="negative"),
        pytest.param(Count(HUGE), "<Count>", id="own-number"),
        pytest.param([HUGE, 1], "[<int>, 1]", id="in-a-list"),
        pytest.param({"a": {"b": (HUGE,)}}, "{'a': {'b': (<int>,)}}", id="nested"),
        pytest.param(Broken(), "<Broken>", id="broken"),
        pytest.param([Broken()], "<list>", id="broken-in-a-list"),
        pytest.param(Named("x" * 31), "x" * 27 + "...", id="object"),
        pytest.param(Named("a\nb\x1b[0m"), "a\\nb\\x1b[0m", id="control-characters"),
    ],
)
def test_what_is_shown(value: object, expected: str) -> None:
    """What has no text has its kind for one; no address, which would be another each time."""
    assert shown(value, 30) == expected


def test_every_layer_shows_a_number_without_text_alike() -> None:
    """It does not matter which layer refuses a value."""
    with pytest.raises(InvalidMessageError, match=r": \{'text': <int>\}$"):
        content_blocks({"text": HUGE}, "the user message")
    with pytest.raises(ConfigError, match=r": \[<int>\]$"):
        rough_token_count_for_chars(4, [HUGE])  # type: ignore[arg-type]
    error = store_error(ValueError("full"), HUGE, Path("/s"))  # type: ignore[arg-type]
    assert str(error) == "cannot store result <int> in '/s': full"


ODD = (HUGE, Named("x\n" * 1_000_000), Broken(), ["x" * 1_000_000] * 1_000)


CALLS: Final[dict[str, Callable[[Any], object]]] = {
    "root": lambda value: Session.open(value, "session"),
    "session_id": lambda value: Session.open(".", value),
    "agent_id": lambda value: Session.open(".", "session", agent_id=value),
    "limits": lambda value: Session.open(".", "session", limits=value),
    "store": lambda value: Session.open(".", "session", store=value),
    "redact": lambda value: Session.open(".", "session", redact=value),
    "parent": lambda value: Session.open(".", "session", parent=value, agent_id="a"),
    "durability": lambda value: Session.open(".", "session", durability=value),
    "history": lambda value: Session.open(".", "session", history=value),
    "directory": DirectoryStore,
    "state": lambda value: collect([], state=value),
    "stages": lambda value: Pipeline(value, session=None),
    "stage": lambda value: Pipeline([value], session=None),
}


@pytest.mark.parametrize("value", ODD, ids=["number", "long", "broken", "large"])
@pytest.mark.parametrize("argument", CALLS)
def test_no_argument_spoils_the_error_about_it(
    argument: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error names what is wrong; none of a value's own is raised, and none floods a log."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ConfigError, TypeError)) as caught:
        CALLS[argument](value)
    assert len(str(caught.value)) < 5_000
    assert str(caught.value).isprintable()
    assert list(tmp_path.iterdir()) == []
