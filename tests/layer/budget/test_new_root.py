from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import enforce, turn
from tests.faults.opening import open_session
from tests.layer.storage.faulty import FaultyFiles
from toolbudget import Limits
from toolbudget.storage._files import POSIX

LIMITS = Limits(max_message_chars=1_000, preview_bytes=40)


class Watched(FaultyFiles):
    """Notes which directories were synced, by path."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: set[str] = set()

    def sync_directory(self, handle: int) -> None:
        """Sync it, and note its path."""
        self.synced.add(str(Path(f"/proc/self/fd/{handle}").readlink()))
        POSIX.sync_directory(handle)


@pytest.fixture
def files() -> Watched:
    """Give a file system that notes what is synced."""
    return Watched()


def decide(root: Path, files: Watched) -> None:
    """Let a session replace a result, so that a reference is handed out."""
    with open_session(root, "session", files=files.files, limits=LIMITS) as session:
        sent = enforce(session, turn("Fetch", toolu_1="line\n" * 1_000))
        assert "persisted-output" in str(sent)


def test_every_folder_above_a_new_root_is_synced(tmp_path: Path, files: Watched) -> None:
    """A power cut takes no folder that had to be made, whoever of the library's parts made it."""
    decide(tmp_path / "one" / "two" / "root", files)
    above = {
        tmp_path,
        tmp_path / "one",
        tmp_path / "one" / "two",
        tmp_path / "one" / "two" / "root",
    }
    assert set(map(str, above)) <= files.synced


def test_a_folder_whose_maker_was_killed_is_synced(tmp_path: Path, files: Watched) -> None:
    """What a killed process has made above the root lasts once another one hands something out."""
    (tmp_path / "one").mkdir()
    decide(tmp_path / "one" / "root", files)
    assert {str(tmp_path), str(tmp_path / "one")} <= files.synced


def test_nothing_is_synced_at_the_level_process(tmp_path: Path, files: Watched) -> None:
    """Who does not ask for it does not wait for the disk."""
    root = tmp_path / "one" / "root"
    with open_session(
        root, "session", files=files.files, limits=LIMITS, durability="process"
    ) as session:
        session.enforce(turn("Fetch", toolu_1="line\n" * 1_000))
    assert not files.synced
