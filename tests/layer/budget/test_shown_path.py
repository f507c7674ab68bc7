from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import toolbudget
from tests.builders import (
    enforce,
    gate,
    msg,
    read_reference,
    res,
    stored_files,
)
from toolbudget import (
    ConfigError,
    MemoryStore,
    Session,
)

if TYPE_CHECKING:
    from pathlib import Path


HUGE = 210_000 * "a"


def test_the_root_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S7: the shown path is absolute, and does not move with the working directory."""
    monkeypatch.chdir(tmp_path)
    with Session.open("a/../root", "session", durability="process") as session:
        monkeypatch.chdir(os.sep)
        small = gate(session, res("t1", HUGE))
    assert read_reference(small["content"]).path == tmp_path / "root/session/tool-results/t1.txt"


@pytest.mark.parametrize(
    "name", ["a\nb", "a\rb", "a\u2028b", "a\x85b", "a\ud800b", "<persisted-output>"]
)
def test_a_root_that_cannot_be_shown_is_refused(tmp_path: Path, name: str) -> None:
    """S7: a path that would break the line of the reference, or the request, is refused early."""
    with pytest.raises(ConfigError):
        Session.open(tmp_path / name, "session")
    assert list(tmp_path.iterdir()) == []


def test_the_shown_path_may_be_mapped(root: Path) -> None:
    """S7: a model in a container is shown its own path; the file is where it was."""
    with Session.open(
        root, "session", durability="process", display_path=lambda path: f"/results/{path.name}"
    ) as session:
        small = gate(session, res("t1", HUGE))
        assert str(read_reference(small["content"]).path) == "/results/t1.txt"
        [sent] = enforce(session, [msg(res("t2", HUGE))])
        shown = read_reference(sent["content"][0]["content"]).path
        assert str(shown) == "/results/t2.txt"
        assert stored_files(session) == {"t1.txt": HUGE.encode(), "t2.txt": HUGE.encode()}
        assert session.result_path("t1") == session.directory / "tool-results" / "t1.txt"


@pytest.mark.parametrize(
    "shown", ["a\nb", "a\x0bb", "\ud800", "</persisted-output>", "<PERSISTED-OUTPUT", None, 7]
)
def test_a_shown_path_that_cannot_be_shown_is_refused(root: Path, shown: Any) -> None:  # noqa: ANN401 - bad on purpose
    """S7: the same holds for what a mapping gives, before anything is stored."""
    with pytest.raises(ConfigError):
        Session.open(root, "session", display_path=lambda _: shown)


def test_a_mapping_that_raises_is_refused(root: Path) -> None:
    """S7: a mapping that does not work is found at opening."""

    def broken(path: Path) -> str:
        raise LookupError(path.name)

    with pytest.raises(ConfigError, match="display_path"):
        Session.open(root, "session", display_path=broken)


def test_a_mapping_that_breaks_later_loses_nothing(root: Path) -> None:
    """F2: if the mapping fails for a result, that result stays in full."""
    broken: list[int] = []

    def shown(path: Path) -> str:
        if broken:
            raise LookupError(path.name)
        return str(path)

    with Session.open(root, "session", durability="process", display_path=shown) as session:
        broken.append(1)
        block = res("t1", HUGE)
        messages = [msg(block)]
        assert gate(session, block) is block
        assert session.enforce(messages) is messages
        assert [failure.stage for failure in session.report.failures] == ["store"]


def test_the_path_of_a_result_is_the_stores(root: Path) -> None:
    """S7: ``result_path`` names no file that the store has not got."""

    class Shelf:
        def put(self, tool_use_id: str, content: Any) -> toolbudget.StoredResult:  # noqa: ANN401 - any content
            return MemoryStore().put(tool_use_id, content)

    with Session.open(root, "session", store=MemoryStore(), durability="process") as session:
        small = gate(session, res("t1", HUGE))
        assert session.result_path("t1") == read_reference(small["content"]).path
    with Session.open(root, "session", store=Shelf(), durability="process") as session:
        assert session.result_path("t1") is None
