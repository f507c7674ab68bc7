from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.builders import (
    check_reference,
    enforce,
    files_below,
    gate,
    res,
    stored_files,
    turn,
)
from toolbudget import DirectoryStore, Session
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolbudget.storage._files import FileSystem


LARGE = 60_000 * "a"
HUGE = 210_000 * "a"


def open_on(root: Path, files: object, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open a session whose results go through another file system; its records do not."""
    store = DirectoryStore(
        root / "session" / "tool-results",
        files=cast("FileSystem", files),
        anchor=root,
    )
    return Session.open(root, "session", store=store, durability="process", **options)


@pytest.fixture
def _any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes_below(folder: Path) -> set[tuple[bool, int]]:
    """Give (is a folder, permissions) of a folder and everything below it."""
    found = [path.lstat().st_mode for path in (folder, *folder.rglob("*"))]
    return {(stat.S_ISDIR(mode), stat.S_IMODE(mode)) for mode in found}


@pytest.mark.usefixtures("_any_umask")
@pytest.mark.parametrize("_any_umask", [0o022, 0, 0o777, 0o077, 0o177, 0o002], indirect=True)
@pytest.mark.parametrize("transcript", [None, "sidecar"])
def test_nobody_else_can_read(root: Path, transcript: Any) -> None:  # noqa: ANN401 - one of two words
    """FS 31: folders are 0700 and files 0600, results and records alike, under any umask."""
    with Session.open(root, "session", transcript=transcript) as session:
        messages = [*turn("Fetch", t1=HUGE, t2=220_000 * "b")]
        enforce(session, messages)
        gate(session, res("t3", [{"type": "text", "text": LARGE}, {"type": "text", "text": ""}]))
        assert session.transcript_path.exists()
        assert len(stored_files(session)) == 3
    assert modes_below(root) == {(True, 0o700), (False, 0o600)}


class WatchingFiles:
    """A file system that notes the permissions of all it makes at the moment that it exists."""

    def __init__(self, *, has_unnamed: bool) -> None:
        self.modes: set[tuple[str, int]] = set()
        self._has_unnamed = has_unnamed

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method of the protocol
        works = getattr(POSIX, name)
        if name == "create_unnamed" and not self._has_unnamed:
            return self._refuse
        if not name.startswith(("create_", "make_")):
            return works

        def watched(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
            made = works(*arguments, **options)
            if isinstance(made, int):
                self.modes.add((name, POSIX.status(made).mode))
            elif options:
                handle = POSIX.open_directory(*arguments, **options)
                self.modes.add((name, POSIX.status(handle).mode))
                POSIX.close(handle)
            return made

        return watched

    def _refuse(self, *, parent: int) -> int:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), str(parent))


@pytest.mark.usefixtures("_any_umask")
@pytest.mark.parametrize("_any_umask", [0, 0o022], indirect=True)
@pytest.mark.parametrize("has_unnamed", [True, False])
def test_nobody_could_ever_read(root: Path, *, has_unnamed: bool) -> None:
    """FS 31: permissions are right from the first moment, also where files need a name at once."""
    files = WatchingFiles(has_unnamed=has_unnamed)
    with open_on(root, files) as session:
        block = res("t1", LARGE)
        check_reference(block, gate(session, block), session.directory)
    makes_file = "create_unnamed" if has_unnamed else "create_exclusive"
    assert files.modes == {("make_directory", 0o700), (makes_file, 0o600)}


def test_a_file_system_without_unnamed_files(root: Path) -> None:
    """FS 31: there, too, the folder of results holds results only, and nothing is left aside."""
    with open_on(root, WatchingFiles(has_unnamed=False)) as session:
        enforce(session, turn("Fetch", t1=HUGE, t2=HUGE))
    assert files_below(root) == {
        "session/tool-results/t1.txt",
        "session/tool-results/t2.txt",
        "session.jsonl",
    }
