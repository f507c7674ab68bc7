"""Someone who keeps exchanging a part of the session with a link to a folder of another's."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests.builders import gate, is_reference, read_reference, res
from tests.faults.opening import open_session
from tests.faults.planted_objects import PLACES, Scene
from tests.faults.workload import SESSION_ID
from toolbudget import Limits, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolbudget import Session

__all__ = ["SWAPPED", "can_exchange", "swap_problems"]

SWAPPED: Final = ("session", "tool-results", "transcript", "lock")
_LIMITS: Final = Limits(max_result_chars=500, preview_bytes=20)
_TEXT_CHARS: Final = 2_000
_RESULTS_PER_OPENING: Final = 25
# On a busy machine the time alone may pass without any.
_LEAST_REFERENCES: Final = 25
_LONGEST_EXTENSION: Final = 30

_HERE: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE


def _exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step.

    Raises:
        OSError: The system cannot do that.
    """
    library = ctypes.CDLL(None, use_errno=True)
    rename = getattr(library, "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, "no renameat2")
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def can_exchange(folder: Path) -> bool:
    """Tell whether names can change places here."""
    one, other = folder / "one", folder / "other"
    one.touch()
    other.touch()
    try:
        _exchange(one, other)
    except OSError:
        return False
    finally:
        one.unlink()
        other.unlink()
    return True


def swap_problems(folder: Path, place: str, longest_s: float) -> tuple[list[str], int]:
    """Store while the attacker swaps; return what broke, and how many results were replaced."""
    scene = Scene(folder)
    with open_session(scene.root, SESSION_ID, limits=_LIMITS, durability="process") as session:
        gate(session, res("first", "first ".ljust(_TEXT_CHARS, ".")))
    target = scene.root / PLACES[place].path
    victim = scene.folder if PLACES[place].holds == "folder" else scene.poison
    with _attacker(target, scene.root / "lure", victim):
        sent = _store_for(scene.root, longest_s)
    problems = scene.changes_outside()
    with open_session(scene.root, SESSION_ID, durability="process") as session:
        for tool_use_id, text in sent.items():
            problems += _problems_of(session, tool_use_id, text)
    if len(sent) < _LEAST_REFERENCES:
        problems.append(f"only {len(sent)} results were ever replaced")
    return [f"{place} swapped: {problem}" for problem in problems], len(sent)


@contextmanager
def _attacker(target: Path, lure: Path, victim: Path) -> Iterator[None]:
    """Exchange the target with a link to the victim, over and over; put it back at the end."""
    lure.symlink_to(victim)
    process_id = os.fork()
    if process_id == 0:
        try:
            while True:
                _exchange(target, lure)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGKILL)
        os.waitpid(process_id, 0)
        if target.is_symlink():
            _exchange(target, lure)
        lure.unlink()


def _store_for(root: Path, longest_s: float) -> dict[str, str]:
    """Gate one result after the other, and return the references that came back."""
    sent: dict[str, str] = {}
    number = 0
    started_s = time.monotonic()
    while (elapsed_s := time.monotonic() - started_s) < longest_s * _LONGEST_EXTENSION:
        if elapsed_s > longest_s and len(sent) >= _LEAST_REFERENCES:
            break
        try:
            opened = open_session(root, SESSION_ID, limits=_LIMITS, durability="process")
        except TranscriptError:
            continue
        with opened as session:
            for number in range(number, number + _RESULTS_PER_OPENING):  # noqa: B020 - goes on
                block = res(f"id_{number}", _text_of(f"id_{number}"))
                content = gate(session, block)["content"]
                if is_reference(content):
                    sent[block["tool_use_id"]] = content
        number += 1
    return sent


def _text_of(tool_use_id: str) -> str:
    return f"text of {tool_use_id} ".ljust(_TEXT_CHARS, ".")


def _problems_of(session: Session, tool_use_id: str, sent: str) -> list[str]:
    text = _text_of(tool_use_id)
    if gate(session, res(tool_use_id, text))["content"] != sent:
        return [f"{tool_use_id}: another text after resume"]
    path = read_reference(sent).path
    if path.parent != session.directory / "tool-results" or not path.is_file():
        return [f"{tool_use_id}: reference to nothing"]
    return [] if path.read_bytes() == text.encode() else [f"{tool_use_id}: other bytes"]
