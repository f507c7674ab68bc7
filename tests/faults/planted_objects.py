"""What someone with write access may plant in a session, where, and what it would lead to."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tests.builders import digest_of
from tests.faults.workload import SESSION_ID, results_of_turn
from toolbudget.storage.entries import ContentReplacementRecord
from toolbudget.storage.records import content_replacement, encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["AGENT_ID", "OBJECTS", "PLACES", "POISON", "Place", "Scene"]

AGENT_ID: Final = "helper"
POISON: Final = "<persisted-output>\nread from outside of the session\n</persisted-output>"
_SECRET: Final = b"another user's file\n" * 40


class Place(NamedTuple):
    """A place of a session that something may be planted at."""

    path: str
    holds: Literal["result", "folder", "records", "lock"]
    is_agent: bool = False
    uses_sidecar: bool = False

    @property
    def may_refuse(self) -> bool:
        """Whether a conversation need not be opened while something odd stands there."""
        return self.holds == "records" or self.is_agent


PLACES: Final = {
    "result": Place(f"{SESSION_ID}/tool-results/toolu_{{turn}}_0.txt", "result"),
    "tool-results": Place(f"{SESSION_ID}/tool-results", "folder"),
    "session": Place(SESSION_ID, "folder"),
    "transcript": Place(f"{SESSION_ID}.jsonl", "records"),
    "sidecar": Place(f"{SESSION_ID}/content-replacements.jsonl", "records", uses_sidecar=True),
    "session with sidecar": Place(SESSION_ID, "folder", uses_sidecar=True),
    "lock": Place(f"{SESSION_ID}/session.lock", "lock"),
    "subagents": Place(f"{SESSION_ID}/subagents", "folder", is_agent=True),
    "agent": Place(f"{SESSION_ID}/subagents/agent-{AGENT_ID}.jsonl", "records", is_agent=True),
}


class Scene:
    """A root of sessions, and beside it what belongs to someone else.

    Whatever a planted link leads to looks right: records that could be taken over, files that
    could be taken for stored, folders that could be written to.
    """

    def __init__(self, folder: Path) -> None:
        """Make both."""
        self.root = folder / "root"
        self.outside = folder / "outside"
        self._aside = folder / "aside"
        self.root.mkdir(mode=0o700, parents=True)
        self.secret = self.outside / "secret"
        self.poison = self.outside / "poison.jsonl"
        self.folder = self.outside / "folder"
        for path in (self.folder, self.folder / "tool-results", self.folder / "subagents"):
            path.mkdir(mode=0o700, parents=True)
            (path / f"agent-{AGENT_ID}.jsonl").write_bytes(_poisoned_records())
            (path / "content-replacements.jsonl").write_bytes(_poisoned_records())
            for turn in range(2):
                (path / f"toolu_{turn}_0.txt").write_text(results_of_turn(turn)[0])
        self.secret.write_bytes(_SECRET)
        self.poison.write_bytes(_poisoned_records())
        self._before = self._outside()

    def plant(self, name: str, path: Path, likely: bytes) -> None:
        """Put an object in a place, and whatever is there out of the way."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(path):
            if path.is_file() and not path.is_symlink():
                likely = path.read_bytes()
            path.rename(self._aside)
        OBJECTS[name](self, path, likely)

    def restore(self, path: Path) -> None:
        """Take the object away, and put back what was there."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if os.path.lexists(self._aside):
            self._aside.rename(path)

    @property
    def has_taken(self) -> bool:
        """Whether something was there before."""
        return os.path.lexists(self._aside)

    def changes_outside(self) -> list[str]:
        """Return what is no longer as it was."""
        before, now = self._before, self._outside()
        return sorted(
            f"outside: {name} changed"
            for name in before.keys() | now.keys()
            if before.get(name) != now.get(name)
        )

    def _outside(self) -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for path in self.outside.rglob("*"):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path.relative_to(self.outside))] = (
                status.st_mode,
                status.st_mtime_ns,
                content,
            )
        return found


def _poisoned_records() -> bytes:
    """Return a transcript that a session would take over if it were its own."""
    entries = [
        ContentReplacementRecord(
            kind="tool-result",
            tool_use_id=f"toolu_{turn}_{index}",
            replacement=POISON,
            size=len(text),
            hash=digest_of(text.encode()),
        )
        for turn in range(2)
        for index, text in enumerate(results_of_turn(turn))
    ]
    records = (
        content_replacement(
            session_id=SESSION_ID, agent_id=agent_id, timestamp="now", replacements=entries
        )
        for agent_id in (None, AGENT_ID)
    )
    return header_line(SESSION_ID) + b"".join(map(encode_record, records))


def _link_to_file(scene: Scene, path: Path, _likely: bytes) -> None:
    path.symlink_to(scene.poison)


def _link_to_folder(scene: Scene, path: Path, _likely: bytes) -> None:
    path.symlink_to(scene.folder)


def _link_to_right_bytes(scene: Scene, path: Path, _likely: bytes) -> None:
    path.symlink_to(scene.folder / path.name)


def _link_to_nothing(scene: Scene, path: Path, _likely: bytes) -> None:
    path.symlink_to(scene.outside / "made-by-following")


def _link_to_itself(_scene: Scene, path: Path, _likely: bytes) -> None:
    path.symlink_to(path.name)


def _fifo(_scene: Scene, path: Path, _likely: bytes) -> None:
    os.mkfifo(path)


def _socket(_scene: Scene, path: Path, _likely: bytes) -> None:
    # By a short relative name: the address of a socket has room for about a hundred bytes.
    folder = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def _device(_scene: Scene, path: Path, _likely: bytes) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))


def _folder(_scene: Scene, path: Path, _likely: bytes) -> None:
    path.mkdir(mode=0o700)


def _full_folder(_scene: Scene, path: Path, _likely: bytes) -> None:
    path.mkdir(mode=0o700)
    (path / "something").write_bytes(b"else")


def _hard_link(scene: Scene, path: Path, _likely: bytes) -> None:
    path.hardlink_to(scene.secret)


def _same_size(_scene: Scene, path: Path, likely: bytes) -> None:
    path.write_bytes(b"W" * len(likely))


def _same_bytes(_scene: Scene, path: Path, likely: bytes) -> None:
    path.write_bytes(likely)


OBJECTS: Final[dict[str, Callable[[Scene, Path, bytes], None]]] = {
    "link to a file": _link_to_file,
    "link to a folder": _link_to_folder,
    "link to the right bytes": _link_to_right_bytes,
    "link to nothing": _link_to_nothing,
    "link to itself": _link_to_itself,
    "FIFO": _fifo,
    "socket": _socket,
    "device": _device,
    "folder": _folder,
    "full folder": _full_folder,
    "hard link": _hard_link,
    "same size, other bytes": _same_size,
    "same bytes": _same_bytes,
}
