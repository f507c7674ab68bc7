from __future__ import annotations

import contextlib
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.layer.storage.faulty import FaultyFiles, without_unnamed_files
from tests.layer.storage.store_samples import (
    BLOCKS,
    TEXT,
    TEXT_BYTES,
    files_in,
)
from toolbudget.errors import ConfigError, StoreError
from toolbudget.storage.store import (
    DirectoryStore,
    StoredResult,
    get_tool_result_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Unprivileged = Callable[[Callable[[], Any]], Any]
    SetUmask = Callable[[int], None]

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestPrivacy:
    """Nothing is readable by others, nothing is written elsewhere."""

    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
    @pytest.mark.parametrize("make", [FaultyFiles, without_unnamed_files])
    def test_files_and_folders_are_private(
        self,
        results: Path,
        umask: SetUmask,
        unprivileged: Unprivileged,
        mask: int,
        make: Callable[[], FaultyFiles],
    ) -> None:
        """Files are 0600 and folders 0700 under any umask."""
        umask(mask)
        unprivileged(lambda: DirectoryStore(results, files=make().files).put("t1", TEXT))
        umask(0o022)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in results.rglob("*")}
        assert modes == {"t1.txt": 0o600}
        for folder in (results, results.parent, results.parent.parent):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    @pytest.mark.parametrize("level", ["tool-results", "session"])
    def test_folder_that_is_a_link_is_refused(self, results: Path, level: str) -> None:
        """A folder planted as a symbolic link receives nothing."""
        elsewhere = results.parents[2] / "elsewhere"
        (elsewhere / "tool-results").mkdir(parents=True)
        planted = results if level == "tool-results" else results.parent
        planted.parent.mkdir(parents=True)
        planted.symlink_to(elsewhere)
        store = DirectoryStore(results, anchor=results.parents[1])
        with pytest.raises(StoreError, match="Not a directory"):
            store.put("t1", TEXT)
        assert files_in(elsewhere) == {}

    def test_links_above_the_anchor_are_the_users_own(self, results: Path) -> None:
        """A root that is reached through a link is used."""
        (results.parents[2] / "disk").mkdir()
        results.parents[1].symlink_to("disk")
        store = DirectoryStore(results, anchor=results.parents[1])
        assert store.put("t1", TEXT).path.read_bytes() == TEXT_BYTES

    def test_folder_swapped_under_way_receives_nothing(self, results: Path) -> None:
        """While the folder changes places with a link, no file lands behind the link."""
        evil = results.parents[2] / "evil"
        evil.mkdir()
        store = DirectoryStore(results, durability="process")
        is_done = threading.Event()

        def swap() -> None:
            number = 0
            while not is_done.is_set():
                number += 1
                with contextlib.suppress(OSError):
                    results.rename(results.with_name(f"swapped_{number}"))
                    results.symlink_to(evil)
                    results.unlink()

        attacker = threading.Thread(target=swap)
        attacker.start()
        try:
            outcomes = [
                outcome
                for number in range(100)
                for outcome in store.put_many([(f"{number}_{each}", TEXT) for each in range(5)])
            ]
        finally:
            is_done.set()
            attacker.join()
        assert list(evil.iterdir()) == []
        stored = [outcome for outcome in outcomes if isinstance(outcome, StoredResult)]
        assert list(files_in(results.parent).values()) == [TEXT_BYTES] * len(stored)


class TestPaths:
    """Paths are shown as they are, or not at all."""

    def test_expected_path_is_that_of_a_free_name(self, results: Path) -> None:
        """Lengths can be reckoned before anything is stored."""
        store = DirectoryStore(results)
        for content, is_json in ((TEXT, False), (BLOCKS, True)):
            expected = store.expected_shown_path("a/b", is_json=is_json)
            assert expected == str(get_tool_result_path(results, "a/b", is_json=is_json))
            assert store.put("a/b", content).shown_path == expected

    def test_display_path_maps_what_is_shown(self, results: Path) -> None:
        """A model in a container is shown the path by which it can read the file."""
        store = DirectoryStore(results, display_path=lambda path: f"/mnt/{path.name}")
        stored = store.put("t1", TEXT)
        assert stored.shown_path == "/mnt/t1.txt" == store.expected_shown_path("t1", is_json=False)
        assert stored.path == results / "t1.txt"

    def test_relative_folder_becomes_absolute(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The folder does not move with the process's working directory."""
        monkeypatch.chdir(tmp_path)
        store = DirectoryStore("a/../results")
        monkeypatch.chdir("/")
        assert store.put("t1", TEXT).path == tmp_path / "results" / "t1.txt"

    @pytest.mark.parametrize(
        "name",
        [
            *("a\nb", "a\rb", "a\u2028b", "a\x85", "a\x1c", "a\0b", "a\udce9"),
            *("<persisted-output>", "</PERSISTED-output"),
        ],
        ids=ascii,
    )
    def test_path_that_cannot_be_shown_is_refused(self, tmp_path: Path, name: str) -> None:
        """A path that would break the line or the frame is found at opening, not later."""
        with pytest.raises(ConfigError, match="directory"):
            DirectoryStore(tmp_path / name / "tool-results")
        with pytest.raises(ConfigError, match="display_path"):
            DirectoryStore(tmp_path, display_path=lambda path: f"/{name}/{path.name}")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("shown", [None, "", 42, b"/path"])
    def test_display_path_must_give_a_path(self, tmp_path: Path, shown: object) -> None:
        """What is no text is refused at opening."""
        with pytest.raises(ConfigError, match="display_path"):
            DirectoryStore(tmp_path, display_path=lambda _path: cast("str", shown))

    def test_display_path_that_fails_is_told(self, results: Path) -> None:
        """A host's own error is named at opening; later it fails only the result in question."""

        def show(path: Path) -> str:
            if "t2" in path.name:
                raise LookupError("no such mount")
            return str(path)

        store = DirectoryStore(results, display_path=show)
        first, second = store.put_many([("t1", TEXT), ("t2", TEXT)])
        assert isinstance(first, StoredResult)
        assert isinstance(second, StoreError)
        assert "no such mount" in str(second)
        with pytest.raises(ConfigError, match="no such mount"):
            store.expected_shown_path("t2", is_json=False)

    def test_anchor_must_be_above(self, tmp_path: Path) -> None:
        """An anchor that does not lead to the folder would guard nothing."""
        for directory, anchor in (
            (tmp_path / "a", tmp_path / "b"),
            (tmp_path, tmp_path),
            (tmp_path / "a" / ".." / "b", tmp_path / "a"),
            (Path("/"), None),
        ):
            with pytest.raises(ConfigError, match="anchor"):
                DirectoryStore(directory, anchor=anchor)

    def test_unknown_durability_is_refused(self, tmp_path: Path) -> None:
        """A misspelt level is not taken for another one."""
        with pytest.raises(ConfigError, match=r"durability.*'fast'"):
            DirectoryStore(tmp_path, durability="fast")  # type: ignore[arg-type]

    def test_store_says_what_it_is(self, results: Path) -> None:
        """Logs show where a store writes to."""
        assert repr(DirectoryStore(results)) == (
            f"DirectoryStore({str(results)!r}, durability='full')"
        )

    def test_result_of_a_hosts_store_shows_its_path(self, tmp_path: Path) -> None:
        """A store of the host's own need not tell the path twice."""
        assert StoredResult(tmp_path, 1, "").shown_path == str(tmp_path)
