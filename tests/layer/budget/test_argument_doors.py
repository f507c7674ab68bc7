"""The plain functions refuse what they could not work with, by name and value, before anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import toolbudget
from tests.builders import turn
from toolbudget import (
    ConfigError,
    DirectoryStore,
    MemoryStore,
    Transcript,
    TranscriptError,
    create_content_replacement_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BLOCK = {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 300_000}


def enforce(**options: object) -> object:
    """Enforce by hand; the options go before what is given by itself."""
    usual: dict[str, Any] = {
        "state": create_content_replacement_state(),
        "store": MemoryStore(),
    }
    given = {**usual, **options}
    state = given.pop("state")
    return toolbudget.enforce_tool_result_budget(turn("Fetch", t1=BLOCK["content"]), state, **given)


def apply(**options: object) -> object:
    """Apply by hand, in the same way."""
    usual: dict[str, Any] = {"state": create_content_replacement_state(), "store": MemoryStore()}
    given = {**usual, **options}
    state = given.pop("state")
    return toolbudget.apply_tool_result_budget(turn("Fetch", t1=BLOCK["content"]), state, **given)


def gate(**options: object) -> object:
    """Gate by hand."""
    given: dict[str, Any] = {"tool_name": "Fetch", "limit": 100, "store": MemoryStore(), **options}
    return toolbudget.maybe_persist_large_tool_result(BLOCK, **given)


def candidates(**options: Any) -> object:  # noqa: ANN401 - passed on
    """List candidates."""
    return toolbudget.collect_candidates_by_message(turn("Fetch", t1="x"), **options)


def columns(**options: Any) -> object:  # noqa: ANN401 - passed on
    """List candidates as columns."""
    return toolbudget.collect(turn("Fetch", t1="x"), **options)


def replacement(**options: Any) -> object:  # noqa: ANN401 - passed on
    """Build a replacement."""
    return toolbudget.build_replacement("x" * 9_000, **options)


def result_path(**options: Any) -> object:  # noqa: ANN401 - passed on
    """Name a file."""
    return toolbudget.get_tool_result_path("/data", **options)


def selection(**options: Any) -> object:  # noqa: ANN401 - passed on
    """Choose by the plain rule."""
    given: dict[str, Any] = {"frozen_size": 5, "limit": 20, **options}
    return toolbudget.select_fresh_to_replace([toolbudget.Candidate("a", "", 30)], **given)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (enforce, {"store": None}),
        (enforce, {"store": "results"}),
        (enforce, {"state": {}}),
        (enforce, {"exempt_tools": "Read"}),
        (enforce, {"exempt_tools": None}),
        (apply, {"store": None}),
        (apply, {"state": {}}),
        (apply, {"exempt_tools": b"Read"}),
        (gate, {"store": None}),
        (candidates, {"exempt_tools": "Read, Fetch"}),
        (candidates, {"exempt_tools": None}),
        (columns, {"exempt_tools": None}),
        (replacement, {"path": None}),
        (replacement, {"path": "/data/a\nb.txt"}),
        (replacement, {"path": "/data/</persisted-output>.txt"}),
        (result_path, {"tool_use_id": None}),
        (result_path, {"tool_use_id": 5}),
        (selection, {"limit": math.nan}),
        (selection, {"limit": 0}),
        (selection, {"limit": "20"}),
        (selection, {"limit": None}),
        (selection, {"frozen_size": math.nan}),
        (selection, {"frozen_size": -1}),
    ],
)
def test_an_odd_argument_is_named(
    function: Callable[..., object], options: Mapping[str, object]
) -> None:
    """Without a store each result counted as failed and was kept; "Read" exempted a tool "ea"."""
    ((name, value),) = options.items()
    with pytest.raises(ConfigError) as caught:
        function(**options)
    assert str(caught.value).startswith(name)
    assert str(caught.value).endswith(repr(value))


def open_session(place: Any) -> object:  # noqa: ANN401 - passed on
    """Open a session below a root."""
    return toolbudget.Session.open(place, "session")


def path_in(place: Any) -> object:  # noqa: ANN401 - passed on
    """Name a file of a folder."""
    return toolbudget.get_tool_result_path(place, "t1")


PLACES = [
    (open_session, "root"),
    (DirectoryStore, "directory"),
    (path_in, "directory"),
    (Transcript, "path"),
]


@pytest.mark.parametrize(("function", "name"), PLACES)
@pytest.mark.parametrize("place", [None, 5, "", b"results"])
def test_a_place_that_is_none_is_named(
    function: Callable[[Any], object],
    name: str,
    place: Any,  # noqa: ANN401
) -> None:
    """A number was "expected str, bytes or os.PathLike object", whoever had expected it."""
    with pytest.raises(ConfigError, match=rf"^{name} .argument. must name a .*: {place!r}$"):
        function(place)


@pytest.mark.parametrize(("function", "name"), PLACES)
def test_a_relative_place_needs_a_working_directory(
    function: Callable[[Any], object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that has been removed, "No such file or directory" said nothing about which."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match=rf"^{name} .argument. is relative.*: 'results'$"):
        function("results")
    assert function(tmp_path / "results") is not None


def test_a_path_may_be_an_object(tmp_path: Path) -> None:
    """As everywhere, what stands for a path is one."""
    path: Any = tmp_path / "t1.txt"
    assert f": {path}\n" in toolbudget.build_replacement("x" * 9_000, path)


@pytest.mark.parametrize("record", [None, 5, "user", [("type", "user")]])
def test_a_record_that_is_none_is_refused(tmp_path: Path, record: Any) -> None:  # noqa: ANN401
    """Nothing is created for it."""
    path = tmp_path / "session.jsonl"
    with pytest.raises(TranscriptError, match="record must be a mapping"):
        Transcript(path).append(record)
    assert not path.exists()
