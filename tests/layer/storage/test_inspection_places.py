from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import res
from tests.layer.storage.inspected import store
from toolbudget import Session
from toolbudget.errors import ConfigError
from toolbudget.storage.inspection import SessionPlace, find_sessions, inspect_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestFindingSessions:
    """A path stands for one session, or for all below it."""

    @pytest.mark.parametrize(
        "name",
        [
            "s1",
            "s1.jsonl",
            "s1/tool-results",
            "s1/tool-results/a.txt",
            "s1/content-replacements.jsonl",
            "s1/subagents/agent-x.jsonl",
        ],
    )
    def test_one_session(self, tmp_path: Path, name: str) -> None:
        """Its folder, its transcript and whatever is in its places mean that session."""
        directory = store(tmp_path, "a").parent
        (directory / "content-replacements.jsonl").touch()
        (directory / "subagents").mkdir()
        (directory / "subagents" / "agent-x.jsonl").touch()
        assert find_sessions(tmp_path / name) == (tmp_path, [SessionPlace(tmp_path, "s1")])

    def test_a_session_with_records_only(self, tmp_path: Path) -> None:
        """A session without a folder is found by its transcript; one without that by its folder."""
        (tmp_path / "s1.jsonl").touch()
        store(tmp_path, "a", session_id="s2")
        (tmp_path / "s2.jsonl").unlink()
        assert find_sessions(tmp_path / "s1")[1] == [SessionPlace(tmp_path, "s1")]
        assert find_sessions(tmp_path / "s2")[1] == [SessionPlace(tmp_path, "s2")]

    def test_a_root(self, tmp_path: Path) -> None:
        """All sessions below a root are found, in order; other names are passed over."""
        store(tmp_path, "a", session_id="s2")
        store(tmp_path, "a", session_id="s1")
        (tmp_path / "folder").mkdir()
        (tmp_path / "not a session.jsonl").touch()
        (tmp_path / "readme.md").touch()
        root, places = find_sessions(tmp_path)
        assert (root, [place.name for place in places]) == (tmp_path, ["s1", "s2"])

    @pytest.mark.parametrize("session_id", ["../evil", "\u00fcn\u00ef", "", "CON", 200 * "x"])
    def test_a_session_whose_id_is_no_file_name(self, tmp_path: Path, session_id: str) -> None:
        """The name that such an id gets is found below a root, and by each of its paths."""
        with Session.open(tmp_path, session_id, durability="process") as session:
            session.gate(res("t1", 60_000 * "x"), tool_name="Fetch")
            with session.subagent("x y/z") as agent:
                agent.gate(res("t2", 60_000 * "y"), tool_name="Fetch")
        place = SessionPlace(tmp_path, session.directory.name)
        for path in (tmp_path, session.directory, session.transcript_path, agent.transcript_path):
            assert find_sessions(path) == (tmp_path, [place])
        report = inspect_session(place)
        # The sub-agent's transcript begins with the decision that it inherits.
        assert (report.replacements, report.checked_files, report.findings) == (3, 2, ())

    def test_a_root_behind_a_link(self, tmp_path: Path) -> None:
        """Links above the sessions are the user's own business."""
        store(tmp_path / "real", "a")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert [place.name for place in find_sessions(tmp_path / "link")[1]] == ["s1"]

    @pytest.mark.parametrize(
        "name", ["missing", "missing.jsonl", "file", "file/below", "a b.jsonl"]
    )
    def test_neither(self, tmp_path: Path, name: str) -> None:
        """Anything else is wrong usage, and the message ends with it."""
        (tmp_path / "file").touch()
        (tmp_path / "a b.jsonl").touch()
        with pytest.raises(ConfigError, match=f"{name}'$"):
            find_sessions(tmp_path / name)

    def test_the_outermost_folder(self) -> None:
        """The root of the file system is a folder like any other."""
        assert find_sessions("/")[0].name == ""


def test_an_empty_path_is_no_folder() -> None:
    """An unset variable in a script does not mean the working directory."""
    with pytest.raises(ConfigError, match="path names no folder: ''"):
        find_sessions("")
