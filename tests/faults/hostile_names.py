"""Hostile ids: every one gets a safe name of its own, and what is stored under it stays its own."""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest import mock

import xxhash

from tests.faults.bugs import seeded
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.hostile_ids import DEVICES, hostile_ids
from tests.faults.hostile_storing import (
    BlindFiles,
    conversation_problems,
    session_problems,
    store_problems,
)
from toolbudget import get_tool_result_path
from toolbudget.budget import home, storing
from toolbudget.storage import names, record_log, store
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["HARNESS"]

_COUNTS: Final = {Scale.BOUNDED: 100_000, Scale.SOAK: 2_000_000}
_STORED: Final = {Scale.BOUNDED: 2_000, Scale.SOAK: 20_000}
_SESSIONS: Final = {Scale.BOUNDED: 250, Scale.SOAK: 2_500}
_TRIED_WITH_A_BUG: Final = 2_000
_SHOWN: Final = 20

_SAFE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_OWN_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_MAX_NAME_BYTES: Final = 255
# The longest that is ever put behind or before a name.
_LONGEST_FILE: Final = "agent-{}-" + 32 * "0" + "-9.jsonl"


class _Names:
    """What names were given so far, and the second opinion about each."""

    def __init__(self) -> None:
        self.own_names = 0
        self._owners: dict[int, int] = {}
        self._renamed: list[str] = []

    def problems_of(self, tool_use_id: str) -> Iterator[str]:
        """Yield what is wrong with the name of an id."""
        name = names.result_name(tool_use_id)
        if not _SAFE.fullmatch(name):
            yield f"{tool_use_id!r:.80}: unsafe name {name!r:.80}"
            return
        if name.lower() in DEVICES:
            yield f"{tool_use_id!r:.80}: named as a device"
        if len(_LONGEST_FILE.format(name).encode()) > _MAX_NAME_BYTES:
            yield f"{tool_use_id!r:.80}: name is too long"
        if names.session_name(tool_use_id) != name:
            yield f"{tool_use_id!r:.80}: a session is named by another rule"
        if get_tool_result_path("/results", tool_use_id) != Path(f"/results/{name}.txt"):
            yield f"{tool_use_id!r:.80}: stored elsewhere"
        self._check_own_name(tool_use_id, name)
        yield from self._shared(tool_use_id, name)

    def problems_at_end(self) -> Iterator[str]:
        """Yield ids that lost their name although it is no other id's."""
        for tool_use_id in self._renamed:
            owner = self._owners.get(_number_of(_fold(tool_use_id)))
            if owner in {None, _number_of(tool_use_id.lower())}:
                yield f"{tool_use_id!r:.80}: ordinary, but not its own name"

    def _check_own_name(self, tool_use_id: str, name: str) -> None:
        is_plain = _OWN_NAME.fullmatch(tool_use_id) and tool_use_id.lower() not in DEVICES
        self.own_names += name == tool_use_id
        if is_plain and name != tool_use_id:
            self._renamed.append(tool_use_id)

    def _shared(self, tool_use_id: str, name: str) -> Iterator[str]:
        """Yield a collision, also on a file system blind to case and Unicode forms."""
        # With a mark of the case twins: those may share, and the store tells them apart.
        owner = tool_use_id.lower() if name == tool_use_id else "\0" + tool_use_id
        known = self._owners.setdefault(_number_of(_fold(name)), _number_of(owner))
        if known != _number_of(owner):
            yield f"{tool_use_id!r:.80}: shares the name {name!r} with another id"


def _fold(name: str) -> str:
    """Take a name as the blindest file system would."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _number_of(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def _run(scale: Scale, bug: str | None) -> Outcome:
    with _seeded(bug):
        return _try_all(scale, is_seeded=bug is not None)


def _try_all(scale: Scale, *, is_seeded: bool) -> Outcome:
    count = _TRIED_WITH_A_BUG if is_seeded else _COUNTS[scale]
    seen = _Names()
    broken = _first(one for name in hostile_ids(count, seed=1) for one in seen.problems_of(name))
    broken += seen.problems_at_end()
    if broken:
        return Outcome(count, tuple(broken[:_SHOWN]))
    stored = list(dict.fromkeys(hostile_ids(_STORED[scale], seed=2)))
    sessions = list(dict.fromkeys(hostile_ids(_SESSIONS[scale], seed=3)))
    for files in (POSIX, BlindFiles().files):
        with _folder() as folder:
            broken += store_problems(folder, stored, files)
            if broken and is_seeded:
                break
            broken += conversation_problems(folder, stored, files)
            broken += session_problems(folder, sessions, files)
    detail = (
        f"{seen.own_names:,} are their own name; on a real and a blind disk "
        f"{len(stored):,} stored and {len(sessions):,} sessions resumed"
    )
    return Outcome(count, tuple(broken[:_SHOWN]), detail)


def _first(problems: Iterable[str]) -> list[str]:
    return [problem for _, problem in zip(range(_SHOWN), problems, strict=False)]


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="toolbudget-names-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _as_it_is(tool_use_id: str) -> str:
    return tool_use_id


def _without_slashes(tool_use_id: str) -> str:
    return tool_use_id.replace("/", "_").replace("\\", "_")


_NAIVE: Final[dict[str, Callable[[str], str]]] = {
    "as it is": _as_it_is,
    "slashes only": _without_slashes,
}


@contextmanager
def _seeded(bug: str | None) -> Iterator[None]:
    with ExitStack() as stack:
        if bug == "look-alike":
            devices_only = mock.patch.object(
                names, "_is_reserved", lambda name: name.lower() in DEVICES
            )
            stack.enter_context(devices_only)
        elif bug in _NAIVE:
            for module in (names, store, storing):
                stack.enter_context(mock.patch.object(module, "result_name", _NAIVE[bug]))
            for module in (names, record_log, home):
                stack.enter_context(mock.patch.object(module, "session_name", _NAIVE[bug]))
        else:
            stack.enter_context(seeded(bug, POSIX))
        yield


HARNESS: Final = Harness(
    name="hostile_names",
    promise="any id has one safe name; no file leaves the folder or is another's",
    run=_run,
    bugs=("as it is", "slashes only", "look-alike", "trusting"),
)
