from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.storage.faulty import CaseBlindFiles, FaultyFiles
from tests.layer.storage.store_samples import (
    BLOCKS,
    TEXT,
    TEXT_BYTES,
    digest_of,
    files_in,
    second_name,
)
from toolbudget.errors import StoreError
from toolbudget.storage.names import collision_name
from toolbudget.storage.store import (
    DirectoryStore,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.storage.store import Content

    Unprivileged = Callable[[Callable[[], Any]], Any]

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestSameName:
    """What has a name already is compared, never trusted and never overwritten."""

    def test_same_bytes_are_success_and_nothing_is_written(self, results: Path) -> None:
        """A replayed turn finds its files and writes nothing."""
        first = DirectoryStore(results).put("t1", TEXT)
        before = first.path.stat()
        faulty = FaultyFiles()
        again = DirectoryStore(results, files=faulty.files).put("t1", TEXT)
        assert again.is_new is False
        assert again.path == first.path
        assert first.path.stat() == before
        assert {"write", "link_unnamed", "create_unnamed"}.isdisjoint(faulty.calls)

    def test_other_bytes_get_another_name(self, results: Path) -> None:
        """A reused id never takes over the file of the first result."""
        store = DirectoryStore(results)
        store.put("call_0", "first")
        second = store.put("call_0", "second")
        third = store.put("call_0", "third")
        assert second.path.name == second_name("call_0", b"second")
        assert third.path.name == second_name("call_0", b"third")
        assert store.put("call_0", "second").is_new is False
        assert files_in(results) == {
            "call_0.txt": b"first",
            second.path.name: b"second",
            third.path.name: b"third",
        }

    @pytest.mark.parametrize("content", [TEXT, BLOCKS], ids=["text", "blocks"])
    @pytest.mark.parametrize("changed", ["shorter", "longer", "same size", "empty"])
    def test_any_difference_is_seen(self, results: Path, changed: str, content: Content) -> None:
        """A cut, padded or altered file is not taken for the result."""
        store = DirectoryStore(results)
        path = store.put("t1", content).path
        data = path.read_bytes()
        altered = {
            "shorter": data[:-1],
            "longer": data + b"\n",
            "same size": data[:-1] + b"?",
            "empty": b"",
        }[changed]
        path.write_bytes(altered)
        again = store.put("t1", content)
        assert again.path != path
        assert again.path.read_bytes() == data
        assert path.read_bytes() == altered

    def test_long_texts_that_differ_at_the_end_are_told_apart(self, results: Path) -> None:
        """The comparison goes on beyond the first chunk."""
        store = DirectoryStore(results, durability="process")
        store.put("t1", "a" * (2 << 20) + "b")
        assert store.put("t1", "a" * (2 << 20) + "c").is_new
        assert not store.put("t1", "a" * (2 << 20) + "b").is_new

    @pytest.mark.parametrize(
        "planted",
        [
            *("link to file", "dangling link", "link to directory", "fifo"),
            *("directory", "hard link", "socket", "device", "closed file"),
        ],
    )
    def test_planted_objects_are_passed_by(
        self, results: Path, unprivileged: Unprivileged, planted: str
    ) -> None:
        """Whatever stands under the name, it stays as it is and the result gets another name."""
        results.mkdir(parents=True)
        victim = results.parent / "victim"
        victim.write_bytes(b"victim")
        plant(planted, results / "t1.txt", victim)
        stored = unprivileged(lambda: DirectoryStore(results).put("t1", TEXT))
        assert stored.path.name == second_name("t1", TEXT_BYTES)
        assert stored.path.read_bytes() == TEXT_BYTES
        assert victim.read_bytes() == b"victim"
        assert sorted(path.name for path in results.parent.iterdir()) == ["tool-results", "victim"]
        assert len(list(results.iterdir())) == 2

    @pytest.mark.parametrize("planted", ["fifo", "device", "dangling link"])
    def test_what_reads_as_empty_is_no_empty_file(self, results: Path, planted: str) -> None:
        """Only a regular file counts, also if reading something else gives the same bytes."""
        results.mkdir(parents=True)
        plant(planted, results / "t1.txt", results.parent / "victim")
        stored = DirectoryStore(results).put("t1", "")
        assert stored.path.name == second_name("t1", b"")
        assert stored.path.is_file()

    def test_hard_link_with_the_same_bytes_is_success(self, results: Path) -> None:
        """A file with exactly these bytes will do, however many names it has."""
        results.mkdir(parents=True)
        (results.parent / "other").write_bytes(TEXT_BYTES)
        (results / "t1.txt").hardlink_to(results.parent / "other")
        assert DirectoryStore(results).put("t1", TEXT).is_new is False

    def test_names_run_out_at_last(self, results: Path) -> None:
        """If every name for it holds something else, that is told and nothing is overwritten."""
        results.mkdir(parents=True)
        stem = collision_name("t1", digest_of(b"text"))
        names = ["t1.txt", f"{stem}.txt", *(f"{stem}-{number}.txt" for number in range(2, 20))]
        for name in names:
            (results / name).write_bytes(b"taken")
        with pytest.raises(StoreError, match="something else") as caught:
            DirectoryStore(results).put("t1", "text")
        assert caught.value.errno == errno.EEXIST
        assert files_in(results) == dict.fromkeys(names, b"taken")

    def test_file_system_blind_to_case_gives_twins_two_names(self, results: Path) -> None:
        """Ids that differ only in case share a name there, but never a file."""
        files = CaseBlindFiles().files
        store = DirectoryStore(results, files=files)
        store.put("toolu_A", "first")
        second = store.put("TOOLU_a", "second")
        same = store.put("Toolu_A", "first")
        assert second.path.name == second_name("TOOLU_a", b"second")
        assert not same.is_new
        assert sorted(files_in(results).values()) == [b"first", b"second"]

    def test_name_taken_meanwhile_is_looked_at(self, results: Path) -> None:
        """A file that appears between the look and the link is compared as well."""
        for text_of_other, expected_name, is_new in (
            ("mine", "t1.txt", False),
            ("other", second_name("t1", b"mine"), True),
        ):
            directory = results / text_of_other
            faulty = FaultyFiles()
            other = directory / "t1.txt"
            faulty.before("link_unnamed", lambda: other.write_text(text_of_other))  # noqa: B023
            stored = DirectoryStore(directory, files=faulty.files).put("t1", "mine")
            assert (stored.path.name, stored.is_new) == (expected_name, is_new)
            assert other.read_text() == text_of_other

    def test_names_may_run_out_meanwhile(self, results: Path) -> None:
        """Names that are taken between the look and the link are no way out either."""
        faulty = FaultyFiles()
        stem = collision_name("t1", digest_of(b"text"))
        names = ["t1.txt", f"{stem}.txt", *(f"{stem}-{number}.txt" for number in range(2, 20))]

        def take_all() -> None:
            for name in names:
                (results / name).write_bytes(b"taken")

        faulty.before("link_unnamed", take_all)
        with pytest.raises(StoreError, match="something else"):
            DirectoryStore(results, files=faulty.files).put("t1", "text")
        assert files_in(results) == dict.fromkeys(names, b"taken")

    def test_name_that_comes_and_goes_does_not_hold_up(self, results: Path) -> None:
        """A name that is taken and missing by turns ends in an error."""
        faulty = FaultyFiles()
        faulty.fail_method("link_unnamed", errno.EEXIST)
        with pytest.raises(StoreError, match="vanishing"):
            DirectoryStore(results, files=faulty.files).put("t1", TEXT)


def plant(kind: str, path: Path, victim: Path) -> None:
    """Put something other than a regular file of ours under a name."""
    match kind:
        case "link to file":
            path.symlink_to(victim)
        case "dangling link":
            path.symlink_to(victim.parent / "made")
        case "link to directory":
            path.symlink_to(victim.parent)
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "hard link":
            path.hardlink_to(victim)
        case "socket":
            os.mknod(path, 0o600 | stat.S_IFSOCK)
        case "device":
            if os.geteuid() != 0:
                pytest.skip("only root can make a device")
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        case _:
            path.write_bytes(TEXT_BYTES)
            path.chmod(0)
